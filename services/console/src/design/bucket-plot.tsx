/** Bars, lines or parts by hour or day. Points are rounded; exact values are beside. */
import { useMemo, useRef, type ReactElement } from 'react';
import UPlot from 'uplot';
import { tickLabels, timeLabels } from '../format.ts';
import { dataOf, type Buckets, type Line } from './bucket-data.ts';
import { colorOf } from './scheme.ts';
import { axes, Drawn, PADDING, steps, veil, zoneOf } from './uplot.tsx';

interface BucketPlotProps {
  readonly label: string;
  /** beginnings of the buckets, without a gap, Unix seconds */
  readonly at: readonly number[];
  readonly lines: readonly Line[];
  readonly buckets: Buckets;
  /** Unix seconds: the axis, which may have more time than the buckets */
  readonly axis: readonly [from: number, to: number];
  /** beginnings of those without a block */
  readonly missing: readonly number[];
  /** beginning of the oldest bucket that may still change, Unix seconds; undefined: none may */
  readonly open_from: number | undefined;
}

/** Facts that change with the data: options read them whenever they draw. */
interface Now extends Pick<BucketPlotProps, 'axis' | 'missing' | 'open_from'> {
  readonly onTime: (seconds: number | undefined) => void;
}

export function BucketPlot(props: BucketPlotProps): ReactElement {
  const { label, at, lines, buckets, axis, missing, open_from } = props;
  const { length, shape, onPoint } = buckets;
  const [from, to] = axis;
  const now = useRef<Now>(undefined);
  now.current = {
    axis,
    missing,
    open_from,
    onTime: (seconds) => {
      const index = Math.floor(((seconds ?? -1) - (at[0] ?? 0)) / length);
      onPoint(at[index] === undefined ? undefined : index);
    },
  };
  const data = useMemo(
    () => dataOf(at, lines, { length, shape }, [from, to]),
    [at, lines, length, shape, from, to],
  );
  return (
    <Drawn
      label={label}
      looks={JSON.stringify([shape, length, lines.map(({ name, color }) => [name, color])])}
      optionsOf={() => optionsOf(lines, buckets, now)}
      data={data}
    />
  );
}

function optionsOf(
  lines: readonly Line[],
  { shape, length }: Buckets,
  now: { readonly current: Now | undefined },
): Omit<UPlot.Options, 'width' | 'height'> {
  const isUtc = length >= DAY;
  return {
    axes: axes(
      {
        // a day has no ticks within
        ...(isUtc && { incrs: DAY_STEPS.map((days) => days * DAY) }),
        values: (_plot, ticks, _axis, _space, step) => timeLabels(ticks, step, isUtc),
      },
      {
        values: (_plot, ticks) =>
          shape === 'parts'
            ? ticks.map((tick) => `${Math.round(100 * tick)} %`)
            : tickLabels(ticks),
      },
    ),
    padding: PADDING,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false } },
    ...zoneOf(isUtc),
    scales: {
      x: { range: () => [...(now.current?.axis ?? [0, 1])] },
      y: { range: (_plot, least, most) => rangeOf(shape, least, most) },
    },
    hooks: {
      drawAxes: [(plot) => ground(plot, now.current?.missing ?? [], length)],
      draw: [(plot) => veil(plot, now.current?.open_from)],
      setCursor: [
        (plot) => {
          const { left = -1 } = plot.cursor;
          now.current?.onTime(left < 0 ? undefined : plot.posToVal(left, 'x'));
        },
      ],
    },
    series: [
      {},
      ...(shape === 'parts' ? lines.toReversed() : lines).map((line) =>
        shape === 'line' ? steps(line.name, line.color) : bars(line),
      ),
    ],
  };
}

const DAY = 86_400;
const DAY_STEPS = [1, 2, 5, 7, 14, 30, 60, 90, 180];

function bars({ name: label, color }: Line): UPlot.Series {
  const paths = UPlot.paths.bars?.({ align: 1, size: [1, Infinity], gap: 1 });
  const fill = colorOf(color);
  return { label, fill, width: 0, points: { show: false }, ...(paths && { paths }) };
}

/** A ground below the buckets without a block, which zero has not. */
function ground(plot: UPlot, missing: readonly number[], length: number): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = colorOf('--raised');
  for (const from of missing) {
    const [left, right] = [from, from + length].map((at) => plot.valToPos(at, 'x', true));
    ctx.fillRect(left ?? 0, bbox.top, (right ?? 0) - (left ?? 0), bbox.height);
  }
  ctx.restore();
}

/** A supply moves little: its axis shows how. */
function rangeOf(shape: Buckets['shape'], least: number, most: number): [number, number] {
  if (shape === 'parts') return [0, 1];
  if (shape === 'bars') return [0, most * 1.05 || 1];
  const margin = (most - least) * 0.1 || Math.abs(most) * 0.01 || 1;
  return [least - margin, most + margin];
}
