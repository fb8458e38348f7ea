/** The part of the series that a page shows, which is in its address. */
import type { SeriesBy } from '../../../../schemas/explorer-api/network.ts';
import { localHour, utcDay } from '../format.ts';

const HOUR_MS = 3_600_000;

export const SPANS = {
  '24h': { by: 'hour', limit: 24 },
  '7d': { by: 'hour', limit: 168 },
  '30d': { by: 'day', limit: 30 },
  '90d': { by: 'day', limit: 90 },
  '1y': { by: 'day', limit: 365 },
} as const satisfies Readonly<Record<string, { readonly by: SeriesBy; readonly limit: number }>>;

export type Span = keyof typeof SPANS;

export interface SpanSearch {
  readonly span?: Span | undefined;
  /** the end, exclusive, ISO 8601; undefined: the newest block */
  readonly to?: string | undefined;
}

export const SPAN_DEFAULT: Span = '7d';

export function isSpan(value: unknown): value is Span {
  return typeof value === 'string' && Object.hasOwn(SPANS, value);
}

/** Anything else in the address is left out. */
export function spanSearch(search: Readonly<Record<string, unknown>>): SpanSearch {
  const { span, to } = search;
  return {
    ...(isSpan(span) && { span }),
    ...(typeof to === 'string' && !Number.isNaN(Date.parse(to)) && { to }),
  };
}

/** The parameters of the explorer for the part. */
export function parametersOf({ span = SPAN_DEFAULT, to }: SpanSearch) {
  return { ...SPANS[span], to };
}

export function lengthOf(by: SeriesBy): number {
  return by === 'hour' ? HOUR_MS : 24 * HOUR_MS;
}

/** Beginning and end of a part of the time, Unix milliseconds. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** The whole time that was chosen. Without an end of its own it ends with the newest bucket. */
export function stretchOf(search: SpanSearch, newest: string): Stretch {
  const { by, limit } = SPANS[search.span ?? SPAN_DEFAULT];
  const length = lengthOf(by);
  const to =
    search.to === undefined
      ? Date.parse(newest) + length
      : Math.ceil(Date.parse(search.to) / length) * length;
  return { from: to - limit * length, to };
}

/** Whether the end in the address is after the newest hour or day, which begins at `newest`. */
export function isLater({ span = SPAN_DEFAULT, to }: SpanSearch, newest: string): boolean {
  return to !== undefined && Date.parse(to) > Date.parse(newest) + lengthOf(SPANS[span].by);
}

/** Days are days in UTC; hours are shown in the zone of the reader. */
export function bucketTime(by: SeriesBy): (start: string) => string {
  return by === 'hour' ? localHour : utcDay;
}

/** Oldest first, with a bucket for each hour or day between those that have a block. */
export function withoutGaps<Bucket extends { readonly start: string }>(
  newestFirst: readonly Bucket[],
  by: SeriesBy,
  empty: (start: string, before: Bucket) => Bucket,
): readonly Bucket[] {
  const filled: Bucket[] = [];
  const length = lengthOf(by);
  for (const bucket of newestFirst.toReversed()) {
    for (;;) {
      const before = filled.at(-1);
      const next = before === undefined ? Infinity : Date.parse(before.start) + length;
      if (before === undefined || next >= Date.parse(bucket.start)) break;
      filled.push(empty(new Date(next).toISOString(), before));
    }
    filled.push(bucket);
  }
  return filled;
}
