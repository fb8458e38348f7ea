/**
 * Rests of a load, in which Postgres and the processors are left to live work. A load rests only
 * while no statement of it runs, after each batch, for as long as its pace says.
 */
import { untilAborted } from '../../runtime/process/retry.ts';

/** A batch may have waited for a server that was away. */
const REST_MS_MAX = 30_000;

export interface Timing {
  /** a monotonic clock, ms */
  readonly now: () => number;
  /** resolves after so many ms, or when the load is stopped */
  readonly wait: (ms: number) => Promise<void>;
}

export class Rests {
  readonly #pace: number;
  readonly #timing: Timing;
  /** when the last rest ended; undefined before the first one */
  #endedAt: number | undefined;

  /** `pace`: share of the time in which the load works, above 0 and at most 1 */
  constructor(pace: number, timing: Timing) {
    this.#pace = pace;
    this.#timing = timing;
  }

  /** How long the next rest is, for the work since the last one. */
  get due_ms(): number {
    const now = this.#timing.now();
    const worked = now - (this.#endedAt ?? now);
    return Math.min(REST_MS_MAX, worked * (1 / this.#pace - 1));
  }

  async take(): Promise<void> {
    await this.#timing.wait(this.due_ms);
    this.#endedAt = this.#timing.now();
  }
}

export function realTime(signal: AbortSignal): Timing {
  return { now: () => performance.now(), wait: (ms) => untilAborted(ms, signal) };
}
