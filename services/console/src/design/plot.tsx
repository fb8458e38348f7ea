/** Lines over time, by uPlot. Points are rounded; the legend has the exact amounts. */
import { useEffect, useRef, type ReactElement } from 'react';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { localTime, tickLabels, timeLabels } from '../format.ts';
import { TEXT } from '../text.ts';
import { useIsDark } from './scheme.ts';

export interface Line {
  readonly name: string;
  /** a custom property of `tokens.css` */
  readonly color: '--accent' | '--series-2' | '--series-3';
  readonly values: readonly number[];
  /** the exact value of each point, for the legend */
  readonly texts: readonly string[];
}

const HEIGHT = 240;
const { stepped } = UPlot.paths;
if (stepped === undefined) throw new Error('uPlot has no stepped lines: check its version');
const STEPPED = stepped({ align: 1 });

export function Plot(props: {
  readonly label: string;
  /** Unix seconds */
  readonly at: readonly number[];
  readonly lines: readonly Line[];
}): ReactElement {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(null);
  const isDark = useIsDark();
  const { at, lines } = props;
  const shown = useRef(lines);
  shown.current = lines;
  const names = lines.map(({ name, color }) => `${name} ${color}`).join();
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const made = new UPlot(
      optionsOf(element, () => shown.current),
      dataOf([], []),
      element,
    );
    plot.current = made;
    const resized = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    resized.observe(element);
    return () => {
      plot.current = null;
      resized.disconnect();
      made.destroy();
    };
  }, [names, isDark]);
  useEffect(() => plot.current?.setData(dataOf(at, lines)), [at, lines, names, isDark]);
  return <div ref={place} className="plot" role="img" aria-label={props.label} />;
}

function dataOf(at: readonly number[], lines: readonly Line[]): UPlot.AlignedData {
  return [[...at], ...lines.map(({ values }) => [...values])];
}

function legendTime(seconds: number | undefined): string {
  return seconds === undefined ? '' : localTime(new Date(seconds * 1_000).toISOString());
}

function optionsOf(element: HTMLElement, lines: () => readonly Line[]): UPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: color('--ink-2'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
    font: `12px ${color('--font')}`,
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    axes: [
      { ...axis, space: 96, size: 32, values: (_plot, ticks) => timeLabels(ticks) },
      {
        ...axis,
        values: (_plot, ticks) => tickLabels(ticks),
        // as wide as its longest label
        size: (_plot, labels) =>
          20 + 7 * Math.max(4, ...(labels ?? []).map(({ length }) => length)),
      },
    ],
    cursor: { y: false },
    series: [
      { label: TEXT.plotTime, value: (plot, at) => legendTime(at ?? plot.data[0].at(-1)) },
      ...lines().map((line, at): UPlot.Series => ({
        label: line.name,
        stroke: color(line.color),
        width: 2,
        points: { show: false },
        // the newest while nothing is pointed at
        value: (_plot: UPlot, _raw: number, _series: number, point: number | null) =>
          lines()[at]?.texts.at(point ?? -1) ?? '',
        // an amount stays until the next change
        paths: STEPPED,
      })),
    ],
  };
}
