/** The figures of one minute of the soak. */
import { percentile } from '../bench/report.ts';

export interface Figure {
  readonly what: string;
  readonly unit: string;
  readonly value: number;
}

export function textOf(figures: readonly Figure[]): string {
  return figures
    .map(({ what, unit, value }) =>
      `${what} ${Math.round(value).toLocaleString('en')} ${unit}`.trim(),
    )
    .join(', ');
}

export function percentiles(what: string, ms: readonly number[]): readonly Figure[] {
  return [
    { what: `${what}, p50`, unit: 'ms', value: percentile(ms, 0.5) },
    { what: `${what}, p99`, unit: 'ms', value: percentile(ms, 0.99) },
    { what: `${what}, most`, unit: 'ms', value: percentile(ms, 1) },
  ];
}
