/** Times as pages of the console write them, and the reserve run next to one. */
import type { RecordedRun } from '../../../../schemas/explorer-api/reserve.ts';
import { page } from '../api/explorer.ts';
import type { Hit } from './typed.ts';

/** The most that a page may have. */
const RUNS = 100;

const RUN = /^(?:reserve )?run (?:at )?/i;
const CLOCK = /^\d{1,2}:\d{2}(?::\d{2})?(?: [ap]m)?$/i;
const DATE = /^(?:[a-z]{3,9} \d{1,2}|\d{1,2} [a-z]{3,9}),? \d{4},? \d{1,2}:\d{2}/i;
const ISO =
  /^(?<date>\d{4}-\d{2}-\d{2})[t ](?<clock>\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(?<zone>z|[+-]\d{2}:\d{2})?$/i;

/**
 * Unix milliseconds; undefined: no time. A time of day is the newest such one. `zone`: UTC where
 * the reader chose it, else the times are those of the browser.
 */
export function timeOf(typed: string, now: number, zone: string | undefined): number | undefined {
  const isUtc = zone !== undefined;
  const text = typed
    .trim()
    .replaceAll(/[\u00a0\u202f]/g, ' ')
    .replace(RUN, '')
    // as in Canada, and in Denmark
    .replace(/([ap])\.m\.$/i, '$1m')
    .replace(/(\d{1,2})\.(\d{2})\.(\d{2})$/, '$1:$2:$3');
  const { date, clock, zone: own = isUtc ? 'Z' : '' } = ISO.exec(text)?.groups ?? {};
  if (date !== undefined) return known(Date.parse(`${date}T${clock}${own.toUpperCase()}`));
  if (DATE.test(text)) return known(Date.parse(`${text}${isUtc ? ' UTC' : ''}`));
  if (!CLOCK.test(text)) return undefined;
  const at = (day: Date): number =>
    Date.parse(
      isUtc ? `${day.toUTCString().slice(0, 16)} ${text} UTC` : `${day.toDateString()} ${text}`,
    );
  const today = new Date(now);
  if (at(today) <= now) return known(at(today));
  const before = new Date(now);
  if (isUtc) before.setUTCDate(before.getUTCDate() - 1);
  else before.setDate(before.getDate() - 1);
  return known(at(before));
}

function known(at: number): number | undefined {
  return Number.isNaN(at) ? undefined : at;
}

/** The run next to this time; none where the time is before the newest runs that one page has. */
export async function runNear(at: number, signal: AbortSignal): Promise<readonly Hit[]> {
  const { items, older } = await page<RecordedRun>('reserve/runs', signal, { limit: RUNS });
  const oldest = items.at(-1);
  if (oldest === undefined || (older !== undefined && at < Date.parse(oldest.run_at))) return [];
  const distance = ({ run_at: runAt }: RecordedRun): number => Math.abs(Date.parse(runAt) - at);
  const { run_id: identifier, run_at: summary } = items.reduce((nearest, run) =>
    distance(run) < distance(nearest) ? run : nearest,
  );
  return [{ kind: 'run', identifier, summary }];
}
