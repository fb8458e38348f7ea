/** Which part of the system is away, from the answers to `/api/v1/status`. */
import { queryOptions, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';
import { localClock, wordFor } from '../format.ts';
import { TEXT } from '../text.ts';
import type { Status } from '../../../../schemas/explorer-api/network.ts';
import type {
  RecordedRun,
  Reserve,
  ReserveTolerance,
} from '../../../../schemas/explorer-api/reserve.ts';
import { one, oneQuery, pageQuery, type Page } from './explorer.ts';
import { learnFinality } from './finality.ts';
import { ServiceError } from './service.ts';
import { NO_LOOK, standingStill, withStatus, type Part } from './stalls.ts';

/** The gateway itself calls itself unready above this. */
const LAG_BLOCKS_MAX = 20;

const STATUS = queryOptions({
  queryKey: ['status'],
  queryFn: async ({ signal }) => {
    const status = await one<Status>('status', signal, {});
    learnFinality(status);
    return status;
  },
});

export function useStatus(): UseQueryResult<Status> {
  return useQuery(STATUS);
}

/** The gateway asks the treasury no more often. */
const POSITION_MS = 5_000;
/** A tab that is hidden still shows its icon. */
export const SEEN_BY_ICON = {
  refetchInterval: POSITION_MS,
  refetchIntervalInBackground: true,
} as const;

/** The reserve as the treasury publishes it now. */
export function useReserve(): UseQueryResult<Reserve> {
  return useQuery({ ...oneQuery<Reserve>('reserve'), ...SEEN_BY_ICON });
}

/** A page with at most one run. */
export function useNewestRuns(): UseQueryResult<Page<RecordedRun>> {
  return useQuery({ ...pageQuery<RecordedRun>('reserve/runs', { limit: 1 }), ...SEEN_BY_ICON });
}

/** Undefined while the explorer does not say it. */
export function useNewestRun(): RecordedRun | undefined {
  const { data, error } = useNewestRuns();
  return error === null ? data?.items[0] : undefined;
}

/** Accepted surplus in base units, as the treasury says now; undefined: not known. */
export function useTolerance(): string | undefined {
  const { data, error } = useQuery({
    ...oneQuery<ReserveTolerance>('reserve/tolerance'),
    refetchInterval: POSITION_MS,
  });
  return error === null ? data?.tolerance?.toString() : undefined;
}

/** Sentences for people; none: all is well. */
export function useProblems(): readonly string[] {
  const { data, error, dataUpdatedAt } = useStatus();
  const [looks, setLooks] = useState(NO_LOOK);
  // in the render: looks without this one would be shown for a moment
  if (data !== undefined && looks.latest !== dataUpdatedAt)
    setLooks(withStatus(looks, data, dataUpdatedAt));
  const since = data === undefined ? undefined : localClock(dataUpdatedAt);
  return problemsOf(data, error, since, standingStill(looks));
}

/**
 * Whether the explorer answers nothing at the moment, which the frame says for every page. False
 * where it is not asked. `isHiddenToo`: it is asked while the tab is hidden, too.
 */
export function useIsDown(isAsked: boolean, isHiddenToo = false): boolean {
  return useQuery({
    ...STATUS,
    enabled: isAsked,
    notifyOnChangeProps: ['error'],
    refetchIntervalInBackground: isHiddenToo,
  }).isError;
}

/** `since`: when the last answer came, as text; `still`: the parts that stand still. */
export function problemsOf(
  status: Status | undefined,
  error: Error | null,
  since: string | undefined,
  still: readonly Part[] = [],
): readonly string[] {
  const words = TEXT.health;
  if (error !== null) {
    const isRead = error instanceof ServiceError && error.status > 0;
    const what = isRead ? words.unreadable(error.message) : words.noAnswer;
    return [since === undefined ? what : `${what} ${words.old(since)}`];
  }
  if (status === undefined) return [];
  const explorer = status.projections.find(({ projection }) => projection === 'explorer');
  const lag = status.lag_blocks ?? 0;
  const parts = still.map((part) => wordFor(words.parts, part));
  return [
    ...(explorer?.loading === true ? [words.loading] : []),
    ...(status.head === null ? [words.noNode] : []),
    ...(explorer?.lag_records === null ? [words.noLog] : []),
    ...(still.length > 0 ? [words.still(parts.join(', '))] : []),
    ...(lag > LAG_BLOCKS_MAX ? [words.behind(lag)] : []),
  ];
}
