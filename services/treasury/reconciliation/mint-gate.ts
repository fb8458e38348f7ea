/** Closes minting while the newest reconciliation is a mismatch or too old. */
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import type { NewestRun } from './newest-run.ts';

export interface MintGateOptions {
  readonly newest: Pick<NewestRun, 'run' | 'is_read'>;
  /** 0: no limit */
  readonly age_max_ms: number;
  /** Unix milliseconds */
  readonly now: () => number;
}

const PASSES: ReadonlySet<string> = new Set(['ok', 'over_backed_drift']);

export class MintGate {
  readonly #options: MintGateOptions;

  constructor(options: MintGateOptions) {
    this.#options = options;
  }

  /** Why nothing may be minted now, and what to do. */
  mintingAllowed(): string | undefined {
    const { newest, age_max_ms: ageMax, now } = this.#options;
    if (!newest.is_read) return 'the reconciliations are not read yet: it goes on by itself';
    if (newest.run !== undefined && !PASSES.has(newest.run.status)) return mismatched(newest.run);
    if (ageMax === 0) return undefined;
    if (newest.run === undefined)
      return 'there was no reconciliation yet: it goes on after the first, or `ops reserve run` makes one';
    const age = now() - newest.run.run_at;
    return Math.abs(age) <= ageMax ? undefined : outOfDate(newest.run, age);
  }
}

function mismatched({ run_id: id, run_at: at }: ReserveReconciled): string {
  return `the reserve does not match (reconciliation ${id} of ${timeOf(at)}). What to do: \`ops reserve runs\` shows by how much; find the mint or the money, then \`ops reserve run\``;
}

function outOfDate({ run_at: at }: ReserveReconciled, age: number): string {
  const how =
    age > 0
      ? `${Math.round(age / 1_000)} s old`
      : `${Math.round(-age / 1_000)} s ahead of this clock`;
  return `the newest reconciliation, of ${timeOf(at)}, is ${how}. What to do: look why there is no newer one (the treasury's log says it), or set the clock right`;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
