/**
 * Decides the transfers read and appends the decisions to the ledger. The ledger is the
 * compare-and-set: each event is written for one offset and counts only there. An appended event
 * counts once it is read back. A batch that lost a race has no effect, and its transfers are
 * decided again.
 */
import { depositIdOf } from '../../../schemas/deposit-id.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import type { DepositConfirmed } from '../../../schemas/treasury.ledger/events.ts';
import type { TransferObserved } from '../../../schemas/tron.transfers/events.ts';
import {
  confirmAll,
  type Confirmations,
} from '../../../projections/deposits/domain/confirmation.ts';
import type { Recorded } from '../../../projections/contract/projection.ts';
import { restartWith } from '../../runtime/process/config.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { Append, Receiving, TreasuryContext } from './ledger-writer.ts';
import type { TransferQueue } from './transfer-queue.ts';

/** Per partition: a batch of 1,080 transfers with two events each stays below a megabyte. */
export const TRANSFERS_OF_EACH = 180;
/** Refusals that are part of life on TRON; any other one shows a misbehaving writer. */
const USUAL: ReadonlySet<string> = new Set(['zero_value', 'self_transfer']);

export interface DeciderOptions extends Pick<
  TreasuryContext,
  'books' | 'changes' | 'metrics' | 'log' | 'signal'
> {
  readonly receiving: Receiving;
  readonly append: Append;
  /** resolves once the ledger and the addresses are read to their ends, or at the abort */
  readonly catchUp: () => Promise<void>;
}

export class Decider {
  readonly #options: DeciderOptions;

  constructor(options: DeciderOptions) {
    this.#options = options;
  }

  /** Decides the transfers read so far. False: nothing to do before something new is read. */
  async round(queue: TransferQueue): Promise<boolean> {
    const { catchUp, signal } = this.#options;
    if (queue.waiting === 0) return false;
    // read after the transfers: an address that is unknown now is nobody's
    await catchUp();
    return signal.aborted ? false : this.#confirm(queue);
  }

  /** For a standby: takes out of the queue what the treasury that works has decided. */
  async follow(queue: TransferQueue): Promise<void> {
    const { catchUp, signal } = this.#options;
    if (queue.waiting === 0) return;
    await catchUp();
    if (!signal.aborted) this.#settle(queue, this.#decide(queue));
  }

  /** Takes out of the front of the queue what the ledger has: nearly all that a start reads. */
  skipDecided(queue: TransferQueue): void {
    for (const transfer of queue.settle((each) => this.#isInLedger(each)))
      this.#options.books.observed(transfer);
  }

  #isInLedger({ event: { tx_id, log_index } }: Recorded<TransferObserved>): boolean {
    return this.#options.books.ledger.deposit(depositIdOf(tx_id, log_index)).status !== 'absent';
  }

  async #confirm(queue: TransferQueue): Promise<boolean> {
    const decided = this.#decide(queue);
    this.#assertOwners(decided);
    if (decided.events.length > 0) await this.#options.append(decided.events);
    return this.#settle(queue, decided) || decided.events.length > 0;
  }

  #decide(queue: TransferQueue): Confirmations {
    const { books, receiving } = this.#options;
    const { usdt_contract, custody_addresses, deposit_key } = receiving;
    return confirmAll(books.ledger, queue.first(TRANSFERS_OF_EACH), {
      now: Date.now(),
      usdt_contract,
      custody_addresses,
      deposit_key,
    });
  }

  /** Takes out what the ledger has, and what is no deposit. False: there was nothing. */
  #settle(queue: TransferQueue, decided: Confirmations): boolean {
    const { books, changes } = this.#options;
    const refused = new Map(decided.refused.map(({ observed, reason }) => [observed, reason]));
    const settled = queue.settle((transfer) => refused.has(transfer) || this.#isInLedger(transfer));
    for (const transfer of settled) {
      books.observed(transfer);
      if (!queue.wasDecided(transfer)) this.#reportRefused(transfer, refused.get(transfer));
    }
    const heldUp = queue.holdUp(
      decided.waiting.map(({ observed, reason }) => ({
        observed,
        why: whyHeldUp(observed, reason),
      })),
    );
    if (settled.length > 0 || heldUp) changes.notify();
    return settled.length > 0;
  }

  /**
   * An address that the ledger has given to one account never becomes another's, and each one is a
   * child of our key.
   */
  #assertOwners({ events }: Confirmations): void {
    const { books } = this.#options;
    for (const event of events) {
      if (event.type !== 'DepositConfirmed') continue;
      const first = books.contradicted(event);
      if (first !== undefined) throw contradiction(first);
      if (!books.owns(event)) throw forged(event);
    }
  }

  #reportRefused(
    { event, partition, offset }: Recorded<TransferObserved>,
    reason: Confirmations['refused'][number]['reason'] | undefined,
  ): void {
    if (reason === undefined) return;
    this.#options.metrics.refused(reason);
    if (USUAL.has(reason)) return;
    const { tx_id, log_index } = event;
    this.#options.log.warn(
      { partition, offset, tx_id: tx_id.toString('hex'), log_index, reason },
      'a transfer is no deposit and should not be in the log: check the settings of its writer',
    );
  }
}

/** `deposit.addresses` gives the address of an earlier deposit to another account, or to none. */
export function contradiction(first: DepositConfirmed): Fault {
  const { deposit_id: depositId, deposit_address, clt_address } = first;
  return new Fault(
    'log_damaged',
    `deposit ${depositId} went to ${toTronAddress(deposit_address)} of account 0x${clt_address.toString('hex')}, which deposit.addresses does not say: it is not the topic that the ledger was written from. What to do: point APP_KAFKA_BROKERS to the right cluster (${restartWith('treasury', 'APP_KAFKA_BROKERS=HOST:PORT')}), or restore deposit.addresses, then npx ops restart treasury; nothing is written meanwhile`,
    { retry: false },
  );
}

/** `deposit.addresses` gives an account an address that the key does not derive at its index. */
function forged({ deposit_address, clt_address }: DepositConfirmed): Fault {
  return new Fault(
    'address_forged',
    `deposit.addresses gives account 0x${clt_address.toString('hex')} the address ${toTronAddress(deposit_address)}, which APP_DEPOSIT_XPUB does not derive: no deposit gateway with that key wrote it. What to do: find out who writes to the topic and take that out of use, restore deposit.addresses, then npx ops restart treasury; nothing is written meanwhile`,
    { retry: false },
  );
}

function whyHeldUp(
  { event: { to, address_index: addressIndex } }: Recorded<TransferObserved>,
  reason: Confirmations['waiting'][number]['reason'],
): string {
  if (reason === 'no_policy') return 'no policy is set';
  return `a transfer to ${toTronAddress(to)} names the address at index ${addressIndex}, which deposit.addresses has given to nobody. What to do: look at who wrote it and whether deposit.addresses is whole; it goes on by itself once the address is somebody's`;
}
