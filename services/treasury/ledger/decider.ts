/**
 * Decides what has been read and appends it to the ledger. The ledger is the compare-and-set: each event is written for one offset and counts only there. So what
 * was appended counts once it is read back, and no sooner; a batch that came after another treasury's has no effect, and what it was about is decided anew.
 */
import { depositIdOf } from '../../../schemas/deposit-id.ts';
import type { Network } from '../../../schemas/deposit-policy.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import type { PolicyLimits } from '../../../schemas/treasury.ledger/events.ts';
import type { TransferObserved } from '../../../schemas/tron.transfers/events.ts';
import {
  confirmAll,
  hold,
  setPolicy,
  type Confirmations,
} from '../../../projections/deposits/domain/confirmation.ts';
import type { Recorded } from '../../../projections/contract/projection.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { Logger } from '../../runtime/process/log.ts';
import type { Books } from './books.ts';
import type { Figures } from '../metrics.ts';
import type { LedgerWriter } from './ledger-writer.ts';
import type { News } from '../news.ts';
import type { TransferQueue } from './transfer-queue.ts';

/** Of each of the six partitions in one batch: 1,200 transfers with two events each are below the megabyte that the topic takes. */
export const TRANSFERS_OF_EACH = 200;
/** Part of life on TRON; any other refusal tells of a writer that is not right. */
const USUAL: ReadonlySet<string> = new Set(['zero_value', 'self_transfer']);

export interface DeciderOptions {
  readonly network: Network;
  readonly limits: PolicyLimits;
  /** 20 bytes */
  readonly usdt_contract: Buffer;
  readonly appender: LedgerWriter;
  readonly books: Books;
  readonly news: News;
  readonly figures: Figures;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** resolves once the ledger and the addresses are read to where they end now, or the signal is aborted */
  readonly catchUp: () => Promise<void>;
}

export class Decider {
  readonly #options: DeciderOptions;

  constructor(options: DeciderOptions) {
    this.#options = options;
  }

  /**
   * Puts the limits of the settings in force. Once, at the start: of two treasuries with other settings the one that started last has its way, and neither answers
   * the other for ever.
   */
  async setPolicy(): Promise<void> {
    const { books, network, limits, catchUp, signal } = this.#options;
    for (;;) {
      await catchUp();
      if (signal.aborted) return;
      const decision = setPolicy(books.ledger, { network, limits }, Date.now());
      if ('refused' in decision)
        throw refusedPolicy(decision.refused, network, books.ledger.policy?.network);
      if (decision.events.length === 0 || (await this.#options.appender.append(decision.events)))
        return;
    }
  }

  /** Decides what can be decided of the transfers read so far. False when nothing came of it: then only something new to read changes that. */
  async round(queue: TransferQueue): Promise<boolean> {
    const { books, catchUp, signal } = this.#options;
    if (queue.waiting === 0 && books.unheld === undefined) return false;
    // asked after the transfers were read: whoever wrote them knew of their addresses, so what is unknown then is nobody's
    await catchUp();
    if (signal.aborted) return false;
    if (books.unheld !== undefined) return this.#hold(books.unheld);
    return this.#confirm(queue);
  }

  async #hold(id: string): Promise<boolean> {
    const decision = hold(this.#options.books.ledger, id, Date.now());
    if ('refused' in decision || decision.events.length === 0) return false;
    await this.#options.appender.append(decision.events);
    return true;
  }

  async #confirm(queue: TransferQueue): Promise<boolean> {
    const { books, news, usdt_contract } = this.#options;
    const { ledger } = books;
    const decided = confirmAll(ledger, queue.first(TRANSFERS_OF_EACH), {
      now: Date.now(),
      usdt_contract,
    });
    this.#assertOwners(decided);
    if (decided.events.length > 0) await this.#options.appender.append(decided.events);
    const refused = new Map(decided.refused.map(({ observed, reason }) => [observed, reason]));
    const settled = queue.settle(
      (transfer) =>
        refused.has(transfer) ||
        ledger.deposit(depositIdOf(transfer.event.tx_id, transfer.event.log_index)).status !==
          'absent',
    );
    for (const transfer of settled) this.#tellRefused(transfer, refused.get(transfer));
    const heldUp = queue.holdUp(
      decided.waiting.map(({ observed, reason }) => ({
        observed,
        why: whyHeldUp(observed, reason),
      })),
    );
    if (settled.length > 0 || heldUp) news.tell();
    return settled.length > 0 || decided.events.length > 0;
  }

  /** An address that was one account's in the ledger never becomes another's. */
  #assertOwners({ events }: Confirmations): void {
    for (const event of events) {
      const first =
        event.type === 'DepositConfirmed' ? this.#options.books.contradicted(event) : undefined;
      if (first !== undefined) throw contradiction(first);
    }
  }

  #tellRefused(
    { event, partition, offset }: Recorded<TransferObserved>,
    reason: Confirmations['refused'][number]['reason'] | undefined,
  ): void {
    if (reason === undefined) return;
    this.#options.figures.refused(reason);
    if (USUAL.has(reason)) return;
    const place = {
      partition,
      offset,
      tx_id: event.tx_id.toString('hex'),
      log_index: event.log_index,
    };
    this.#options.log.warn(
      { ...place, reason },
      'a transfer is no deposit, and should not be in the log: look at the settings of who wrote it',
    );
  }
}

/** `deposit.addresses` gives the address of an earlier deposit to another account, or to none. */
export function contradiction({
  deposit_id: id,
  deposit_address,
  clt_address,
}: {
  readonly deposit_id: string;
  readonly deposit_address: Buffer;
  readonly clt_address: Buffer;
}): Fault {
  return new Fault(
    'log_damaged',
    `deposit ${id} went to ${toTronAddress(deposit_address)} of account 0x${clt_address.toString('hex')}, which deposit.addresses does not say: it is not the topic that the ledger was written from. What to do: point APP_KAFKA_BROKERS to the right cluster, or restore deposit.addresses, then start the treasury again; nothing is written meanwhile`,
    { retry: false },
  );
}

function refusedPolicy(
  refused: 'other_network' | 'contradicting_limits',
  network: Network,
  of: string | undefined,
): Fault {
  const message =
    refused === 'other_network'
      ? `the ledger is of ${of}, the settings are for ${network}. What to do: correct APP_NETWORK or APP_KAFKA_BROKERS, then start the treasury again`
      : 'the limits contradict each other. What to do: correct APP_MINIMUM, APP_SINGLE_CAP and APP_ROLLING_CAP, then start the treasury again';
  return new Fault(refused, message, { retry: false });
}

function whyHeldUp(
  { event: { to, address_index: index } }: Recorded<TransferObserved>,
  reason: Confirmations['waiting'][number]['reason'],
): string {
  if (reason === 'no_policy') return 'no policy is set';
  return `a transfer to ${toTronAddress(to)} names the address at index ${index}, which deposit.addresses has given to nobody. What to do: look at who wrote it and whether deposit.addresses is whole; it goes on by itself once the address is somebody's`;
}
