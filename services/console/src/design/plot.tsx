/** Lines over time. Points are rounded; the legend has the exact amounts. */
import { useMemo, useRef, type ReactElement } from 'react';
import type UPlot from 'uplot';
import { localTime, tickLabels, timeLabels } from '../format.ts';
import { TEXT } from '../text.ts';
import type { Line as PlainLine } from './bucket-data.ts';
import { axes, Drawn, PADDING, steps, veil, zoneOf } from './uplot.tsx';

export interface Line extends PlainLine {
  /** the exact value of each point, for the legend */
  readonly texts: readonly string[];
}

interface Shown {
  readonly lines: readonly Line[];
  /** Unix seconds, from which it may still change; undefined: no part may, or nobody says */
  readonly open_from?: number | undefined;
}

export function Plot(
  props: Shown & {
    readonly label: string;
    /** Unix seconds */
    readonly at: readonly number[];
  },
): ReactElement {
  const { at, lines, open_from } = props;
  const shown = useRef<Shown>(props);
  shown.current = props;
  const data = useMemo(
    (): UPlot.AlignedData => [[...at], ...lines.map(({ values }) => [...values])],
    // drawn again when another part may still change
    [at, lines, open_from],
  );
  return (
    <Drawn
      label={props.label}
      looks={lines.map(({ name, color }) => `${name} ${color}`).join()}
      optionsOf={() => optionsOf(shown)}
      data={data}
    />
  );
}

function legendTime(seconds: number | undefined): string {
  return seconds === undefined ? '' : localTime(new Date(seconds * 1_000).toISOString());
}

function optionsOf(shown: { readonly current: Shown }): Omit<UPlot.Options, 'width' | 'height'> {
  return {
    axes: axes(
      { values: (_plot, ticks, _axis, _space, step) => timeLabels(ticks, step) },
      { values: (_plot, ticks) => tickLabels(ticks) },
    ),
    padding: PADDING,
    ...zoneOf(false),
    cursor: { y: false },
    hooks: { draw: [(plot) => veil(plot, shown.current.open_from)] },
    series: [
      { label: TEXT.plotTime, value: (plot, at) => legendTime(at ?? plot.data[0].at(-1)) },
      ...shown.current.lines.map(({ name, color }, at): UPlot.Series => ({
        ...steps(name, color),
        // the newest while nothing is pointed at
        value: (_plot: UPlot, _raw: number, _series: number, point: number | null) =>
          shown.current.lines[at]?.texts.at(point ?? -1) ?? '',
      })),
    ],
  };
}
