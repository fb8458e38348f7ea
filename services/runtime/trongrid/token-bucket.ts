/** The rates of requests to TRON's provider. */
import { untilAborted } from '../process/retry.ts';

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
/** Polling interval of a process without a share. */
const SHARELESS_MS = 20;
/** Size of the day's bucket, in time. */
const SAVED_MS = 600_000;
/** Sums of fractions of a token may miss a whole number by this. */
const ROUNDING = 1e-6;

export interface BucketOptions {
  readonly requests_per_second: number;
  /** 0: limited by the second only */
  readonly requests_per_day: number;
  /** milliseconds of a monotonic clock */
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** by default in real time */
  readonly pause?: typeof untilAborted;
}

/**
 * Holds the requests to the provider's rates, in their order. Tokens of a second are spaced evenly
 * from one request to the next, whether it is answered or not: one that hangs holds up no other.
 * Tokens of a day fill a bucket, which allows bursts after quiet times.
 */
export class TokenBucket {
  readonly #options: BucketOptions;
  #queue: Promise<unknown> = Promise.resolve();
  #share = 1;
  #shareUntil = Number.POSITIVE_INFINITY;
  #made = 0;
  /** when the last request was made */
  #madeAt = Number.NEGATIVE_INFINITY;
  #saved: number;
  #counted: number;

  /** Begins with a minute's tokens, so that frequent restarts do not use up the day. */
  constructor(options: BucketOptions) {
    this.#options = options;
    this.#saved = Math.max(1, (options.requests_per_day * 60_000) / DAY_MS);
    this.#counted = options.now();
  }

  /**
   * Sets this process' part of the tokens, from 0 to 1: processes share tokens as they share the
   * work. The part expires after `for_ms` unless it is renewed: a process that was frozen does not
   * know which parts others have now.
   */
  share(part: number, for_ms = Number.POSITIVE_INFINITY): void {
    this.#share = part;
    this.#shareUntil = this.#options.now() + for_ms;
  }

  /** Milliseconds that this number of requests takes with all tokens. */
  expectedMs(requests: number): number {
    const {
      requests_per_second: requestsPerSecond,
      requests_per_day: requestsPerDay,
      now,
    } = this.#options;
    const bySecond = (requests * SECOND_MS) / requestsPerSecond;
    if (requestsPerDay === 0) return bySecond;
    const perMs = requestsPerDay / DAY_MS;
    const saved = Math.min(
      Math.max(1, perMs * SAVED_MS),
      this.#saved + (now() - this.#counted) * perMs,
    );
    return Math.max(bySecond, (requests - saved) / perMs);
  }

  /** Resolves once the day's tokens for this many requests are there, or all that can be saved. */
  async saved(requests: number): Promise<void> {
    const { requests_per_day: requestsPerDay, signal, pause = untilAborted } = this.#options;
    const perMs = requestsPerDay / DAY_MS;
    const wanted = Math.min(requests, Math.max(1, perMs * SAVED_MS));
    if (requestsPerDay === 0) return;
    for (this.#wait(); this.#saved < wanted - ROUNDING && !signal.aborted; this.#wait())
      await pause(Math.ceil((wanted - this.#saved) / perMs), signal);
  }

  /**
   * Waits for its turn, then for `ready` and a token, and runs the request; after an abort at once.
   */
  run<Value>(request: () => Promise<Value>, ready?: () => Promise<void>): Promise<Value> {
    const turn = this.#turn(this.#queue, ready);
    this.#queue = turn.catch(() => undefined);
    return turn.then(request);
  }

  async #turn(before: Promise<unknown>, ready?: () => Promise<void>): Promise<void> {
    await before;
    await ready?.();
    await this.#token();
  }

  /** Resolves once every request asked for before has had its turn: the number made so far. */
  async idle(): Promise<number> {
    await this.#queue;
    return this.#made;
  }

  async #token(): Promise<void> {
    const { signal, pause = untilAborted } = this.#options;
    for (let wait = this.#wait(); wait > 0 && !signal.aborted; wait = this.#wait())
      await pause(Math.ceil(wait), signal);
    this.#made += 1;
    this.#saved -= 1;
    this.#madeAt = this.#options.now();
  }

  /** Milliseconds until the next token; 0 or less: there is one. */
  #wait(): number {
    const {
      requests_per_second: requestsPerSecond,
      requests_per_day: requestsPerDay,
      now,
    } = this.#options;
    const at = now();
    if (this.#share === 0 || at >= this.#shareUntil) {
      this.#counted = at;
      return SHARELESS_MS;
    }
    const second = this.#madeAt + SECOND_MS / (requestsPerSecond * this.#share) - at;
    if (requestsPerDay === 0) return second;
    const perMs = (requestsPerDay * this.#share) / DAY_MS;
    this.#saved = Math.min(
      Math.max(1, perMs * SAVED_MS),
      this.#saved + (at - this.#counted) * perMs,
    );
    this.#counted = at;
    return Math.max(second, (1 - this.#saved) / perMs);
  }
}
