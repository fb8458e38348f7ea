/** A plot of buckets in a panel, with the exact value that is pointed at, and all as a table. */
import { useMemo, useState, type ReactElement, type ReactNode } from 'react';
import type { SeriesBy } from '../../../../schemas/explorer-api/network.ts';
import { CHAIN } from '../chain/text.ts';
import { TEXT } from '../text.ts';
import { Copy, Panel, Table, type Column } from './parts.tsx';
import { bucketTime, lengthOf, type Stretch } from '../series/span.ts';
import type { Buckets, Line } from './bucket-data.ts';
import { BucketPlot } from './bucket-plot.tsx';

export interface ChartBucket {
  /** ISO 8601 */
  readonly start: string;
  /** whether no block can change it */
  readonly is_final: boolean;
  /** has no block: its counts are not those of a quiet hour or day */
  readonly is_missing?: true;
}

interface TextColumn<Bucket> extends Column<Bucket> {
  readonly cell: (bucket: Bucket) => string;
}

export function Chart<Bucket extends ChartBucket>(props: {
  readonly title: string;
  /** oldest first, without a gap */
  readonly buckets: readonly Bucket[];
  /** the whole time of the axis */
  readonly stretch: Stretch;
  readonly by: SeriesBy;
  readonly shape: Buckets['shape'];
  readonly lines: readonly Line[];
  /** shown while no bucket is pointed at */
  readonly summary: ReactNode;
  readonly valueOf: (bucket: Bucket) => ReactNode;
  /** of the table, behind the time; what is copied has no separators */
  readonly columns: readonly TextColumn<Bucket>[];
  readonly children?: ReactNode;
}): ReactElement {
  const { title, buckets, lines, stretch, by } = props;
  // a level stays where nothing changes it
  const isNone = ({ is_missing: isMissing }: ChartBucket): boolean =>
    isMissing === true && props.shape !== 'line';
  const timeOf = ({ start, is_final: isFinal }: ChartBucket): string => {
    const time = bucketTime(by)(start);
    return isFinal ? time : TEXT.charts.mayChange(time);
  };
  const [pointed, setPointed] = useState<number>();
  const at = useMemo(() => buckets.map(({ start }) => Date.parse(start) / 1_000), [buckets]);
  const bucket = pointed === undefined ? undefined : buckets[pointed];
  const open = buckets.find(({ is_final: isFinal }) => !isFinal);
  return (
    <Panel
      title={title}
      aside={
        <span className="readout">
          {bucket === undefined ? (
            props.summary
          ) : (
            <>
              <span className="quiet">{timeOf(bucket)}</span>{' '}
              {isNone(bucket) ? CHAIN.charts.noBlock : props.valueOf(bucket)}
            </>
          )}
        </span>
      }
    >
      <div className="inside">
        <BucketPlot
          label={TEXT.charts.plot(title, buckets.length)}
          at={at}
          lines={lines}
          axis={[stretch.from / 1_000, stretch.to / 1_000]}
          missing={buckets.filter(isNone).map(({ start }) => Date.parse(start) / 1_000)}
          open_from={open && Date.parse(open.start) / 1_000}
          buckets={{ shape: props.shape, length: lengthOf(by) / 1_000, onPoint: setPointed }}
        />
        {props.children}
      </div>
      <Rows {...{ title, buckets, timeOf, isNone }} columns={props.columns} />
    </Panel>
  );
}

/** Made when it is opened: a page has thousands of cells. */
function Rows<Bucket extends ChartBucket>(props: {
  readonly title: string;
  readonly buckets: readonly Bucket[];
  readonly timeOf: (bucket: Bucket) => string;
  readonly isNone: (bucket: Bucket) => boolean;
  readonly columns: readonly TextColumn<Bucket>[];
}): ReactElement {
  const [isOpen, setOpen] = useState(false);
  const { title, buckets, timeOf, isNone } = props;
  const columns = props.columns.map(({ cell, ...column }) => ({
    ...column,
    cell: (each: Bucket) => (isNone(each) ? CHAIN.charts.noBlock : cell(each)),
    text: (each: Bucket) => (isNone(each) ? '' : cell(each).replaceAll(',', '')),
  }));
  const csv = (): string =>
    [
      ['start', ...columns.map(({ name }) => name)],
      ...buckets.map((bucket) => [bucket.start, ...columns.map(({ text }) => text(bucket))]),
    ]
      .map((cells) => cells.join(','))
      .join('\n');
  return (
    <details className="rows" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{TEXT.charts.table}</summary>
      {isOpen && (
        <>
          <p className="row quiet">
            {TEXT.charts.copied}
            <Copy text={csv()} what="csv" />
          </p>
          <Table
            label={title}
            items={buckets.toReversed()}
            keyOf={({ start }) => start}
            empty={TEXT.states.empty}
            columns={[{ name: TEXT.charts.time, cell: timeOf }, ...columns]}
          />
        </>
      )}
    </details>
  );
}
