/**
 * The work that is repeated apart from the turns of addresses: addresses whose lists are bad
 * answers, transfers without a usable receipt, and balances that the log does not explain. Each has
 * a back-off of its own. A pass asks about a few of them, so that their number delays no other
 * address.
 *
 * They are known to this process alone. A watcher that starts finds them anew: the cursor of the
 * address stands before each.
 */
import { toTronAddress } from '../../schemas/tron-address.ts';
import type { Entry } from './read-model.ts';

/** Failures in a row about one address from which on a person has to look. */
const FAILING = 3;
const DOUBLINGS_MAX = 16;
/** More are left to the turns of their addresses. */
const RETRIES_MAX = 20_000;

export interface Subject {
  readonly entry: Entry;
  /** a transfer, by its transaction */
  readonly tx_id?: Buffer;
  /** micro-USDT at the address, more than the log explains */
  readonly balance?: bigint;
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
    const { retry_ms_min: min, retry_ms_max: max, now } = this.#options;
    const known = this.#retries.get(keyOf(subject));
    const failures = (known?.failures ?? 0) + 1;
    const pause = Math.min(max, min * 2 ** Math.min(failures - 1, DOUBLINGS_MAX));
    this.#set(subject, { known, failures, why, at: now() + pause, named: known?.named ?? false });
  }

  /** Queues a subject at once: the treasury has named the transfer, or the balance has changed. */
  name(subject: Subject, why: string): void {
    const known = this.#retries.get(keyOf(subject));
    const at = this.#options.now();
    this.#set(subject, { known, failures: known?.failures ?? 0, why, at, named: true });
  }

  ended(subject: Subject): void {
    this.#retries.delete(keyOf(subject));
  }

  /** Forgets the listed transfers of this address, except these: the provider lists no other. */
  keepTransfers(entry: Entry, met: ReadonlySet<string>): void {
    for (const [key, retry] of this.#retries)
      if (retry.tx_id !== undefined && !retry.named && retry.entry.address.equals(entry.address))
        if (!met.has(retry.tx_id.toString('hex'))) this.#retries.delete(key);
  }

  /** Forgets what other watchers ask about by now. */
  keepPartitions(partitions: readonly number[]): void {
    for (const [key, { entry }] of this.#retries)
      if (!partitions.includes(entry.partition)) this.#retries.delete(key);
  }

  has(subject: Subject): boolean {
    return this.#retries.has(keyOf(subject));
  }

  get(subject: Subject): Retry | undefined {
    return this.#retries.get(keyOf(subject));
  }

  hasTransfersTo({ address }: Entry): boolean {
    return this.transfers.some(({ entry }) => entry.address.equals(address));
  }

  /** At most so many whose pause is over; those that failed least go first. */
  due(most: number): readonly Retry[] {
    const now = this.#options.now();
    return [...this.#retries.values()]
      .filter(({ at }) => at <= now)
      .toSorted((one, other) => one.failures - other.failures || one.at - other.at)
      .slice(0, most);
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
    const { entry, tx_id, balance } = subject;
    this.#retries.set(keyOf(subject), {
      entry,
      ...(tx_id === undefined ? {} : { tx_id }),
      ...(balance === undefined ? {} : { balance }),
      since: known?.since ?? this.#options.now(),
      ...state,
    });
  }
}

export function kindOf({ tx_id, balance }: Subject): ShownRetry['kind'] {
  if (tx_id !== undefined) return 'transfer';
  return balance === undefined ? 'address' : 'balance';
}

/** The subject for a person: address and transaction. */
export function nameOf({ entry, tx_id: txId }: Subject): string {
  const address = toTronAddress(entry.address);
  return txId === undefined ? address : `transaction ${txId.toString('hex')} to ${address}`;
}

/** An address has one retry for its list and one for its balance. */
function keyOf(subject: Subject): string {
  const { entry, tx_id: txId } = subject;
  return `${kindOf(subject)} ${entry.address.toString('latin1')}${txId?.toString('latin1') ?? ''}`;
}
