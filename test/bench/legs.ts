/** The legs of a block's way to a subscriber's socket, from the spans of its trace. */
import type { CollectedSpan } from '../support/collector.ts';
import { percentile } from './report.ts';

export interface Leg {
  readonly leg: string;
  readonly times: number;
  /** ms from the end of the node's span; means, since spans count whole milliseconds */
  readonly begins_ms: number;
  readonly ends_ms: number;
  readonly takes_ms: number;
  readonly takes_p90_ms: number;
}

/** In the order in which they begin; of the traces that reached a socket. */
export function legsOf(spans: readonly CollectedSpan[]): readonly Leg[] {
  const legs = new Map<string, { begins: number[]; ends: number[]; takes: number[] }>();
  for (const trace of Map.groupBy(spans, ({ trace_id: id }) => id).values()) {
    const born = trace.find(({ name }) => name === 'node')?.ended_at;
    if (born === undefined || !trace.some(({ name }) => name === 'socket')) continue;
    for (const { service, name, begun_at: begun, ended_at: ended } of trace) {
      const leg = legs.get(`${service} ${name}`) ?? { begins: [], ends: [], takes: [] };
      legs.set(`${service} ${name}`, leg);
      leg.begins.push(begun - born);
      leg.ends.push(ended - born);
      leg.takes.push(ended - begun);
    }
  }
  return [...legs]
    .map(([leg, { begins, ends, takes }]) => ({
      leg,
      times: takes.length,
      begins_ms: mean(begins),
      ends_ms: mean(ends),
      takes_ms: mean(takes),
      takes_p90_ms: percentile(takes, 0.9),
    }))
    .toSorted((one, other) => one.begins_ms - other.begins_ms);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
