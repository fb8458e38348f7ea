/** Lines over time. Points are rounded; the legend has the exact amounts. */
import { useMemo, useRef, type ReactElement } from 'react';
import type UPlot from 'uplot';
import { localTime, tickLabels, timeLabels } from '../format.ts';
import { TEXT } from '../text.ts';
import type { LineColor } from './bucket-data.ts';
import { axes, colorOf, Drawn, PADDING, stepped, zoneOf } from './uplot.tsx';

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
}): ReactElement {
  const { at, lines } = props;
  const shown = useRef(lines);
  shown.current = lines;
  const data = useMemo(
    (): UPlot.AlignedData => [[...at], ...lines.map(({ values }) => [...values])],
    [at, lines],
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

function optionsOf(lines: () => readonly Line[]): Omit<UPlot.Options, 'width' | 'height'> {
  return {
    axes: axes(
      { values: (_plot, ticks, _axis, _space, step) => timeLabels(ticks, step) },
      { values: (_plot, ticks) => tickLabels(ticks) },
    ),
    padding: PADDING,
    ...zoneOf(false),
    cursor: { y: false },
    series: [
      { label: TEXT.plotTime, value: (plot, at) => legendTime(at ?? plot.data[0].at(-1)) },
      ...lines().map((line, at) => seriesOf(line, (point) => lines()[at]?.texts.at(point))),
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
