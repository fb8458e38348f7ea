/** The credit of a deposit that is not sent yet, by the rules that the treasury follows. */
import {
  creditOf,
  feeOf,
  holdReasonOf,
  type PolicyLimits,
} from '../../../../schemas/deposit-policy.ts';
import type { RecordedRun } from '../../../../schemas/explorer-api/reserve.ts';
import { verdictOf } from '../../../../schemas/explorer-api/words.ts';
import type { MintQueue } from '../api/deposits.ts';
import { isRecent } from '../reserve/light.ts';

export interface Estimate {
  readonly fee: bigint;
  readonly credit: bigint;
  readonly outcome: Turn['outcome'] | 'below_minimum' | 'over_single_cap';
  /** as of a `Turn` */
  readonly at?: string | undefined;
}

/** `queue`: undefined while it is not known. */
export function estimate(
  limits: PolicyLimits,
  gross: bigint,
  isFirst: boolean,
  queue: Queue | undefined,
): Estimate {
  const fee = feeOf(limits, isFirst ? 0 : 1);
  const credit = creditOf(gross, fee);
  const held = holdReasonOf(limits, credit);
  if (held !== undefined) return { fee, credit, outcome: held };
  const { outcome, at } = turnOf(queue, credit, queue?.waiting);
  return { fee, credit, outcome, at };
}

/** The queue, and whether the reserve lets the treasury mint, as far as this page knows. */
export interface Queue extends MintQueue {
  readonly is_allowed: boolean;
}

/** Whether this newest run lets the treasury mint; a run that nobody knows lets it do nothing. */
export function isAllowedBy(
  run: (Pick<RecordedRun, 'status' | 'run_at'> & Partial<RecordedRun>) | undefined,
  now: number,
): boolean {
  if (run?.uncovered === undefined) return false;
  const verdict = verdictOf(run);
  const passes = verdict === 'ok' || verdict === 'over_backed_drift';
  return passes && isRecent(run, now);
}

/** Whether a credit is minted by itself soon; `unknown`: nobody says when it is minted. */
export interface Turn {
  readonly outcome: 'minted' | 'waits' | 'stopped' | 'unknown';
  /** before then it does not fit under the cap; undefined: it fits now, if nothing is before it */
  readonly at?: string | undefined;
}

/** The gateway counts no more of those that wait. */
const COUNTED_MAX = 1_000;
const HOUR_MS = 3_600_000;

/** Whether all that wait are in the sum. */
export function isCounted({ waiting_count: waitingCount }: MintQueue): boolean {
  return Number(waitingCount) < COUNTED_MAX;
}

/** `before`: credits whose turn is first, base units; undefined: not known. */
export function turnOf(
  queue: Queue | undefined,
  credit: bigint,
  before: string | null | undefined,
): Turn {
  if (queue === undefined || before === undefined || before === null) return { outcome: 'unknown' };
  if (queue.is_stopped) return { outcome: 'stopped' };
  if (!queue.is_allowed || !isCounted(queue)) return { outcome: 'unknown' };
  let room = BigInt(queue.cap_left);
  if (BigInt(before) + credit <= room) return { outcome: 'minted' };
  if (credit <= room) return { outcome: 'waits' };
  for (const { at, amount } of queue.leaving) {
    room += BigInt(amount);
    if (credit <= room) return { outcome: 'waits', at: beginOfHour(at) };
  }
  return { outcome: 'unknown' };
}

/** The sum of an hour is given back from its first mint on. */
function beginOfHour(at: string): string {
  return new Date(Math.floor(Date.parse(at) / HOUR_MS) * HOUR_MS).toISOString();
}
