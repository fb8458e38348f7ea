import { expect, test } from 'vitest';
import type { CollectedSpan } from '../support/collector.ts';
import { legsOf } from './legs.ts';

function span(trace_id: string, name: string, begun_at: number, ended_at: number): CollectedSpan {
  const service = 'hub';
  const unused = { span_id: '', parent: '', links: [], attributes: {}, error: undefined };
  return { ...unused, service, name, trace_id, begun_at, ended_at };
}

test('legs are counted from the end of the span of the node, in order, for blocks that arrived', () => {
  const spans = [
    ...[10, 30, 20].flatMap((took, at) => [
      span(`arrived ${at}`, 'socket', 107, 107 + took),
      span(`arrived ${at}`, 'node', 90, 100),
    ]),
    span('on its way', 'node', 0, 1),
    span('of an unknown node', 'socket', 0, 500),
  ];
  expect(legsOf(spans)).toEqual([
    { leg: 'hub node', times: 3, begins_ms: -10, ends_ms: 0, takes_ms: 10, takes_p90_ms: 10 },
    { leg: 'hub socket', times: 3, begins_ms: 7, ends_ms: 27, takes_ms: 20, takes_p90_ms: 30 },
  ]);
});
