/**
 * The work that is repeated apart from the turns of addresses: addresses whose lists are bad
 * answers, transfers without a usable receipt, and balances that the log does not explain. Each has
 * a back-off of its own. A pass asks about a few of them, so that their number delays no other
 * address.
 *
 * They are known to this process alone. A watcher that starts finds them anew: the cursor of the
 * address stands before each.
 */
import { bytesKey } from '../../schemas/address.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';
import { keyOf, type Entry } from './read-model.ts';

/** Failures in a row about one address from which on a person has to look. */
const FAILING = 3;
/** A listed transfer is forgotten once this many lists in a row, over this time, leave it out. */
const LEFT_OUT_LISTS = 5;
const LEFT_OUT_MS = 1_800_000;
const DOUBLINGS_MAX = 16;
/** More are left to the turns of their addresses. */
const RETRIES_MAX = 20_000;

export interface Subject {
  readonly entry: Entry;
  /** a transfer, by its transaction */
  readonly tx_id?: Buffer;
  /** block time of the transaction in the list that names it */
  readonly listed_at?: number;
  /** micro-USDT that came to the address at least, more than the log explains */
  readonly received?: bigint;
}

export interface Retry extends Subject {
  /** Unix milliseconds */
  readonly since: number;
  /** of the next attempt, Unix milliseconds */
  readonly at: number;
  readonly failures: number;
  readonly why: string;
  /** somebody else names the transaction: the provider may never list it */
  readonly named: boolean;
  /** the lists since the last one that named it, and when the first of them was read */
  readonly left_out?: { readonly lists: number; readonly since: number };
}

/** A retry as the watcher's interface shows it. */
export interface ShownRetry {
  readonly kind: 'address' | 'transfer' | 'balance';
  readonly address: string;
  readonly tron_tx_id: string | null;
  readonly since: string;
  readonly why: string;
  readonly failures: number;
  readonly next_attempt: string;
}

export interface RetriesOptions {
  /** the first pause; it doubles with each failure */
  readonly retry_ms_min: number;
  readonly retry_ms_max: number;
  /** Unix milliseconds */
  readonly now: () => number;
}

export class Retries {
  readonly #options: RetriesOptions;
  readonly #retries = new Map<string, Retry>();

  constructor(options: RetriesOptions) {
    this.#options = options;
  }

  /** An attempt has failed: the next one is made after a pause. */
  failed(subject: Subject, why: string): void {
    const { retry_ms_min: retryMsMin, retry_ms_max: retryMsMax, now } = this.#options;
    const known = this.#retries.get(subjectKey(subject));
    const failures = (known?.failures ?? 0) + 1;
    const pause = Math.min(retryMsMax, retryMsMin * 2 ** Math.min(failures - 1, DOUBLINGS_MAX));
    this.#set(subject, { known, failures, why, at: now() + pause, named: known?.named ?? false });
  }

  /** Queues a subject at once: the treasury has named the transfer, or the balance has changed. */
  name(subject: Subject, why: string): void {
    const known = this.#retries.get(subjectKey(subject));
    const at = this.#options.now();
    this.#set(subject, { known, failures: known?.failures ?? 0, why, at, named: true });
  }

  ended(subject: Subject): void {
    this.#retries.delete(subjectKey(subject));
  }

  /**
   * A list of this address names these transactions, at these block times, by their id in hex. A
   * transfer that lists have named, and none names for long, is forgotten; a provider that leaves
   * it out now and then is still asked about it.
   */
  listed(entry: Entry, met: ReadonlyMap<string, number>): void {
    const now = this.#options.now();
    for (const [key, retry] of this.#retries) {
      const { tx_id: txId, named, left_out, ...rest } = retry;
      if (txId === undefined || !rest.entry.address.equals(entry.address)) continue;
      const listed_at = met.get(txId.toString('hex'));
      if (listed_at === undefined && named) continue;
      const { lists = 0, since = now } = left_out ?? {};
      const isForgotten = lists + 1 >= LEFT_OUT_LISTS && now - since >= LEFT_OUT_MS;
      if (listed_at !== undefined)
        this.#retries.set(key, { ...rest, tx_id: txId, listed_at, named: false });
      else if (isForgotten) this.#retries.delete(key);
      else this.#retries.set(key, { ...retry, left_out: { lists: lists + 1, since } });
    }
  }

