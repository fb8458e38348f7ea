/** Bars, lines or parts by hour or day. Points are rounded; exact values are beside. */
import { useMemo, useRef, type ReactElement } from 'react';
import UPlot from 'uplot';
import { tickLabels, timeLabels } from '../format.ts';
import { axes, colorOf, Drawn, PADDING, stepped, type LineColor } from './uplot.tsx';

export interface Line {
  readonly name: string;
  readonly color: LineColor;
  readonly values: readonly number[];
}

export interface Buckets {
  /** seconds */
  readonly length: number;
  /** `parts`: the lines on top of each other, as parts of 1 */
  readonly shape: 'bars' | 'line' | 'parts';
  /** index of the bucket that is pointed at; undefined: none */
  readonly onPoint: (at: number | undefined) => void;
}

interface BucketPlotProps {
  readonly label: string;
  /** beginnings of the buckets, without a gap, Unix seconds */
  readonly at: readonly number[];
  readonly lines: readonly Line[];
  readonly buckets: Buckets;
}

export function BucketPlot({ label, at, lines, buckets }: BucketPlotProps): ReactElement {
  const points = useRef(buckets.onPoint);
  points.current = buckets.onPoint;
  const { length, shape } = buckets;
  const data = useMemo(() => dataOf(at, lines, { length, shape }), [at, lines, length, shape]);
  return (
    <Drawn
      label={label}
      looks={JSON.stringify([shape, length, lines.map(({ name, color }) => [name, color])])}
      optionsOf={() => optionsOf(lines, buckets, points)}
      data={data}
    />
  );
}

/** Parts are drawn as their sums, the highest first, so that each covers those below it. */
function dataOf(
  at: readonly number[],
  lines: readonly Line[],
  buckets: Omit<Buckets, 'onPoint'>,
): UPlot.AlignedData {
  if (buckets.shape === 'line') {
    // the last value holds until the end of its bucket
    const end = (at.at(-1) ?? 0) + buckets.length;
    return [[...at, end], ...lines.map(({ values }) => [...values, values.at(-1) ?? 0])];
  }
  if (buckets.shape !== 'parts') return [[...at], ...lines.map(({ values }) => [...values])];
  const whole = at.map((_, index) =>
    lines.reduce((sum, { values }) => sum + (values[index] ?? 0), 0),
  );
  const below = at.map(() => 0);
  const tops = lines.map(({ values }) =>
    values.map((value, index) => {
      const sum = (below[index] ?? 0) + value;
      below[index] = sum;
      return sum / (whole[index] || 1);
    }),
  );
  return [[...at], ...tops.toReversed()];
}

function optionsOf(
  lines: readonly Line[],
  buckets: Buckets,
  points: { readonly current: Buckets['onPoint'] },
): Omit<UPlot.Options, 'width' | 'height'> {
  const isUtc = buckets.length >= DAY;
  return {
    axes: axes(
      {
        // a day has no ticks within
        ...(isUtc && { incrs: DAY_STEPS.map((days) => days * DAY) }),
        values: (_plot, ticks, _axis, _space, step) => timeLabels(ticks, step, isUtc),
      },
      {
        values: (_plot, ticks) =>
          buckets.shape === 'parts' ? ticks.map(percent) : tickLabels(ticks),
      },
    ),
    padding: PADDING,
    legend: { show: false },
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: false },
    },
    ...bucketOptions(buckets, isUtc, points),
    series: [
      {},
      ...(buckets.shape === 'parts' ? lines.toReversed() : lines).map((line) =>
        seriesOf(line, colorOf(line.color), buckets),
      ),
    ],
  };
}

const DAY = 86_400;
const DAY_STEPS = [1, 2, 5, 7, 14, 30, 60, 90, 180];

function seriesOf(line: Line, color: string, buckets: Buckets): UPlot.Series {
  const { name: label } = line;
  const points = { show: false };
  if (buckets.shape === 'line')
    return {
      label,
      stroke: color,
      width: 2,
      points,
      ...stepped(),
    };
  const size: [number, number] = buckets.shape === 'parts' ? [1, Infinity] : [0.8, 96];
  const gap = buckets.shape === 'parts' ? 1 : 0;
  const paths = UPlot.paths.bars?.({ align: 1, size, gap });
  return {
    label,
    fill: color,
    width: 0,
    points,
    ...(paths !== undefined && { paths }),
  };
}

function bucketOptions(
  { length, shape }: Buckets,
  isUtc: boolean,
  points: { readonly current: Buckets['onPoint'] },
): Partial<UPlot.Options> {
  return {
    ...(isUtc && { tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC') }),
    scales: {
      // the last bucket has its length, too; uPlot itself gives a single one 1,000 days
      x: {
        range: ({ data: [at] }) => [at[0] ?? 0, (at.at(-1) ?? 0) + (shape === 'line' ? 0 : length)],
      },
      y: {
        range: (_plot, least, most) =>
          shape === 'parts'
            ? [0, 1]
            : shape === 'bars'
              ? [0, most * 1.05 || 1]
              : around(least, most),
      },
    },
    hooks: {
      setCursor: [
        (plot) => {
          const { left = -1 } = plot.cursor;
          const [first = 0] = plot.data[0];
          const at = Math.floor((plot.posToVal(left, 'x') - first) / length);
          points.current(left < 0 || at < 0 || at >= plot.data[0].length ? undefined : at);
        },
      ],
    },
  };
}

/** A supply moves little: the axis shows how. */
function around(least: number, most: number): [number, number] {
  const margin = (most - least) * 0.1 || Math.abs(most) * 0.01 || 1;
  return [least - margin, most + margin];
}

function percent(value: number): string {
  return `${Math.round(100 * value)} %`;
}
