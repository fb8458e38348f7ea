/** The reserve as one light: the verdict on its newest run, as far as that still holds. */
import type { UseQueryResult } from '@tanstack/react-query';
import type { RecordedRun, Reserve, RunStatus } from '../../../../schemas/explorer-api/reserve.ts';
import { verdictOf } from '../../../../schemas/explorer-api/words.ts';
import { useIsDown, useReserve } from '../api/health.ts';
import type { Page } from '../api/explorer.ts';
import { CHAIN } from '../chain/text.ts';
import { useNow } from '../design/clock.ts';
import type { Mark } from '../design/mark.ts';
import { TEXT } from '../text.ts';
import { isWhole } from './equation.ts';

/** The treasury mints after no older run, unless it is configured otherwise. */
const RECENT_MS = 3_600_000;

/** `now` in Unix milliseconds. A run from the future is as doubtful as an old one. */
export function isRecent({ run_at: runAt }: Pick<RecordedRun, 'run_at'>, now: number): boolean {
  return Math.abs(now - Date.parse(runAt)) <= RECENT_MS;
}

export interface Light {
  /** undefined: nothing is known, or there is no treasury */
  readonly mark: Mark | undefined;
  readonly word: string;
  /** the next step of a holder and of an operator; none: there is no cause for one */
  readonly next?: string;
}

type Said = Pick<RecordedRun, 'status' | 'run_at'>;

interface Known {
  /** whether the explorer answers nothing */
  readonly is_down: boolean;
  /** undefined: not known now */
  readonly reserve:
    (Pick<Reserve, 'configured' | 'available'> & { readonly last_run: Said | null }) | undefined;
  readonly run: Said & Partial<RecordedRun>;
}

const WORST_FIRST = ['mismatch', 'uncovered', 'over_backed_drift', 'ok'] as const;

/** The treasury may have a newer run than the log shows: the worse of the two counts. */
function worstOf(run: Known['run'], said: Said | null): RunStatus | 'uncovered' {
  const isNewer = said !== null && Date.parse(said.run_at) > Date.parse(run.run_at);
  const verdicts = new Set([run, ...(isNewer ? [said] : [])].map((each) => verdictOf(each)));
  return WORST_FIRST.find((each) => verdicts.has(each)) ?? 'mismatch';
}

/** A shortfall stays one while nobody answers; a cover has to be recent, and confirmed now. */
export function lightOf({ is_down: isDown, reserve, run }: Known, now: number): Light {
  const words = CHAIN.tabs;
  const { next } = TEXT.reserve;
  if (isDown) return { mark: 'bad', word: words.unknown };
  if (reserve?.configured !== true) return { mark: undefined, word: words.unknown };
  const verdict = worstOf(run, reserve.last_run);
  const isShort = verdict === 'mismatch' || verdict === 'uncovered';
  const word = TEXT.reserve.statuses[verdict];
  if (isShort)
    return { mark: 'bad', word: reserve.available ? word : words.unknown, next: next[verdict] };
  if (!reserve.available) return { mark: 'warn', word: words.unknown, next: next.unavailable };
  if (!isRecent(run, now)) {
    // the log is behind, and the treasury is not
    const isBehind = reserve.last_run !== null && isRecent(reserve.last_run, now);
    return { mark: 'warn', word: words.old, ...(!isBehind && { next: next.old }) };
  }
  if (verdict !== 'ok') return { mark: 'warn', word, next: next[verdict] };
  // an older gateway does not say what is uncovered
  return isWhole(run) ? { mark: 'good', word: words.covered } : { mark: undefined, word };
}

/** Undefined: no run is known. */
export function useLight({ data, error }: UseQueryResult<Page<RecordedRun>>): Light | undefined {
  const now = useNow();
  const isDown = useIsDown(true, true);
  const reserve = useReserve();
  // before the log shows one, the word of the treasury
  const run = data?.items[0] ?? reserve.data?.last_run ?? undefined;
  if (run === undefined) return isDown ? { mark: 'bad', word: CHAIN.tabs.unknown } : undefined;
  const isAnswered = reserve.error === null && error === null;
  return lightOf({ is_down: isDown, reserve: isAnswered ? reserve.data : undefined, run }, now);
}