  /** Block time of the earliest listed transfer to this address that is asked about again. */
  undecidedFrom({ address }: Entry): number | undefined {
    const times = this.transfers.flatMap(({ entry, listed_at: listedAt }) =>
      listedAt !== undefined && entry.address.equals(address) ? [listedAt] : [],
    );
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Forgets what other watchers ask about by now. */
  keepPartitions(partitions: readonly number[]): void {
    for (const [key, { entry }] of this.#retries)
      if (!partitions.includes(entry.partition)) this.#retries.delete(key);
  }

  has(subject: Subject): boolean {
    return this.#retries.has(subjectKey(subject));
  }

  get(subject: Subject): Retry | undefined {
    return this.#retries.get(subjectKey(subject));
  }

  hasTransfersTo({ address }: Entry): boolean {
    return this.transfers.some(({ entry }) => entry.address.equals(address));
  }

  /**
   * At most so many whose pause is over: the first of each address, then the second of each.
   * Addresses with fewer of them go first, then those that failed less.
   */
  due(most: number, isFree: (retry: Retry) => boolean = () => true): readonly Retry[] {
    const now = this.#options.now();
    const due = [...this.#retries.values()]
      .filter((retry) => retry.at <= now && isFree(retry))
      .toSorted((one, other) => one.failures - other.failures || one.at - other.at);
    return [...Map.groupBy(due, ({ entry }) => keyOf(entry)).values()]
      .flatMap((all) => all.map((retry, place) => ({ retry, place, of: all.length })))
      .toSorted((one, other) => one.place - other.place || one.of - other.of)
      .slice(0, most)
      .map(({ retry }) => retry);
  }

  /** Addresses whose lists are bad answers. */
  get addresses(): readonly Retry[] {
    return [...this.#retries.values()].filter((retry) => kindOf(retry) === 'address');
  }

  /** Transfers that are neither a deposit nor none. */
  get transfers(): readonly Retry[] {
    return [...this.#retries.values()].filter((retry) => kindOf(retry) === 'transfer');
  }

  /** The number of addresses of which several lists in a row were bad answers. */
  get failing(): number {
    return this.addresses.filter(({ failures }) => failures >= FAILING).length;
  }

  /** For how long the oldest transfer has been undecided, milliseconds; 0: there is none. */
  get undecided_ms(): number {
    const now = this.#options.now();
    return this.transfers.reduce((most, { since }) => Math.max(most, now - since), 0);
  }

  /** The oldest first. */
  shown(): readonly ShownRetry[] {
    return [...this.#retries.values()]
      .toSorted((one, other) => one.since - other.since)
      .map((retry) => ({
        kind: kindOf(retry),
        address: toTronAddress(retry.entry.address),
        tron_tx_id: retry.tx_id?.toString('hex') ?? null,
        since: new Date(retry.since).toISOString(),
        why: retry.why,
        failures: retry.failures,
        next_attempt: new Date(retry.at).toISOString(),
      }));
  }

  #set(
    subject: Subject,
    {
      known,
      ...state
    }: Pick<Retry, 'failures' | 'why' | 'at' | 'named'> & { readonly known: Retry | undefined },
  ): void {
    if (known === undefined && this.#retries.size >= RETRIES_MAX) return;
    const { entry, tx_id, received, listed_at = known?.listed_at } = subject;
    this.#retries.set(subjectKey(subject), {
      entry,
      ...(tx_id === undefined ? {} : { tx_id }),
      ...(received === undefined ? {} : { received }),
      ...(listed_at === undefined ? {} : { listed_at }),
      ...(known?.left_out === undefined ? {} : { left_out: known.left_out }),
      since: known?.since ?? this.#options.now(),
      ...state,
    });
  }
}

export function kindOf({ tx_id, received }: Subject): ShownRetry['kind'] {
  if (tx_id !== undefined) return 'transfer';
  return received === undefined ? 'address' : 'balance';
}

/** The subject for a person: address and transaction. */
export function nameOf({ entry, tx_id: txId }: Subject): string {
  const address = toTronAddress(entry.address);
  return txId === undefined ? address : `transaction ${txId.toString('hex')} to ${address}`;
}

/** An address has one retry for its list and one for its balance. */
export function subjectKey(subject: Subject): string {
  const { entry, tx_id: txId } = subject;
  return `${kindOf(subject)} ${keyOf(entry)}${txId === undefined ? '' : bytesKey(txId)}`;
}
