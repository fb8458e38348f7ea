/**
 * The one way to the provider: one request at a time, and only as many as it allows. A second's tokens come one by one, the next one only when the request before has
 * ended: so there are never more of them within a second at the provider, also when answers are late. A day's tokens fill a bucket, which lets a while of more through after a
 * while of less.
 */
import { untilAborted } from '../process/retry.ts';

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
/** How often somebody without a share looks whether there is one. */
const SHARELESS_MS = 20;
/** What the bucket of the day holds at the most, of the day's tokens. */
const SAVED_MS = 600_000;

export interface BucketOptions {
  readonly requests_per_second: number;
  /** 0: as many as there are seconds for */
  readonly requests_per_day: number;
  /** milliseconds of a clock that only goes on */
  readonly now: () => number;
  readonly signal: AbortSignal;
}

export class TokenBucket {
  readonly #options: BucketOptions;
  #queue: Promise<unknown> = Promise.resolve();
  #share = 1;
  #shareUntil = Number.POSITIVE_INFINITY;
  /** when the last request ended */
  #ended = Number.NEGATIVE_INFINITY;
  #saved: number;
  #counted: number;

  /** Begins with what a minute brings of the day's tokens, so that one that is started again and again does not use up the day. */
  constructor(options: BucketOptions) {
    this.#options = options;
    this.#saved = Math.max(1, (options.requests_per_day * 60_000) / DAY_MS);
    this.#counted = options.now();
  }

  /**
   * Which part of the tokens is this process', from 0 to 1: several share them as they share the work. Without being told anew it has none after `for_ms`: a process that was frozen
   * does not know what others were given meanwhile.
   */
  share(part: number, for_ms = Number.POSITIVE_INFINITY): void {
    this.#share = part;
    this.#shareUntil = this.#options.now() + for_ms;
  }

  /** How long so many requests take from now on, if each is answered at once and all tokens are this process': milliseconds. */
  expectedMs(requests: number): number {
    const { requests_per_second: perSecond, requests_per_day: perDay, now } = this.#options;
    const bySecond = (requests * SECOND_MS) / perSecond;
    if (perDay === 0) return bySecond;
    const perMs = perDay / DAY_MS;
    const saved = Math.min(
      Math.max(1, perMs * SAVED_MS),
      this.#saved + (now() - this.#counted) * perMs,
    );
    return Math.max(bySecond, (requests - saved) / perMs);
  }

  /** Waits for its turn and a token, then asks. When the process is told to stop it asks at once: whoever asks finds out by itself. */
  run<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    const asked = this.#queue.then(async () => {
      await this.#token();
      try {
        return await ask();
      } finally {
        this.#ended = this.#options.now();
      }
    });
    this.#queue = asked.catch(() => undefined);
    return asked;
  }

  async #token(): Promise<void> {
    const { signal } = this.#options;
    for (let wait = this.#wait(); wait > 0 && !signal.aborted; wait = this.#wait())
      await untilAborted(Math.ceil(wait), signal);
    this.#saved -= 1;
  }

  /** Milliseconds until there is a token; 0 or less: there is one. */
  #wait(): number {
    const { requests_per_second: perSecond, requests_per_day: perDay, now } = this.#options;
    const at = now();
    if (this.#share === 0 || at >= this.#shareUntil) {
      this.#counted = at;
      return SHARELESS_MS;
    }
    const second = this.#ended + SECOND_MS / (perSecond * this.#share) - at;
    if (perDay === 0) return second;
    const perMs = (perDay * this.#share) / DAY_MS;
    this.#saved = Math.min(
      Math.max(1, perMs * SAVED_MS),
      this.#saved + (at - this.#counted) * perMs,
    );
    this.#counted = at;
    return Math.max(second, (1 - this.#saved) / perMs);
  }
}
