/**
 * The newest reading of each balance of custody. A run reads again what may have changed: balances
 * above zero, and those that a deposit may have changed since. The others are refreshed: a few in
 * each run, the oldest reading first. An unreadable balance is a fault, never 0. With a balance
 * comes whether the token blocks its address, and with each batch of balances what the token does.
 */
import type { Holder, Receipts } from '../../../projections/reserve/position.ts';
import { TOKEN_FUNCTIONS } from '../../../schemas/tron-balances.ts';
import type { TokenBalance, TokenState } from '../../../schemas/trongrid.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { BAD_ANSWER, type TronGrid } from '../../runtime/trongrid/trongrid.ts';

/** A reader of single balances, where the provider refuses batches. */
type SingleReader = Pick<TronGrid, 'balance' | 'isBlocked' | 'token'>;
export type BalanceProvider = SingleReader &
  Pick<TronGrid, 'head' | 'balances' | 'list' | 'receipt'>;

/** In one request. A node stops a constant call after 80 ms; this many take a fraction. */
export const BATCH_MAX = 200;

/** A machine of the provider that lags does not know the newest deposits: they are read again. */
const SETTLED_MS = 3_600_000;

/** After a search that left a surplus unexplained; doubled each time. */
const PAUSE_MS = 60_000;
const PAUSE_MS_MAX = 1_800_000;

/** Balances of several addresses, micro-USDT. */
export interface Sum {
  readonly total: bigint;
  /** the part of `total` at addresses that the token blocks */
  readonly blocked: bigint;
}

/** The search for what changed a balance. Unix milliseconds, of TRON. */
interface Change {
  searches: number;
  first: number;
  next: number;
}

interface Reading extends TokenBalance {
  readonly holder: Holder;
  /** the balance of the reading before */
  readonly before: bigint;
  /** Unix milliseconds */
  readonly at: number;
}

export interface ReadOptions {
  readonly provider: SingleReader & Pick<BalanceProvider, 'balances'>;
  /** Unix milliseconds */
  readonly now: () => number;
  /** after each request */
  readonly onRead: () => void;
}

export class Readings {
  /** by the holder's key, the oldest reading first */
  readonly #readings = new Map<string, Reading>();
  /** by key, the balances that changed and are not settled, the newest last */
  readonly #changed = new Map<string, Change>();
  #batch = BATCH_MAX;
  /** undefined: this run has no answer yet */
  #token: TokenState | undefined;

  /** Requests for these balances: one by one, addresses with money are asked about twice. */
  requestsFor(holders: readonly Holder[]): number {
    if (this.#batch > 1) return Math.ceil(holders.length / this.#batch);
    const empty = holders.filter(({ key }) => this.#readings.get(key)?.balance === 0n);
    return 2 * holders.length - empty.length;
  }

  /** Requests for what the token does, which comes with each batch. */
  get token_requests(): number {
    return this.#batch > 1 ? 0 : TOKEN_FUNCTIONS.length;
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
      const balances = await this.#ask(batch, options);
      requests++;
      if (balances === undefined) continue;
      options.onRead();
      for (const [index, each] of balances.entries()) this.#note(batch[index], each, at);
      from += batch.length;
    }
    return requests;
  }

  /** A run begins: batches that a provider refused may grow again. */
  begin(): void {
    this.#batch = Math.min(BATCH_MAX, this.#batch * 2);
    this.#token = undefined;
  }

  /** The token, as read in this run. */
  async token(provider: SingleReader): Promise<TokenState> {
    const token = this.#token ?? (await provider.token());
    this.#token = token;
    return token;
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
  sum(holders: readonly Holder[]): Sum {
    let [total, blocked] = [0n, 0n];
    for (const { key } of holders) {
      const { balance, is_blocked } = this.#readings.get(key) ?? NOTHING;
      total += balance;
      if (is_blocked) blocked += balance;
    }
    return { total, blocked };
  }

  /** Whether the token blocks the address, as read last. */
  isBlocked({ key }: Holder): boolean {
    return this.#readings.get(key)?.is_blocked === true;
  }

  /** The addresses among these that the token blocks, and that have money. */
  blocked(holders: readonly Holder[]): readonly Buffer[] {
    return holders
      .map(({ key }) => this.#readings.get(key))
      .filter((reading) => reading?.is_blocked === true && reading.balance > 0n)
      .flatMap((reading) => reading?.holder.address ?? []);
  }

  /** Time of the oldest reading of these balances, Unix milliseconds. */
  oldest(holders: readonly Holder[]): number {
    return holders.reduce(
      (oldest, { key }) => Math.min(oldest, this.#readings.get(key)?.at ?? 0),
      Number.POSITIVE_INFINITY,
    );
  }

  /**
   * The balances above zero among these that changed, are not settled, and are to be searched now:
   * the ones searched least first, then the newest.
   */
  changed(holders: readonly Holder[], now: number): readonly Holder[] {
    const among = new Set(holders.map(({ key }) => key));
    return [...this.#changed]
      .toReversed()
      .filter(([key, { next }]) => among.has(key) && next <= now)
      .toSorted(([, one], [, other]) => one.searches - other.searches)
      .flatMap(([key]) => this.#readings.get(key) ?? [])
      .filter(({ balance }) => balance > 0n)
      .map(({ holder }) => holder);
  }

  /** Every change is explained. */
  settle(): void {
    this.#changed.clear();
  }

  /** Not everything is explained: the change is searched again after a pause, for a while. */
  searched({ key }: Holder, now: number, whileMs: number): void {
    const change = this.#changed.get(key);
    if (change === undefined) return;
    if (change.searches === 0) change.first = now;
    if (now - change.first >= whileMs) this.#changed.delete(key);
    change.next = now + Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** change.searches++);
  }

  async #ask(
    batch: readonly Holder[],
    { provider, onRead }: ReadOptions,
  ): Promise<readonly TokenBalance[] | undefined> {
    if (this.#batch > 1) {
      try {
        const { token, balances } = await provider.balances(batch.map(({ address }) => address));
        this.#token = token;
        return balances;
      } catch (error) {
        if (!(error instanceof Fault) || error.code !== BAD_ANSWER) throw error;
      }
      if (batch.length > 1) {
        this.#batch = Math.ceil(batch.length / 2);
        return undefined;
      }
    }
    const [first] = batch;
    if (first === undefined) return [];
    const { address } = first;
    const balance = await provider.balance(address);
    if (balance === 0n) return [NOTHING];
    onRead();
    return [{ balance, is_blocked: await provider.isBlocked(address) }];
  }

  #note(holder: Holder | undefined, { balance, is_blocked }: TokenBalance, at: number): void {
    if (holder === undefined) return;
    const { key } = holder;
    const known = this.#readings.get(key);
    this.#readings.delete(key);
    const before = known?.balance ?? balance;
    this.#readings.set(key, { holder, balance, is_blocked, before, at });
    if (known?.balance === balance) return;
    this.#changed.delete(key);
    this.#changed.set(key, { searches: 0, first: 0, next: 0 });
  }
}

const NOTHING: TokenBalance = { balance: 0n, is_blocked: false };
