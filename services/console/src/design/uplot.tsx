/** A plot by uPlot: made again when its looks or colours change; data and width only move it. */
import { useEffect, useRef, type ReactElement } from 'react';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { TIME_ZONE } from '../zone.ts';
import type { LineColor } from './bucket-data.ts';
import { colorOf, useIsDark } from './scheme.ts';

const HEIGHT = 240;
/** px, at most, in the font of the axes */
const CHARACTER = 8;

/** Room at the right, in which the text of the last time fits. */
export const PADDING: UPlot.Padding = [null, 32, null, null];

/** For days, which are days in UTC, and for a reader who chose UTC. */
export function zoneOf(isUtc: boolean): Pick<UPlot.Options, 'tzDate'> {
  return isUtc || TIME_ZONE !== undefined
    ? { tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC') }
    : {};
}

/** The axes of time and of values. */
export function axes(time: UPlot.Axis, values: UPlot.Axis): UPlot.Axis[] {
  const axis: UPlot.Axis = {
    stroke: colorOf('--ink-2'),
    grid: { stroke: colorOf('--line'), width: 1 },
    ticks: { show: false },
    font: `12px ${colorOf('--font')}`,
  };
  return [
    { ...axis, space: 96, size: 32, ...time },
    { ...axis, size: widthOf, ...values },
  ];
}

/** As wide as its longest text. */
function widthOf(_plot: UPlot, texts: readonly string[] | null): number {
  return CHARACTER * Math.max(3, ...(texts ?? []).map(({ length }) => length)) + 12;
}

/** A line of amounts: each stays until the next change. */
export function steps(label: string, color: LineColor): UPlot.Series {
  const paths = UPlot.paths.stepped?.({ align: 1 });
  const stroke = colorOf(color);
  return { label, stroke, width: 2, points: { show: false }, ...(paths && { paths }) };
}

/** Pales all from `from` on, Unix seconds, which may still change, behind a line. */
export function veil(plot: UPlot, from: number | undefined): void {
  if (from === undefined) return;
  const { ctx, bbox } = plot;
  const left = Math.max(bbox.left, Math.round(plot.valToPos(from, 'x', true)));
  ctx.save();
  ctx.fillStyle = colorOf('--surface');
  ctx.globalAlpha = 0.5;
  ctx.fillRect(left, bbox.top, bbox.left + bbox.width - left, bbox.height);
  ctx.globalAlpha = 1;
  ctx.fillStyle = colorOf('--warn');
  ctx.fillRect(left, bbox.top, 2, bbox.height);
  ctx.restore();
}

export function Drawn(props: {
  readonly label: string;
  /** the plot is made again when this changes */
  readonly looks: string;
  readonly optionsOf: () => Omit<UPlot.Options, 'width' | 'height'>;
  readonly data: UPlot.AlignedData;
}): ReactElement {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const isDark = useIsDark();
  const { looks, data, optionsOf } = props;
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const size = (): { width: number; height: number } => ({
      width: element.clientWidth,
      height: HEIGHT,
    });
    const made = new UPlot({ ...optionsOf(), ...size() }, data, element);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize(size()));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
    };
    // the data follow in the effect below: a new plot would lose the place that is pointed at
  }, [looks, isDark]);
  useEffect(() => plot.current?.setData(data), [data]);
  return <div ref={place} className="plot" role="img" aria-label={props.label} />;
}
