/** The length of time that a page shows, and its end. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Series } from '../../../../schemas/explorer-api/network.ts';
import { one } from '../api/explorer.ts';
import { CHAIN } from '../chain/text.ts';
import { TEXT } from '../text.ts';
import { isLater, isSpan, SPAN_DEFAULT, SPANS, type SpanSearch } from './span.ts';

const REFRESH_MS = 5_000;

/** The part to show, without an end after the newest block, and a sentence that says so. */
export function useSpan(search: SpanSearch): readonly [SpanSearch, later: ReactElement | null] {
  const { span = SPAN_DEFAULT, to } = search;
  const { by } = SPANS[span];
  const newest = useQuery({
    queryKey: ['series', 'newest', by],
    queryFn: ({ signal }) => one<Series>('series', signal, { by, limit: 1 }),
    refetchInterval: REFRESH_MS,
    enabled: to !== undefined,
  }).data?.items[0];
  if (newest === undefined || !isLater(search, newest.start)) return [search, null];
  const words = CHAIN.charts.later(TEXT.charts.spans[span]);
  return [
    { span },
    <p className="note" role="status">
      {words}
    </p>,
  ];
}

/** The lengths as links. */
export function SpanChoice({ span = SPAN_DEFAULT }: SpanSearch): ReactElement {
  return (
    <nav className="choice" aria-label={TEXT.charts.span}>
      {Object.keys(SPANS)
        .filter(isSpan)
        .map((each) => (
          <Link
            key={each}
            to="."
            search={{ span: each }}
            aria-current={each === span ? 'true' : undefined}
          >
            {TEXT.charts.spans[each]}
          </Link>
        ))}
    </nav>
  );
}
