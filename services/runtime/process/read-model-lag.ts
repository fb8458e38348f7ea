/**
 * Whether a projection in Postgres has the records of `deposit.addresses` that the log had a while
 * ago. One that stands still, as in a former primary, answers as a good one does.
 */
import { projectorOf } from './config.ts';
import type { HealthProblem } from './health.ts';

export class ReadModelLag {
  readonly #projection: string;
  readonly #now: () => number;
  readonly #lateMs: number;
  /** of `deposit.addresses`, with the times of their reading; oldest first */
  #ends: readonly { readonly at: number; readonly end: bigint }[] = [];
  #lacking = 0n;

  /** `now` in milliseconds; `lateMs`: the age from which a record is missed. */
  constructor(projection: string, now: () => number, lateMs: number) {
    this.#projection = projection;
    this.#now = now;
    this.#lateMs = lateMs;
  }

  /** Notes the end of `deposit.addresses`, and its first offset that is not folded. */
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
      waits_for: `projection:${this.#projection}`,
      message: `projection ${this.#projection} lacks ${this.#lacking} records that deposit.addresses had ${this.#lateMs / 1_000} s ago: see /ready of ${projectorOf(this.#projection)}; where it is ready, APP_POSTGRES_READER_URL leads to another Postgres than it writes to`,
    };
  }
}
