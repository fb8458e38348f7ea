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
}

/** Exponential back-off with jitter after failures of the provider. */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;
  #until = Number.NEGATIVE_INFINITY;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  succeeded(): void {
    this.#failures = 0;
  }

  /** `suspendedMs`: the pause that the provider asks for, if any. */
  failed(suspendedMs: number | undefined): void {
    const { backoff_ms_min: min, backoff_ms_max: max, now, random } = this.#options;
    const grown = min * 2 ** Math.min(this.#failures, DOUBLINGS_MAX);
    this.#failures++;
    const pause = Math.min(max, Math.max(grown, suspendedMs ?? 0));
    // jitter never shortens the provider's own pause
    this.#until =
      now() +
      (suspendedMs === undefined ? pause / 2 + (random() * pause) / 2 : pause + random() * min);
  }

  /** Waits out the pause, or until the signal is aborted. */
  async wait(signal: AbortSignal): Promise<void> {
    for (let rest = this.rest_ms; rest > 0 && !signal.aborted; rest = this.rest_ms)
      await untilAborted(Math.ceil(rest), signal);
  }

  /** Milliseconds until the next request is allowed. */
  get rest_ms(): number {
    return Math.max(0, this.#until - this.#options.now());
  }
}
