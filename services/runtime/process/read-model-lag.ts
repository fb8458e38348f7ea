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
  /** of `deposit.addresses`, with the times when each was first known; oldest first */
  readonly #ends: { readonly at: number; readonly end: bigint }[] = [];
  #lacking = 0n;

  /** `now` in milliseconds; `lateMs`: the age from which a record is missed. */
  constructor(projection: string, now: () => number, lateMs: number) {
    this.#projection = projection;
    this.#now = now;
    this.#lateMs = lateMs;
  }

  /** Notes the end of `deposit.addresses`, when it is read or written: nobody may ask for long. */
  ended(end: bigint): void {
    if (this.#ends.at(-1)?.end === end) return;
    this.#ends.push({ at: this.#now(), end });
    this.#dropOlder();
  }

  /** Compares the first offset that the projection has not folded with the ends. */
  saw(folded: bigint): void {
    this.#dropOlder();
    const [due] = this.#ends;
    const missed = due === undefined || !this.#isLate(due) ? 0n : due.end - folded;
    this.#lacking = missed > 0n ? missed : 0n;
  }

  /** Keeps the newest end that is late, and those after it. */
  #dropOlder(): void {
    while (this.#ends[1] !== undefined && this.#isLate(this.#ends[1])) this.#ends.shift();
  }

  #isLate({ at }: { readonly at: number }): boolean {
    return at <= this.#now() - this.#lateMs;
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
