/**
 * Checks what one address received. Rows of the provider's list only name transactions; the receipt
 * of each transaction that the log does not have yet decides. All transfers of a receipt to deposit
 * addresses are appended before the next page is requested. A transaction that cannot be decided is
 * asked for again: the cursor of the address stays before it.
 */
import {
  transfersIn,
  type ListedRow,
  type TokenTransfer,
  type TronReceipt,
} from '../../schemas/trongrid.ts';
import { transferPartition } from '../../schemas/tron-partition.ts';
import type { TransferObserved } from '../../schemas/tron.transfers/events.ts';
import { Fault } from '../runtime/process/errors.ts';
import type { Entry, ReadModel, SeenLogs } from './read-model.ts';
import type { TransferLog } from './transfer-log.ts';
import {
  BAD_ANSWER,
  nextPage,
  type ListRequest,
  type TronGrid,
} from '../runtime/trongrid/trongrid.ts';

/** About 250 bytes each: far below the topic's largest batch. */
const BATCH_EVENTS = 1_000;
/** Tolerated lead of a block's time over this clock. */
const CLOCKS_APART_MS = 60_000;
/** Bad receipts in a row that end the check: the rest of the address waits for its next turn. */
const BAD_RECEIPTS_MAX = 3;
const DECIDED_MAX = 20_000;

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
  /** transfers appended */
  readonly observed: number;
}

interface Decision {
  readonly tx_id: Buffer;
  readonly receipt: TronReceipt;
  readonly transfers: readonly TokenTransfer[];
}

interface Progress {
  undecided_from: number | undefined;
  observed: number;
  receipts: number;
  bad: number;
}

export class AddressCheck {
  readonly #options: AddressCheckOptions;
  /**
   * Transactions recently decided for an address: their receipts are not requested again at every
   * overlap of lists. By address, since a transaction may pay a later deposit address, too.
   */
  readonly #decided = new Set<string>();

  constructor(options: AddressCheckOptions) {
    this.#options = options;
  }

  /** Throws faults of the provider, of Postgres and of the brokers; earlier appends stay. */
  async run(entry: Entry, range: Range): Promise<Checked> {
    const { provider } = this.#options;
    const prefix = entry.address.toString('latin1');
    if (range.again !== undefined)
      for (const key of this.#decided) if (key.startsWith(prefix)) this.#decided.delete(key);
    const pages = new Set<string>();
    const progress: Progress = { undecided_from: undefined, observed: 0, receipts: 0, bad: 0 };
    const { address } = entry;
    let next: ListRequest | undefined = { address, min_timestamp: range.from, after: undefined };
    while (next !== undefined) {
      const page = await provider.list(next);
      const { rows, fingerprint } = page;
      if (fingerprint !== undefined && pages.has(fingerprint))
        throw new Fault(
          BAD_ANSWER,
          "TRON's provider repeats the pages of a list without end; the request is repeated",
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
    const { undecided_from: from, observed } = progress;
    return {
      until: from === undefined ? range.until : Math.min(range.until, from - 1),
      undecided_from: from,
      observed,
    };
  }

  async #page(
    entry: Entry,
    rows: readonly ListedRow[],
    { progress, again }: { readonly progress: Progress; readonly again: Range['again'] },
  ): Promise<void> {
    const { model, usdt_contract: contract } = this.#options;
    const notifications = new Map<string, ListedRow>();
    for (const row of rows) {
      const ofAnother = row.contract?.equals(contract) === false;
      const id = row.tx_id.toString('hex');
      if (
        !ofAnother &&
        !notifications.has(id) &&
        !this.#decided.has(decidedKey(entry.address, row.tx_id))
      )
        notifications.set(id, row);
    }
    const seen = await model.seen(
      entry.address,
      [...notifications.values()].map((row) => row.tx_id),
    );
    const decisions: Decision[] = [];
    for (const [id, row] of notifications) {
      if (seen.has(id) && again !== 'all') continue;
      const decision = this.#isFull(progress) ? undefined : await this.#decide(row.tx_id, progress);
      if (decision === undefined) leaveUndecided(progress, row.block_timestamp);
      else decisions.push(decision);
    }
    progress.observed += await this.#append(entry, decisions, seen);
    for (const { tx_id: txId } of decisions) this.#rememberDecided(entry.address, txId);
  }

  #isFull({ receipts, bad }: Progress): boolean {
    return receipts >= this.#options.receipts_max || bad >= BAD_RECEIPTS_MAX;
  }

  async #decide(txId: Buffer, progress: Progress): Promise<Decision | undefined> {
    const { provider, usdt_contract: contract, now } = this.#options;
    progress.receipts++;
    let receipt: TronReceipt | undefined;
    try {
      receipt = await provider.receipt(txId);
    } catch (error) {
      // one bad receipt does not hold up other transactions
      if (!(error instanceof Fault) || error.code !== BAD_ANSWER) throw error;
      progress.bad++;
      return undefined;
    }
    // no block is of the future, and the brokers refuse such a time
    const isOfFuture = receipt !== undefined && receipt.block_timestamp > now() + CLOCKS_APART_MS;
    progress.bad = isOfFuture ? progress.bad + 1 : 0;
    if (receipt === undefined || isOfFuture) return undefined;
    const read = transfersIn(receipt, contract);
    return 'problem' in read ? undefined : { tx_id: txId, receipt, transfers: read.value };
  }

  /**
   * Payments to other addresses go first: after an abort half way, the checked address has no trace
   * of the transaction, so its next check decides it again.
   */
  async #append(entry: Entry, decisions: readonly Decision[], seen: SeenLogs): Promise<number> {
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
      const partition = transferPartition(event.to);
      if (event.to.equals(entry.address)) {
        if (seen.get(event.tx_id.toString('hex'))?.has(event.log_index) !== true) own.push(event);
      } else others.set(partition, [...(others.get(partition) ?? []), event]);
    }
    for (const [partition, events] of others) await this.#appendAll(partition, events);
    await this.#appendAll(entry.partition, own);
    return own.length + [...others.values()].reduce((sum, { length }) => sum + length, 0);
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
    const { usdt_contract: contract } = this.#options;
    const { block_number, block_timestamp } = receipt;
    const common = { type: 'TransferObserved', tx_id, block_number, block_timestamp } as const;
    return transfers.flatMap(({ log_index, from, to, value }) => {
      const address_index = indexes.get(to.toString('hex'));
      // a transfer to oneself brings nothing
      if (address_index === undefined || from.equals(to)) return [];
      return [{ ...common, log_index, contract, from, to, value, address_index }];
    });
  }

  #rememberDecided(address: Buffer, txId: Buffer): void {
    this.#decided.add(decidedKey(address, txId));
    const [oldest = ''] = this.#decided;
    if (this.#decided.size > DECIDED_MAX) this.#decided.delete(oldest);
  }
}

function leaveUndecided(progress: Progress, block_timestamp: number): void {
  progress.undecided_from = Math.min(progress.undecided_from ?? Infinity, block_timestamp);
}

function decidedKey(address: Buffer, txId: Buffer): string {
  return `${address.toString('latin1')}${txId.toString('latin1')}`;
}
