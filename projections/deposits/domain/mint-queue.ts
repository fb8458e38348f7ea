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
  /** with those whose mint is in flight: they may return */
  readonly #positions = new Map<string, QueuedDeposit>();
  #waiting = new Map<string, QueuedDeposit>();
  #isSorted = true;

  /** In order. */
  get waiting(): Iterable<QueuedDeposit> {
    if (!this.#isSorted) {
      const sorted = [...this.#waiting].toSorted(([, one], [, other]) => one.offset - other.offset);
      this.#waiting = new Map(sorted);
      this.#isSorted = true;
    }
    return this.#waiting.values();
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** An event of a deposit that counts, and the deposit after it. */
  apply(event: DepositEvent, after: Deposit): void {
    const { deposit_id: id } = event;
    const before = this.#positions.get(id);
    const position = positionAfter(before, event, after);
    if (position === undefined) {
      this.#positions.delete(id);
      this.#waiting.delete(id);
      return;
    }
    const queued = position === before ? before : { deposit_id: id, ...position };
    this.#positions.set(id, queued);
    this.#waiting.delete(id);
    if (event.type === 'MintIntended') return;
    this.#waiting.set(id, queued);
    // a new position is the last one, a former one need not be
    if (event.type === 'MintDead' || event.type === 'MintVoided') this.#isSorted = false;
  }
}
