import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useMemo, type ReactElement, type ReactNode } from 'react';
import type { Series, SeriesBy, SeriesItem } from '../../../../schemas/explorer-api/network.ts';
import { oneQuery } from '../api/explorer.ts';
import { Chart, type ChartBucket } from '../design/chart.tsx';
import { Amount, Answer } from '../design/parts.tsx';
import { amountText, grouped, plotted } from '../format.ts';
import { Heading } from '../design/heading.tsx';
import { CHAIN } from '../chain/text.ts';
import { TEXT } from '../text.ts';
import { SpanChoice, useSpan } from './span-choice.tsx';
import {
  SPAN_DEFAULT,
  parametersOf,
  stretchOf,
  withoutGaps,
  type SpanSearch,
  type Stretch,
} from './span.ts';

const REFRESH_MS = 5_000;

const MEASURES = [
  'transactions',
  'active_accounts',
  'rides',
  'fares',
  'fees',
  'supply',
  'blocks',
] as const;
type Measure = (typeof MEASURES)[number];
/** Measures in base units; the others are counts. */
const AMOUNTS: ReadonlySet<Measure> = new Set(['fares', 'fees', 'supply']);

export function ChartsPage(): ReactElement {
  const [search, later] = useSpan(useSearch({ from: '/charts' }));
  const series = useQuery({
    ...oneQuery<Series>('series', { amounts: 'string', ...parametersOf(search) }),
    refetchInterval: REFRESH_MS,
  });
  return (
    <>
      <Heading
        title={TEXT.nav.charts}
        tab={CHAIN.tabs.of(TEXT.nav.charts, TEXT.charts.spans[search.span ?? SPAN_DEFAULT])}
      >
        <SpanChoice {...search} />
      </Heading>
      {later}
      <Answer of={series}>{({ items, by }) => <Shown {...{ items, by, search }} />}</Answer>
    </>
  );
}

type Bucket = SeriesItem & ChartBucket;

function emptyBucket(start: string, { supply, is_final }: SeriesItem): Bucket {
  const none = { blocks: 0, transactions: 0, rides: 0, active_accounts: 0, fees: '0', fares: '0' };
  return { start, ...none, supply, is_final, is_missing: true };
}

function Shown(props: {
  readonly items: readonly SeriesItem[];
  readonly by: SeriesBy;
  readonly search: SpanSearch;
}): ReactElement {
  const { items, by, search } = props;
  const stretch = stretchOf(search, items[0]?.start ?? '');
  const buckets = useMemo(() => withoutGaps<Bucket>(items, by, emptyBucket), [items, by]);
  const words = TEXT.charts;
  if (items.length === 0) return <p className="nothing">{words.none}</p>;
  return (
    <>
      <div className="two charts">
        {MEASURES.map((of) => (
          <MeasureChart key={of} {...{ of, buckets, stretch, by }} />
        ))}
      </div>
      <nav className="panel pager" aria-label={TEXT.pager.pages}>
        {search.to === undefined ? (
          <span className="quiet">{words.open}</span>
        ) : (
          <Link to="." search={{ span: search.span }}>
            ← {TEXT.pager.newer}
          </Link>
        )}
        <Link to="." search={{ span: search.span, to: new Date(stretch.from).toISOString() }}>
          {TEXT.pager.older} →
        </Link>
      </nav>
    </>
  );
}

function MeasureChart(props: {
  readonly of: Measure;
  readonly buckets: readonly Bucket[];
  readonly stretch: Stretch;
  readonly by: SeriesBy;
}): ReactElement {
  const { of, buckets, stretch, by } = props;
  const words = TEXT.charts;
  const name = words.measures[of];
  const isAmount = AMOUNTS.has(of);
  const isLevel = of === 'supply';
  const lines = useMemo(() => {
    const pointOf = ({ [of]: value }: SeriesItem): number =>
      isAmount ? plotted(BigInt(value)) : Number(value);
    return [{ name, color: '--accent' as const, values: buckets.map(pointOf) }];
  }, [buckets, name, of, isAmount]);
  const shown = (value: bigint): ReactNode =>
    isAmount ? <Amount of={String(value)} /> : grouped(value);
  const textOf = ({ [of]: value }: SeriesItem): string =>
    isAmount ? amountText(BigInt(value)) : grouped(BigInt(value));
  const [summary, summed] = summaryOf(
    of,
    buckets.map((bucket) => BigInt(bucket[of])),
  );
  return (
    <Chart
      title={words.titles[isLevel ? 'level' : by](name)}
      {...{ buckets, stretch, lines, by }}
      shape={isLevel ? 'line' : 'bars'}
      summary={
        <>
          <span className="quiet">{summary}</span> <strong>{shown(summed)}</strong>
        </>
      }
      valueOf={(bucket) => <strong>{shown(BigInt(bucket[of]))}</strong>}
      columns={[
        {
          name: isAmount ? `${name} (${TEXT.units.clt})` : name,
          cell: textOf,
          isNumber: true,
        },
      ]}
    />
  );
}

/** An account may be active in several buckets: their sum counts nothing, and so does a level's. */
function summaryOf(of: Measure, values: readonly bigint[]): readonly [string, bigint] {
  const words = TEXT.charts;
  if (of === 'supply') return [words.last, values.at(-1) ?? 0n];
  return of === 'active_accounts'
    ? [words.most, values.reduce((most, value) => (value > most ? value : most), 0n)]
    : [words.total, values.reduce((sum, value) => sum + value, 0n)];
}
