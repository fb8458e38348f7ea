/**
 * Checks what one address received. Rows of the provider's list only name transactions; the receipt
 * of each transaction that the log does not have yet decides. All transfers of a receipt to deposit
 * addresses are appended before the next page is requested. A transaction that cannot be decided is
 * asked about again apart from its address (`retries.ts`): the cursor of the address stays before
 * it, and other transactions of the address do not wait for it.
 */
import { bytesKey } from '../../schemas/address.ts';
import {
  transfersIn,
  type ListedRow,
  type TokenTransfer,
  type TronReceipt,
} from '../../schemas/trongrid.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';
import { transferPartition } from '../../schemas/tron-partition.ts';
import type { TransferObserved } from '../../schemas/tron.transfers/events.ts';
import { Fault } from '../runtime/process/errors.ts';
import type { Logger } from '../runtime/process/log.ts';
import type { Retries, Subject } from './retries.ts';
import { keyOf, type Entry, type ReadModel, type SeenLogs } from './read-model.ts';
import type { TransferLog } from './transfer-log.ts';
import {
  BAD_ANSWER,
  isProviderFault,
  nextPage,
  type ListRequest,
  type TronGrid,
} from '../runtime/trongrid/trongrid.ts';

/** About 250 bytes each: far below the topic's largest batch. */
const BATCH_EVENTS = 1_000;
/** Tolerated lead of a block's time over this clock. */
const CLOCKS_APART_MS = 60_000;
/** Time of receipts that fail in one check: the rest of the page is asked for as retries are. */
const LOST_MS = 2_000;
/** Time of a check: the rest of the address waits for its next turn. */
const CHECK_MS = 60_000;
/** In one check: a longer list goes on in the next, so that one without end holds up no other. */
const PAGES_MAX = 20;
/** Lists that go on. */
const LONG_MAX = 1_000;
const DECIDED_MAX = 20_000;
/** A receipt without a transfer to the address is asked for again after this time. */
const SILENT_MS = 600_000;

export interface AddressCheckOptions {
  readonly provider: Pick<TronGrid, 'list' | 'receipt'>;
  readonly model: Pick<ReadModel, 'seen' | 'watched'>;
  readonly transfers: Pick<TransferLog, 'append'>;
  /** 20 bytes: logs of other contracts are ignored */
  readonly usdt_contract: Buffer;
  /** Unix milliseconds */
  readonly now: () => number;
  /** receipts of one check; the rest is left for the next, so that no address starves others */
  readonly receipts_max: number;
  readonly retries: Retries;
  readonly log: Logger;
}

export interface Range {
  /** block time where the list begins, Unix milliseconds */
  readonly from: number;
  /** block time solidified before the check */
  readonly until: number;
  /** receipts to ask for again: those without transfers, or all */
  readonly again?: 'silent' | 'all';
}

export interface Checked {
  /** all transfers from the beginning of the list up to this block time are in the log */
  readonly until: number;
  /** earliest block time of an undecided transaction; undefined: all are decided */
  readonly undecided_from: number | undefined;
}

interface Decision {
  readonly tx_id: Buffer;
  readonly receipt: TronReceipt;
  readonly transfers: readonly TokenTransfer[];
}

type Transfer = Subject & { readonly tx_id: Buffer };

interface Progress {
  undecided_from: number | undefined;
  receipts: number;
  /** milliseconds of receipts that failed */
  lost_ms: number;
  pages: number;
  /** when the check is over, Unix milliseconds */
  end: number;
  /** block times of the list's transactions, by their id in hex */
  readonly met: Map<string, number>;
}

export class AddressCheck {
  readonly #options: AddressCheckOptions;
  /**
   * Transactions recently decided for an address: their receipts are not requested again at every
   * overlap of lists. By address, since a transaction may pay a later deposit address, too. With
   * the time until which this holds, Unix milliseconds.
   */
  readonly #decided = new Map<string, number>();
  /** by address: where a list that was too long for one check goes on */
  readonly #long = new Map<string, { readonly next: ListRequest; readonly progress: Progress }>();

  /** the appends, one after the other */
  #recording: Promise<unknown> = Promise.resolve();

  constructor(options: AddressCheckOptions) {
    this.#options = options;
  }

