/**
 * Whether the queue in Postgres has the addresses that the log had a while ago. A queue that stands
 * still, as in a former primary, answers as a good one does, and money that arrives is not seen.
 */
import type { HealthProblem } from '../runtime/process/health.ts';

export class QueueLag {
  readonly #now: () => number;
  readonly #lateMs: number;
  /** of `deposit.addresses`, with the times of their reading; oldest first */
  #ends: readonly { readonly at: number; readonly end: bigint }[] = [];
  #lacking = 0n;

  /** `now`: milliseconds of a monotonic clock; `lateMs`: the age from which a record is missed. */
  constructor(now: () => number, lateMs: number) {
    this.#now = now;
    this.#lateMs = lateMs;
  }

  /** Notes the end of `deposit.addresses`, and its first offset that is not in the queue. */
  saw(end: bigint, folded: bigint): void {
    const now = this.#now();
    const ends = [...this.#ends, { at: now, end }];
    const due = ends.findLastIndex(({ at }) => at <= now - this.#lateMs);
    this.#ends = ends.slice(Math.max(due, 0));
    const missed = due === -1 ? 0n : (ends[due]?.end ?? 0n) - folded;
    this.#lacking = missed > 0n ? missed : 0n;
  }

  get problem(): HealthProblem | undefined {
    if (this.#lacking === 0n) return undefined;
    return {
      status: 'waiting',
      waits_for: 'projection:watch',
      message: `the queue lacks ${this.#lacking} records that deposit.addresses had ${this.#lateMs / 1_000} s ago: see /ready of projector-watch; where it is ready, APP_POSTGRES_READER_URL leads to another Postgres than it writes to`,
    };
  }
}
