import { expect, test } from 'vitest';
import type { Recorded } from '../../../../projections/contract/projection.ts';
import { UnfinalizedBuffer } from '../../../../services/projector/engine/batches.ts';
import type { Decoded } from '../../../../services/runtime/kafka/decode.ts';

interface Step {
  readonly type: 'step';
  /** everything up to and including this one is settled */
  readonly settles: boolean;
}

/** `.` for an event that settles nothing, `!` for one that settles all before it and itself. */
function decoded(from: number, events: string, change: Partial<Decoded<Step>> = {}): Decoded<Step> {
  return {
    topic: 'log',
    partition: 0,
    from: BigInt(from),
    next: BigInt(from + events.length),
    events: events.split('').map((sign, at) => ({
      event: { type: 'step', settles: sign === '!' },
      partition: 0,
      offset: BigInt(from + at),
      timestamp: 0,
    })),
    fingerprints: events.split('').map((_, at) => Buffer.from([from + at])),
    sizes: events.split('').map(() => 10),
    ...change,
  };
}

const projection = {
  settled: (batch: readonly Recorded<Step>[]): number =>
    batch.findLastIndex(({ event }) => event.settles) + 1,
};

function offsets({ events, fingerprints, sizes }: Decoded<Step>): number[] {
  expect(fingerprints).toEqual(events.map(({ offset }) => Buffer.from([Number(offset)])));
  expect(sizes).toHaveLength(events.length);
  return events.map(({ offset }) => Number(offset));
}

test('records are held until later records settle them, and come once, in order', () => {
  const buffer = new UnfinalizedBuffer(projection, 1_000);
  expect(offsets(buffer.add(1, decoded(0, '..!..'), true))).toEqual([0, 1, 2]);
  expect(buffer.bytes).toBe(20);
  expect(offsets(buffer.add(1, decoded(5, '..'), true))).toEqual([]);
  expect(buffer.bytes).toBe(40);
  expect(offsets(buffer.add(1, decoded(7, '.!.'), true))).toEqual([3, 4, 5, 6, 7, 8]);
  expect(offsets(buffer.add(1, decoded(10, '!'), true))).toEqual([9, 10]);
  expect(buffer.bytes).toBe(0);
});

test('all records come when more bytes than the bound would be held', () => {
  const buffer = new UnfinalizedBuffer(projection, 50);
  expect(offsets(buffer.add(1, decoded(0, '.....'), true))).toEqual([]);
  expect(buffer.bytes).toBe(50);
  expect(offsets(buffer.add(1, decoded(5, '.'), true))).toEqual([0, 1, 2, 3, 4, 5]);
  expect(offsets(buffer.add(1, decoded(6, '!.....'), true))).toEqual([6]);
  expect(offsets(buffer.add(1, decoded(12, '!......'), true))).toEqual([
    7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
  ]);
  expect(buffer.bytes).toBe(0);
});

test('records are held by partition', () => {
  const buffer = new UnfinalizedBuffer(projection, 1_000);
  buffer.add(1, decoded(0, '..'), true);
  expect(offsets(buffer.add(1, decoded(0, '.', { partition: 1 }), true))).toEqual([]);
  expect(offsets(buffer.add(1, decoded(0, '.', { topic: 'other' }), false))).toEqual([0]);
  expect(offsets(buffer.add(1, decoded(2, '!'), true))).toEqual([0, 1, 2]);
  expect(buffer.bytes).toBe(10);
});

test('a projection without settled has nothing held; a count beyond the batch is a bug', () => {
  expect(offsets(new UnfinalizedBuffer<Step>({}, 1_000).add(1, decoded(0, '..'), true))).toEqual([
    0, 1,
  ]);
  expect(() =>
    new UnfinalizedBuffer<Step>({ settled: () => 3 }, 1_000).add(1, decoded(0, '..'), true),
  ).toThrow('3 of 2 records cannot be final');
});