  /** Throws faults of the provider, of Postgres and of the brokers; earlier appends stay. */
  async run(entry: Entry, range: Range): Promise<Checked> {
    const { provider, retries, now } = this.#options;
    const prefix = keyOf(entry);
    if (range.again !== undefined)
      for (const key of this.#decided.keys()) if (key.startsWith(prefix)) this.#decided.delete(key);
    const pages = new Set<string>();
    const { address } = entry;
    const begun = this.#long.get(prefix) ?? {
      next: { address, min_timestamp: range.from, after: undefined },
      progress: { undecided_from: undefined, met: new Map<string, number>() },
    };
    this.#long.delete(prefix);
    const end = now() + CHECK_MS;
    const progress: Progress = { ...begun.progress, receipts: 0, lost_ms: 0, pages: 0, end };
    let next: ListRequest | undefined = begun.next;
    while (next !== undefined) {
      if (++progress.pages > PAGES_MAX) throw this.#goesOn(prefix, { next, progress });
      const page = await provider.list(next);
      const { rows, fingerprint } = page;
      if (fingerprint !== undefined && pages.has(fingerprint))
        throw new Fault(
          BAD_ANSWER,
          "TRON's provider lists a page of an address a second time; it is asked again later",
          { retry: true },
        );
      if (fingerprint !== undefined) pages.add(fingerprint);
      await this.#page(entry, rows, { progress, again: range.again });
      next = nextPage(next, page);
      if (next === undefined || !this.#isFull(progress)) continue;
      // the pages after it are of this time or later
      leaveUndecided(progress, rows.at(-1)?.block_timestamp ?? next.min_timestamp);
      next = undefined;
    }
    if (!this.#isFull(progress)) retries.listed(entry, progress.met);
    // a list may leave out what one before has named
    leaveUndecided(progress, retries.undecidedFrom(entry));
    const { undecided_from: undecidedFrom } = progress;
    return {
      until: undecidedFrom === undefined ? range.until : Math.min(range.until, undecidedFrom - 1),
      undecided_from: undecidedFrom,
    };
  }

  /**
   * Asks for the receipt of one transaction again, and appends the transfers in it. Throws what
   * `run` throws.
   */
  async again(entry: Entry, txId: Buffer): Promise<void> {
    const subject = { entry, tx_id: txId };
    const decision = await this.#decide(subject);
    if (decision === undefined) return;
    const { model, retries } = this.#options;
    const seen = await model.seen(entry.address, [txId]);
    await this.#record(entry, [decision], seen);
    retries.ended(subject);
  }

  async #page(
    entry: Entry,
    rows: readonly ListedRow[],
    { progress, again }: { readonly progress: Progress; readonly again: Range['again'] },
  ): Promise<void> {
    const { model, usdt_contract: usdtContract, retries, now } = this.#options;
    const notifications = new Map<string, ListedRow>();
    for (const row of rows) {
      const ofAnother = row.contract?.equals(usdtContract) === false;
      const id = row.tx_id.toString('hex');
      if (
        !ofAnother &&
        !notifications.has(id) &&
        (this.#decided.get(decidedKey(entry.address, row.tx_id)) ?? 0) <= now()
      )
        notifications.set(id, row);
    }
    const seen = await model.seen(
      entry.address,
      [...notifications.values()].map((row) => row.tx_id),
    );
    const decisions: Decision[] = [];
    for (const [id, row] of notifications) {
      progress.met.set(id, row.block_timestamp);
      if (seen.has(id) && again !== 'all') continue;
      const subject = { entry, tx_id: row.tx_id, listed_at: row.block_timestamp };
      // those behind receipts that take long are not left to the next turn, which may end so, too
      if (progress.lost_ms >= LOST_MS && !seen.has(id) && !retries.has(subject))
        retries.failed(subject, 'receipts of the address before it fail');
      const isAsked = !retries.has(subject) && !this.#isFull(progress);
      const decision = isAsked ? await this.#decide(subject, progress) : undefined;
      if (decision === undefined) leaveUndecided(progress, row.block_timestamp);
      else decisions.push(decision);
    }
    await this.#record(entry, decisions, seen);
  }

  #isFull({ receipts, lost_ms: lostMs, end }: Progress): boolean {
    const { receipts_max: receiptsMax, now } = this.#options;
    return receipts >= receiptsMax || lostMs >= LOST_MS || now() >= end;
  }

  #goesOn(key: string, long: { readonly next: ListRequest; readonly progress: Progress }): Fault {
    const [oldest = ''] = this.#long.keys();
    if (this.#long.size >= LONG_MAX) this.#long.delete(oldest);
    this.#long.set(key, long);
    return new Fault(
      BAD_ANSWER,
      `TRON's provider lists more than ${PAGES_MAX} pages of an address; the list goes on later`,
      { retry: true },
    );
  }

  /** Undefined: it cannot be decided now, and is asked about again. */
  async #decide(subject: Transfer, progress?: Progress): Promise<Decision | undefined> {
    const { retries, log, now } = this.#options;
    const { entry, tx_id: txId } = subject;
    const begun = now();
    if (progress !== undefined) progress.receipts++;
    const decision = await this.#read(subject);
    if (typeof decision === 'object') return decision;
    if (progress !== undefined) progress.lost_ms += now() - begun;
    const isKnown = retries.has(subject);
    retries.failed(subject, decision);
    const about = { address: toTronAddress(entry.address), tron_tx_id: txId.toString('hex') };
    if (!isKnown) log.warn({ ...about, why: decision }, 'a transfer is undecided');
    return undefined;
  }

