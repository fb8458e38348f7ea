/**
 * The newest reading of each balance of custody. A run reads again what may have changed: balances
 * above zero, and those that a deposit may have changed since. The others are refreshed: a few in
 * each run, the oldest reading first. An unreadable balance is a fault, never 0.
 */
import type { Holder, Receipts } from '../../../projections/reserve/position.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { BAD_ANSWER, type TronGrid } from '../../runtime/trongrid/trongrid.ts';

export type BalanceProvider = Pick<TronGrid, 'head' | 'balance' | 'balances' | 'list' | 'receipt'>;

/** In one request. A node stops a constant call after 80 ms; this many take a fraction. */
export const BATCH_MAX = 200;

/** A machine of the provider that lags does not know the newest deposits: they are read again. */
const SETTLED_MS = 3_600_000;

interface Reading {
  readonly holder: Holder;
  /** micro-USDT */
  readonly balance: bigint;
  /** the balance of the reading before */
  readonly before: bigint;
  /** Unix milliseconds */
  readonly at: number;
}

export interface ReadOptions {
  readonly provider: Pick<BalanceProvider, 'balance' | 'balances'>;
  /** Unix milliseconds */
  readonly now: () => number;
  /** after each request */
  readonly onRead: () => void;
}

export class Readings {
  /** by the holder's key, the oldest reading first */
  readonly #readings = new Map<string, Reading>();
  /** keys of the balances that changed and are not settled, the newest last */
  readonly #changed = new Set<string>();
  #batch = BATCH_MAX;

  /** Requests for this many balances. */
  requestsFor(balances: number): number {
    return Math.ceil(balances / this.#batch);
  }

  /**
   * Reads these balances in the order given, and gives the number of requests: the balances of one
   * request are of one block. A provider that refuses a request is asked for fewer balances at once
   * from then on, in the end one by one.
   */
  async read(holders: readonly Holder[], options: ReadOptions): Promise<number> {
    let requests = 0;
    for (let from = 0; from < holders.length;) {
      const batch = holders.slice(from, from + this.#batch);
      const at = options.now();
      const balances = await this.#ask(batch, options.provider);
      requests++;
      if (balances === undefined) continue;
      options.onRead();
      for (const [index, balance] of balances.entries()) this.#note(batch[index], balance, at);
      from += batch.length;
    }
    return requests;
  }

  /** Lets batches grow again that a provider refused. */
  grow(): void {
    this.#batch = Math.min(BATCH_MAX, this.#batch * 2);
  }

  /** The balances that may have changed since they were read. */
  due(holders: readonly Holder[], receipts: Receipts): readonly Holder[] {
    return holders.filter((holder) => {
      const reading = this.#readings.get(holder.key);
      if (reading === undefined || reading.balance > 0n || reading.before > 0n) return true;
      return reading.at < receipts.newestTo(holder) + SETTLED_MS;
    });
  }

  /** The balances to read before a run: those never read, and the oldest of those not due. */
  toRefresh(
    holders: readonly Holder[],
    due: readonly Holder[],
    requests: number,
  ): readonly Holder[] {
    const unread = holders.filter(({ key }) => !this.#readings.has(key));
    const count = Math.min(requests * this.#batch, holders.length - due.length);
    const isLeft = new Set(count === 0 ? [] : holders.map(({ key }) => key));
    if (count > 0) for (const { key } of due) isLeft.delete(key);
    const oldest: Holder[] = [];
    for (const { holder } of this.#readings.values()) {
      if (oldest.length >= count) break;
      if (isLeft.has(holder.key)) oldest.push(holder);
    }
    return [...unread, ...oldest];
  }

  /** Sum of the newest readings of these balances, all of which are read. */
  total(holders: readonly Holder[]): bigint {
    return holders.reduce((sum, { key }) => sum + (this.#readings.get(key)?.balance ?? 0n), 0n);
  }

  /** Time of the oldest reading of these balances, Unix milliseconds. */
  oldest(holders: readonly Holder[]): number {
    return holders.reduce(
      (oldest, { key }) => Math.min(oldest, this.#readings.get(key)?.at ?? 0),
      Number.POSITIVE_INFINITY,
    );
  }

  /** Those of these balances above zero that changed and are not settled, the newest first. */
  changed(holders: readonly Holder[]): readonly Holder[] {
    const among = new Set(holders.map(({ key }) => key));
    return [...this.#changed]
      .toReversed()
      .filter((key) => among.has(key))
      .flatMap((key) => this.#readings.get(key) ?? [])
      .filter(({ balance }) => balance > 0n)
      .map(({ holder }) => holder);
  }

  /** The change of this balance is explained; without a holder, every change is. */
  settle(holder?: Holder): void {
    if (holder === undefined) this.#changed.clear();
    else this.#changed.delete(holder.key);
  }

  async #ask(
    batch: readonly Holder[],
    provider: ReadOptions['provider'],
  ): Promise<readonly bigint[] | undefined> {
    const [first, ...others] = batch;
    if (first !== undefined && others.length === 0) return [await provider.balance(first.address)];
    try {
      return await provider.balances(batch.map(({ address }) => address));
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== BAD_ANSWER) throw error;
      this.#batch = Math.ceil(batch.length / 2);
      return undefined;
    }
  }

  #note(holder: Holder | undefined, balance: bigint, at: number): void {
    if (holder === undefined) return;
    const { key } = holder;
    const known = this.#readings.get(key);
    this.#readings.delete(key);
    this.#readings.set(key, { holder, balance, before: known?.balance ?? balance, at });
    if (known?.balance === balance) return;
    this.#changed.delete(key);
    this.#changed.add(key);
  }
}
