/** The share of each validator in the blocks of each hour or day. */
import { useQuery } from '@tanstack/react-query';
import { useMemo, type CSSProperties, type ReactElement } from 'react';
import type { SeriesBy, ValidatorSeries } from '../../../../schemas/explorer-api/network.ts';
import { oneQuery } from '../api/explorer.ts';
import { Chart, type ChartBucket } from '../design/chart.tsx';
import { AddressLink, Answer } from '../design/parts.tsx';
import type { Line, LineColor } from '../design/bucket-data.ts';
import { grouped, shortened } from '../format.ts';
import { TEXT } from '../text.ts';
import { SpanChoice, useSpan } from './span-choice.tsx';
import { parametersOf, stretchOf, withoutGaps, type SpanSearch } from './span.ts';

const REFRESH_MS = 5_000;
/** More cannot be told apart; the others are one part. */
const COLORS = ['--accent', '--series-2', '--series-3', '--series-4', '--series-5'] as const;

export function ValidatorShares(props: { readonly search: SpanSearch }): ReactElement {
  const [search, later] = useSpan(props.search);
  const series = useQuery({
    ...oneQuery<ValidatorSeries>('series/validators', parametersOf(search)),
    refetchInterval: REFRESH_MS,
  });
  return (
    <>
      <SpanChoice {...search} />
      {later}
      <Answer of={series}>
        {({ items, by }) =>
          items.length === 0 ? (
            <p className="nothing">{TEXT.charts.none}</p>
          ) : (
            <Shares items={items} by={by} search={search} />
          )
        }
      </Answer>
    </>
  );
}

/** The blocks of one hour or day by producer; undefined: of all others. */
interface Bucket extends ChartBucket {
  readonly blocks: ReadonlyMap<string | undefined, number>;
  readonly all: number;
}

function noBlocks(start: string, { is_final }: Bucket): Bucket {
  return { start, blocks: new Map(), all: 0, is_final, is_missing: true };
}

interface Part {
  /** undefined: all others */
  readonly address: string | undefined;
  readonly color: LineColor;
  readonly blocks: number;
}

function bucketsOf({ items, by }: ValidatorSeries, shown: ReadonlySet<string>): readonly Bucket[] {
  const counted = new Map<string, Map<string | undefined, number>>();
  for (const { start, address, blocks: made } of items) {
    const blocks = counted.get(start) ?? new Map<string | undefined, number>();
    const part = address !== null && shown.has(address) ? address : undefined;
    counted.set(start, blocks.set(part, (blocks.get(part) ?? 0) + made));
  }
  const final = new Set(items.filter(({ is_final }) => is_final).map(({ start }) => start));
  const newestFirst = [...counted].map(([start, blocks]): Bucket => ({
    start,
    blocks,
    all: [...blocks.values()].reduce((sum, made) => sum + made, 0),
    is_final: final.has(start),
  }));
  return withoutGaps(newestFirst, by, noBlocks);
}

/** Parts of the validators, most blocks first, and one of all others last. */
function partsOf({ items }: ValidatorSeries): readonly Part[] {
  const made = new Map<string | null, number>();
  for (const { address, blocks } of items) made.set(address, (made.get(address) ?? 0) + blocks);
  const ordered = [...made]
    .filter((each): each is [string, number] => each[0] !== null)
    .toSorted(([a, first], [b, second]) => second - first || (a < b ? -1 : 1));
  const shown = ordered.slice(0, COLORS.length);
  const rest =
    ordered.slice(COLORS.length).reduce((sum, [, blocks]) => sum + blocks, 0) +
    (made.get(null) ?? 0);
  return [
    ...shown.map(([address, blocks], at): Part => ({
      address,
      color: COLORS[at] ?? '--series-rest',
      blocks,
    })),
    ...(rest > 0 ? [{ address: undefined, color: '--series-rest' as const, blocks: rest }] : []),
  ];
}

function colored(color: LineColor): CSSProperties & { readonly '--color': string } {
  return { '--color': `var(${color})` };
}

function nameOf(address: Part['address']): string {
  return address === undefined ? TEXT.validators.rest : shortened(address);
}

function madeOf(address: Part['address'], blocks: Bucket['blocks']): string {
  return grouped(blocks.get(address) ?? 0);
}

function Shares(props: {
  readonly items: ValidatorSeries['items'];
  readonly by: SeriesBy;
  readonly search: SpanSearch;
}): ReactElement {
  const { items, by } = props;
  const stretch = stretchOf(props.search, items[0]?.start ?? '');
  const parts = useMemo(() => partsOf({ items, by }), [items, by]);
  const buckets = useMemo(() => {
    const shown = parts.flatMap(({ address }) => (address === undefined ? [] : [address]));
    return bucketsOf({ items, by }, new Set(shown));
  }, [items, by, parts]);
  const lines = useMemo(
    (): Line[] =>
      parts.map(({ address, color }) => ({
        name: address ?? TEXT.validators.rest,
        color,
        values: buckets.map(({ blocks }) => blocks.get(address) ?? 0),
      })),
    [parts, buckets],
  );
  const all = parts.reduce((sum, { blocks }) => sum + blocks, 0);
  const words = TEXT.validators;
  return (
    <Chart<Bucket>
      title={words.shares[by]}
      {...{ buckets, stretch, lines, by }}
      shape="parts"
      summary={<span className="quiet">{words.blocks(grouped(all))}</span>}
      valueOf={(bucket) => <strong>{words.blocks(grouped(bucket.all))}</strong>}
      columns={[
        {
          name: words.produced,
          cell: (bucket) => grouped(bucket.all),
          below: ({ blocks, is_missing: isMissing }) =>
            isMissing === true
              ? null
              : parts
                  .map(({ address }) => `${nameOf(address)}: ${madeOf(address, blocks)}`)
                  .join(', '),
          isNumber: true,
        },
        ...parts.map(({ address }) => ({
          name: nameOf(address),
          cell: ({ blocks }: Bucket) => madeOf(address, blocks),
          isNumber: true,
          isWide: true,
        })),
      ]}
    >
      <ul className="legend">
        {parts.map(({ address, color, blocks }) => (
          <li key={color} style={colored(color)}>
            {address === undefined ? (
              <span>{words.rest}</span>
            ) : (
              <AddressLink of={address} isBare />
            )}
            <span className="quiet">{((100 * blocks) / all).toFixed(1)} %</span>
          </li>
        ))}
      </ul>
    </Chart>
  );
}
