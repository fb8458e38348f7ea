/** Lines over time, by uPlot. Points are rounded; the exact amounts stand beside the plot. */
import { useEffect, useRef, type ReactElement } from 'react';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { localClock } from '../format.ts';

export interface Line {
  readonly name: string;
  /** a custom property of `tokens.css` */
  readonly color: '--accent' | '--series-2';
  readonly values: readonly number[];
}

const HEIGHT = 240;
const { stepped } = UPlot.paths;

export function Plot(props: {
  readonly label: string;
  /** Unix seconds */
  readonly at: readonly number[];
  readonly lines: readonly Line[];
}): ReactElement {
  const place = useRef<HTMLDivElement>(null);
  const { at, lines } = props;
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const style = getComputedStyle(document.documentElement);
    const color = (name: string): string => style.getPropertyValue(name).trim();
    const axis = {
      stroke: color('--ink-2'),
      grid: { stroke: color('--line'), width: 1 },
      ticks: { show: false },
      font: `12px ${color('--font')}`,
    };
    const plot = new UPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        axes: [
          {
            ...axis,
            space: 96,
            values: (_plot, ticks) => ticks.map((tick) => localClock(tick * 1_000)),
          },
          { ...axis, size: 84, values: (_plot, ticks) => ticks.map(compact) },
        ],
        legend: { show: lines.length > 1, live: false },
        cursor: { y: false },
        series: [
          {},
          ...lines.map((line) => ({
            label: line.name,
            stroke: color(line.color),
            width: 2,
            points: { show: false },
            // an amount stays until the next change
            ...(stepped !== undefined && { paths: stepped({ align: 1 }) }),
          })),
        ],
      },
      [[...at], ...lines.map(({ values }) => [...values])],
      element,
    );
    const resized = new ResizeObserver(() =>
      plot.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [at, lines]);
  return <div ref={place} className="plot" role="img" aria-label={props.label} />;
}

const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 3 });

function compact(value: number): string {
  return COMPACT.format(value);
}
