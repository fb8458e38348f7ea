/** How far a treasury is that reads its logs at its start. */
import type { HealthProblem } from '../runtime/process/health.ts';
import type { Reading } from './log-follower.ts';

/** `unfit`: why the newest snapshot was thrown away. */
export function loadingProblem(reading?: Reading, unfit?: string): HealthProblem {
  const { read = 0n, behind = 0n, seconds_left: secondsLeft } = reading ?? {};
  const why = unfit === undefined ? '' : ` (the snapshot was thrown away: ${unfit})`;
  const message = `reading the logs: ${read} records of ${read + behind} are read${why}`;
  return { status: 'working', phase: 'loading', eta_s: secondsLeft, message };
}