  /** A text: why the transaction cannot be decided. */
  async #read(subject: Transfer): Promise<Decision | string> {
    const { provider, retries, usdt_contract: usdtContract, now } = this.#options;
    const { tx_id: txId } = subject;
    try {
      const receipt = await provider.receipt(txId);
      if (receipt === undefined) return 'the provider has no receipt of it';
      // no block is of the future, and the brokers refuse such a time
      if (receipt.block_timestamp > now() + CLOCKS_APART_MS)
        return 'the time of its receipt is in the future';
      const read = transfersIn(receipt, usdtContract);
      return 'problem' in read
        ? `its receipt: ${read.problem}`
        : { tx_id: txId, receipt, transfers: read.value };
    } catch (error) {
      if (!isProviderFault(error)) throw error;
      // one bad receipt does not hold up other transactions
      if (error.code === BAD_ANSWER) return error.message;
      retries.failed(subject, error.message);
      throw error;
    }
  }

  /** Records in turn: a transaction may pay several addresses that are checked at once. */
  #record(entry: Entry, decisions: readonly Decision[], seen: SeenLogs): Promise<void> {
    const append = async (): Promise<void> => {
      await this.#append(entry, decisions, seen);
      for (const decision of decisions) this.#rememberDecided(entry.address, decision);
    };
    const recorded = this.#recording.then(append);
    this.#recording = recorded.catch(() => undefined);
    return recorded;
  }

  /**
   * Payments to other addresses go first: after an abort half way, the checked address has no trace
   * of the transaction, so its next check decides it again.
   */
  async #append(entry: Entry, decisions: readonly Decision[], seen: SeenLogs): Promise<void> {
    const payees = new Map<string, Buffer>();
    for (const { to } of decisions.flatMap(({ transfers }) => transfers))
      payees.set(to.toString('hex'), to);
    payees.delete(entry.address.toString('hex'));
    const watched = await this.#options.model.watched([...payees.values()]);
    const indexes = new Map([
      ...watched,
      [entry.address.toString('hex'), entry.derivation_index] as const,
    ]);
    const own: TransferObserved[] = [];
    const others = new Map<number, TransferObserved[]>();
    for (const event of decisions.flatMap((decision) => this.#events(decision, indexes))) {
      // it was found by way of another address
      if (this.#decided.get(decidedKey(event.to, event.tx_id)) === Infinity) continue;
      const partition = transferPartition(event.to);
      if (event.to.equals(entry.address)) {
        if (seen.get(event.tx_id.toString('hex'))?.has(event.log_index) !== true) own.push(event);
      } else others.set(partition, [...(others.get(partition) ?? []), event]);
    }
    for (const [partition, events] of others) {
      await this.#appendAll(partition, events);
      for (const { to, tx_id } of events) this.#remember(to, tx_id, Infinity);
    }
    await this.#appendAll(entry.partition, own);
  }

  /** A batch never splits a transaction's payments to an address: a trace of one is one of all. */
  async #appendAll(partition: number, events: readonly TransferObserved[]): Promise<void> {
    let batch: TransferObserved[] = [];
    for (const [at, event] of events.entries()) {
      batch.push(event);
      if (batch.length < BATCH_EVENTS || events[at + 1]?.tx_id.equals(event.tx_id) === true)
        continue;
      await this.#options.transfers.append(partition, batch);
      batch = [];
    }
    await this.#options.transfers.append(partition, batch);
  }

  #events(
    { tx_id, receipt, transfers }: Decision,
    indexes: ReadonlyMap<string, number>,
  ): readonly TransferObserved[] {
    const { usdt_contract: usdtContract } = this.#options;
    const { block_number, block_timestamp } = receipt;
    const common = { type: 'TransferObserved', tx_id, block_number, block_timestamp } as const;
    return transfers.flatMap(({ log_index, from, to, value }) => {
      const address_index = indexes.get(to.toString('hex'));
      // a transfer to oneself brings nothing
      if (address_index === undefined || from.equals(to)) return [];
      return [{ ...common, log_index, contract: usdtContract, from, to, value, address_index }];
    });
  }

  #rememberDecided(address: Buffer, { tx_id: txId, transfers }: Decision): void {
    const isSilent = !transfers.some(({ to }) => to.equals(address));
    this.#remember(address, txId, isSilent ? this.#options.now() + SILENT_MS : Infinity);
  }

  #remember(address: Buffer, txId: Buffer, until: number): void {
    this.#decided.set(decidedKey(address, txId), until);
    const [oldest = ''] = this.#decided.keys();
    if (this.#decided.size > DECIDED_MAX) this.#decided.delete(oldest);
  }
}

function leaveUndecided(progress: Progress, block_timestamp: number | undefined): void {
  if (block_timestamp === undefined) return;
  progress.undecided_from = Math.min(progress.undecided_from ?? Infinity, block_timestamp);
}

function decidedKey(address: Buffer, txId: Buffer): string {
  return `${bytesKey(address)}${bytesKey(txId)}`;
}
