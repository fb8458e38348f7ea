/**
 * The deposits that wait to be minted, served in the order of the ledger. A deposit whose mint
 * turned out dead or void returns to its former position, unless it was credited meanwhile.
 */
import type { DepositEvent } from '../../../schemas/treasury.ledger/events.ts';
import type { Deposit } from './deposit.ts';

/** A deposit that does not fit under the rolling cap lets smaller ones pass for this long. */
export const PATIENCE_MS = 86_400_000;

export interface QueuePosition {
  /** ledger offset of the confirmation, or of a person's approval */
  readonly offset: number;
  /** time of that event, Unix milliseconds */
  readonly since: number;
}

export interface QueuedDeposit extends QueuePosition {
  readonly deposit_id: string;
}

/** The position after an event that counts; undefined: minting is not the next step. */
export function positionAfter(
  before: QueuePosition | undefined,
  event: DepositEvent,
  after: Deposit,
): QueuePosition | undefined {
  if (after.status === 'needs_manual' || after.status === 'credited') return undefined;
  // a credited deposit has lost its position
  const isNew =
    event.type === 'DepositConfirmed' ||
    event.type === 'DepositApproved' ||
    (event.type === 'MintVoided' && before === undefined);
  return isNew ? { offset: event.sequence, since: event.decided_at } : before;
}

/** From then on (Unix ms) nothing behind it is minted first; undefined: it delays nobody. */
export function goesFirstAt(
  { since }: QueuePosition,
  credit: bigint,
  rollingCap: bigint,
): number | undefined {
  return credit > rollingCap ? undefined : since + PATIENCE_MS;
}

export class MintQueue {
  #state = {
    /** with those whose mint is in flight: they may return */
    positions: new Map<string, QueuedDeposit>(),
    waiting: new Map<string, QueuedDeposit>(),
    is_sorted: true,
  };

  /** Everything that was folded, to be copied at once: it changes with the next record. */
  get state() {
    return this.#state;
  }

  /** Goes on from the state of another. */
  restore(state: MintQueue['state']): void {
    this.#state = state;
  }

  /** In order. */
  get waiting(): Iterable<QueuedDeposit> {
    if (!this.#state.is_sorted) {
      const sorted = [...this.#state.waiting].toSorted(
        ([, one], [, other]) => one.offset - other.offset,
      );
      this.#state.waiting = new Map(sorted);
      this.#state.is_sorted = true;
    }
    return this.#state.waiting.values();
  }

  get size(): number {
    return this.#state.waiting.size;
  }

  /** An event of a deposit that counts, and the deposit after it. */
  apply(event: DepositEvent, after: Deposit): void {
    const { deposit_id: depositId } = event;
    const before = this.#state.positions.get(depositId);
    const position = positionAfter(before, event, after);
    if (position === undefined) {
      this.#state.positions.delete(depositId);
      this.#state.waiting.delete(depositId);
      return;
    }
    const queued = position === before ? before : { deposit_id: depositId, ...position };
    this.#state.positions.set(depositId, queued);
    this.#state.waiting.delete(depositId);
    if (event.type === 'MintIntended') return;
    this.#state.waiting.set(depositId, queued);
    // a new position is the last one, a former one need not be
    if (event.type === 'MintDead' || event.type === 'MintVoided') this.#state.is_sorted = false;
  }
}
