/** The length of time that a page shows, and its end. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Series } from '../../../../schemas/explorer-api/network.ts';
import { oneQuery } from '../api/explorer.ts';
import { CHAIN } from '../chain/text.ts';
import { Note } from '../design/parts.tsx';
import { TEXT } from '../text.ts';
import { isLater, isSpan, SPAN_DEFAULT, SPANS, type SpanSearch } from './span.ts';

const REFRESH_MS = 5_000;

/** The part to show, without an end after the newest block, and a sentence that says so. */
export function useSpan(search: SpanSearch): readonly [SpanSearch, later: ReactElement | null] {
  const { span = SPAN_DEFAULT, to } = search;
  const { by } = SPANS[span];
  const newest = useQuery({
    ...oneQuery<Series>('series', { by, limit: 1 }),
    refetchInterval: REFRESH_MS,
    enabled: to !== undefined,
  }).data?.items[0];
  if (newest === undefined || !isLater(search, newest.start)) return [search, null];
  return [{ span }, <Note>{CHAIN.charts.later(TEXT.charts.spans[span])}</Note>];
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
