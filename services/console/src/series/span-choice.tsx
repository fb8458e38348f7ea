/** The lengths of time that a page can show, as links. */
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { TEXT } from '../text.ts';
import { isSpan, SPAN_DEFAULT, SPANS, type SpanSearch } from './span.ts';

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
