import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useMemo, type ReactElement } from 'react';
import type { Series, SeriesBy, SeriesItem } from '../../../../schemas/explorer-api/network.ts';
import { one } from '../api/explorer.ts';
import { Chart } from '../design/chart.tsx';
import { Amount, Answer } from '../design/parts.tsx';
import { amountText, grouped, plotted } from '../format.ts';
import { Heading } from '../design/heading.tsx';
import { CHAIN } from '../chain/text.ts';
import { TEXT } from '../text.ts';
import { SpanChoice } from './span-choice.tsx';
import {
  SPAN_DEFAULT,
  bucketTime,
  lengthOf,
  parametersOf,
  stretchOf,
  withoutGaps,
  type SpanSearch,
  type Stretch,
} from './span.ts';

const REFRESH_MS = 5_000;

type Count = 'transactions' | 'active_accounts' | 'rides' | 'blocks';
type Sum = 'fees' | 'fares' | 'supply';

export function ChartsPage(): ReactElement {
  const search = useSearch({ from: '/charts' });
  const parameters = parametersOf(search);
  const series = useQuery({
    queryKey: ['series', parameters],
    queryFn: ({ signal }) => one<Series>('series', signal, { amounts: 'string', ...parameters }),
    refetchInterval: REFRESH_MS,
  });
  return (
    <>
      <header>
        <Heading
          tab={CHAIN.tabs.of(TEXT.charts.title, TEXT.charts.spans[search.span ?? SPAN_DEFAULT])}
        >
          {TEXT.charts.title}
        </Heading>
        <SpanChoice {...search} />
      </header>
      <Answer of={series}>{({ items, by }) => <Shown {...{ items, by, search }} />}</Answer>
    </>
  );
}

function emptyBucket(start: string, { supply, is_final }: SeriesItem): SeriesItem {
  const none = { blocks: 0, transactions: 0, rides: 0, active_accounts: 0, fees: '0', fares: '0' };
  return { start, ...none, supply, is_final };
}

function Shown(props: {
  readonly items: readonly SeriesItem[];
  readonly by: SeriesBy;
  readonly search: SpanSearch;
}): ReactElement {
  const { items, by, search } = props;
  const stretch = stretchOf(search, items[0]?.start ?? '');
  const buckets = useMemo(() => withoutGaps(items, by, emptyBucket), [items, by]);
  const words = TEXT.charts;
  if (items.length === 0) return <p className="nothing">{words.none}</p>;
  return (
    <>
      <div className="two charts">
        <CountChart {...{ buckets, stretch, by }} of="transactions" />
        <CountChart {...{ buckets, stretch, by }} of="active_accounts" />
        <CountChart {...{ buckets, stretch, by }} of="rides" />
        <SumChart {...{ buckets, stretch, by }} of="fares" />
        <SumChart {...{ buckets, stretch, by }} of="fees" />
        <SumChart {...{ buckets, stretch, by }} of="supply" />
        <CountChart {...{ buckets, stretch, by }} of="blocks" />
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

interface ChartProps {
  readonly buckets: readonly SeriesItem[];
  readonly stretch: Stretch;
  readonly by: SeriesBy;
}

function CountChart({
  buckets,
  stretch,
  by,
  of,
}: ChartProps & { readonly of: Count }): ReactElement {
  const name = TEXT.charts.measures[of];
  const lines = useMemo(
    () => [{ name, color: '--accent' as const, values: buckets.map((bucket) => bucket[of]) }],
    [buckets, name, of],
  );
  const sum = buckets.reduce((total, bucket) => total + bucket[of], 0);
  const most = Math.max(...buckets.map((bucket) => bucket[of]));
  return (
    <Chart
      title={TEXT.charts.titles[by](name)}
      {...{ buckets, stretch, lines }}
      length_ms={lengthOf(by)}
      shape="bars"
      timeOf={bucketTime(by)}
      // an account may be active in several buckets: their sum counts nothing
      summary={
        of === 'active_accounts' ? (
          <Summary name={TEXT.charts.most}>{grouped(most)}</Summary>
        ) : (
          <Summary name={TEXT.charts.total}>{grouped(sum)}</Summary>
        )
      }
      valueOf={(bucket) => <strong>{grouped(bucket[of])}</strong>}
      columns={[
        {
          name,
          cell: (bucket) => grouped(bucket[of]),
          text: (bucket) => String(bucket[of]),
          isNumber: true,
        },
      ]}
    />
  );
}

function SumChart({ buckets, stretch, by, of }: ChartProps & { readonly of: Sum }): ReactElement {
  const name = TEXT.charts.measures[of];
  const lines = useMemo(
    () => [
      {
        name,
        color: '--accent' as const,
        values: buckets.map((bucket) => plotted(BigInt(bucket[of]))),
      },
    ],
    [buckets, name, of],
  );
  const isLevel = of === 'supply';
  const sum = buckets.reduce((total, bucket) => total + BigInt(bucket[of]), 0n);
  return (
    <Chart
      title={TEXT.charts.titles[isLevel ? 'level' : by](name)}
      {...{ buckets, stretch, lines }}
      length_ms={lengthOf(by)}
      shape={isLevel ? 'line' : 'bars'}
      timeOf={bucketTime(by)}
      summary={
        <Summary name={isLevel ? TEXT.charts.last : TEXT.charts.total}>
          <Amount of={isLevel ? (buckets.at(-1)?.supply ?? '0') : String(sum)} />
        </Summary>
      }
      valueOf={(bucket) => (
        <strong>
          <Amount of={bucket[of]} />
        </strong>
      )}
      columns={[
        {
          name: `${name} (${TEXT.units.clt})`,
          cell: (bucket) => amountText(BigInt(bucket[of])),
          text: (bucket) => amountText(BigInt(bucket[of])).replaceAll(',', ''),
          isNumber: true,
        },
      ]}
    />
  );
}

function Summary(props: {
  readonly name: string;
  readonly children: React.ReactNode;
}): ReactElement {
  return (
    <>
      <span className="quiet">{props.name}</span> <strong>{props.children}</strong>
    </>
  );
}
