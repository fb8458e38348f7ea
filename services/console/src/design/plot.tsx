/** Lines over time. Points are rounded; the legend has the exact amounts. */
import { useMemo, useRef, type ReactElement } from 'react';
import type UPlot from 'uplot';
import { localTime, tickLabels, timeLabels } from '../format.ts';
import { TEXT } from '../text.ts';
import type { LineColor } from './bucket-data.ts';
import { axes, colorOf, Drawn, PADDING, stepped, veil, zoneOf } from './uplot.tsx';

export interface Line {
  readonly name: string;
  readonly color: LineColor;
  readonly values: readonly number[];
  /** the exact value of each point, for the legend */
  readonly texts: readonly string[];
}

export function Plot(props: {
  readonly label: string;
  /** Unix seconds */
  readonly at: readonly number[];
  readonly lines: readonly Line[];
  /** Unix seconds, from which it may still change; undefined: no part may, or nobody says */
  readonly open_from?: number | undefined;
}): ReactElement {
  const { at, lines, open_from } = props;
  const shown = useRef({ lines, open_from });
  shown.current = { lines, open_from };
  const data = useMemo(
    (): UPlot.AlignedData => [[...at], ...lines.map(({ values }) => [...values])],
    // drawn again when another part may still change
    [at, lines, open_from],
  );
  return (
    <Drawn
      label={props.label}
      looks={lines.map(({ name, color }) => `${name} ${color}`).join()}
      optionsOf={() => optionsOf(() => shown.current)}
      data={data}
    />
  );
}

function legendTime(seconds: number | undefined): string {
  return seconds === undefined ? '' : localTime(new Date(seconds * 1_000).toISOString());
}

interface Shown {
  readonly lines: readonly Line[];
  readonly open_from: number | undefined;
}

function optionsOf(shown: () => Shown): Omit<UPlot.Options, 'width' | 'height'> {
  return {
    axes: axes(
      { values: (_plot, ticks, _axis, _space, step) => timeLabels(ticks, step) },
      { values: (_plot, ticks) => tickLabels(ticks) },
    ),
    padding: PADDING,
    ...zoneOf(false),
    cursor: { y: false },
    hooks: { draw: [(plot) => veil(plot, shown().open_from)] },
    series: [
      { label: TEXT.plotTime, value: (plot, at) => legendTime(at ?? plot.data[0].at(-1)) },
      ...shown().lines.map((line, at) =>
        seriesOf(line, (point) => shown().lines[at]?.texts.at(point)),
      ),
    ],
  };
}

function seriesOf(
  { name, color }: Line,
  textAt: (point: number) => string | undefined,
): UPlot.Series {
  return {
    label: name,
    stroke: colorOf(color),
    width: 2,
    points: { show: false },
    // the newest while nothing is pointed at
    value: (_plot: UPlot, _raw: number, _series: number, point: number | null) =>
      textAt(point ?? -1) ?? '',
    ...stepped(),
  };
}
