/** Which part of the system is away, from the answers to `/api/v1/status`. */
import { queryOptions, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { one, type Status } from './explorer.ts';
import { ServiceError } from './service.ts';
import { TEXT } from '../text.ts';

/** The gateway itself calls itself unready above this. */
const LAG_BLOCKS_MAX = 20;

const STATUS = queryOptions({
  queryKey: ['status'],
  queryFn: ({ signal }) => one<Status>('status', signal, {}),
});

export function useStatus(): UseQueryResult<Status> {
  return useQuery(STATUS);
}

/**
 * Whether the explorer answers nothing at the moment, which the frame says for every page. False
 * where it is not asked.
 */
export function useIsDown(isAsked: boolean): boolean {
  return useQuery({ ...STATUS, enabled: isAsked, notifyOnChangeProps: ['error'] }).isError;
}

/** Sentences for people; none: all is well. `since`: when the last answer came, as text. */
export function problemsOf(
  status: Status | undefined,
  error: Error | null,
  since: string | undefined,
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
  return [
    ...(explorer?.loading === true ? [words.loading] : []),
    ...(status.head === null ? [words.noNode] : []),
    ...(explorer?.lag_records === null ? [words.noLog] : []),
    ...(lag > LAG_BLOCKS_MAX ? [words.behind(lag)] : []),
  ];
}
