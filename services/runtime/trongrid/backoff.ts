/** The pauses after failures of TRON's provider. */
import { untilAborted } from '../process/retry.ts';

const DOUBLINGS_MAX = 16;

export interface BackoffOptions {
  readonly backoff_ms_min: number;
  readonly backoff_ms_max: number;
  /** milliseconds of a monotonic clock */
  readonly now: () => number;
  /** from 0 up to 1 */
  readonly random: () => number;
  /** by default in real time */
  readonly pause?: typeof untilAborted;
}

/**
 * Exponential back-off with jitter after failures of the provider. The pause is one for all
 * requests. It grows with the failures in a row of one route, so that another route, which answers,
 * does not shorten it.
 */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #failures = new Map<string, number>();
  #until = Number.NEGATIVE_INFINITY;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  succeeded(route: string): void {
    this.#failures.delete(route);
  }

  /** `suspendedMs`: the pause that the provider asks for, if any. */
  failed(route: string, suspendedMs?: number): void {
    const {
      backoff_ms_min: backoffMsMin,
      backoff_ms_max: backoffMsMax,
      now,
      random,
    } = this.#options;
    const failures = this.#failures.get(route) ?? 0;
    this.#failures.set(route, failures + 1);
    const grown = backoffMsMin * 2 ** Math.min(failures, DOUBLINGS_MAX);
    const pause = Math.min(backoffMsMax, Math.max(grown, suspendedMs ?? 0));
    // jitter never shortens the provider's own pause
    this.#until =
      now() +
      (suspendedMs === undefined
        ? pause / 2 + (random() * pause) / 2
        : pause + random() * backoffMsMin);
  }

  /** Waits out the pause, or until the signal is aborted. */
  async wait(signal: AbortSignal): Promise<void> {
    const { pause = untilAborted } = this.#options;
    for (let rest = this.rest_ms; rest > 0 && !signal.aborted; rest = this.rest_ms)
      await pause(Math.ceil(rest), signal);
  }

  /** Milliseconds until the next request is allowed. */
  get rest_ms(): number {
    return Math.max(0, this.#until - this.#options.now());
  }
}
