import { expect, test } from 'vitest';
import type { Recorded } from '../../../../projections/contract/projection.ts';
import { Carry } from '../../../../services/projector/load/carry.ts';
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

test('what is not settled is held until a later batch settles it, in order and none twice', () => {
  const carry = new Carry(projection, 1_000);
  expect(offsets(carry.join(1, decoded(0, '..!..'), true))).toEqual([0, 1, 2]);
  expect(carry.bytes).toBe(20);
  expect(offsets(carry.join(1, decoded(5, '..'), true))).toEqual([]);
  expect(carry.bytes).toBe(40);
  expect(offsets(carry.join(1, decoded(7, '.!.'), true))).toEqual([3, 4, 5, 6, 7, 8]);
  expect(offsets(carry.join(1, decoded(10, '!'), true))).toEqual([9, 10]);
  expect(carry.bytes).toBe(0);
});

test('at the end everything is applied', () => {
  const carry = new Carry(projection, 1_000);
  carry.join(1, decoded(0, '!..'), true);
  expect(offsets(carry.join(1, decoded(3, '..'), false))).toEqual([1, 2, 3, 4]);
  expect(offsets(carry.join(1, decoded(5, '!.'), false))).toEqual([5, 6]);
  expect(carry.bytes).toBe(0);
});

test('more than the bound is never held: then everything is applied, settled or not', () => {
  const carry = new Carry(projection, 50);
  expect(offsets(carry.join(1, decoded(0, '.....'), true))).toEqual([]);
  expect(carry.bytes).toBe(50);
  expect(offsets(carry.join(1, decoded(5, '.'), true))).toEqual([0, 1, 2, 3, 4, 5]);
  expect(offsets(carry.join(1, decoded(6, '!.....'), true))).toEqual([6]);
  expect(offsets(carry.join(1, decoded(12, '!......'), true))).toEqual([
    7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
  ]);
  expect(carry.bytes).toBe(0);
});

test('what was held before a rewind is forgotten: it is read again', () => {
  const carry = new Carry(projection, 1_000);
  carry.join(1, decoded(0, '...'), true);
  expect(offsets(carry.join(2, decoded(0, '.!.'), true))).toEqual([0, 1]);
  expect(offsets(carry.join(3, decoded(2, '.'), false))).toEqual([2]);
});

test('each partition has its own', () => {
  const carry = new Carry(projection, 1_000);
  carry.join(1, decoded(0, '..'), true);
  expect(offsets(carry.join(1, decoded(0, '.', { partition: 1 }), true))).toEqual([]);
  expect(offsets(carry.join(1, decoded(0, '.', { topic: 'other' }), false))).toEqual([0]);
  expect(offsets(carry.join(1, decoded(2, '!'), true))).toEqual([0, 1, 2]);
  expect(carry.bytes).toBe(10);
});

test('before a record that cannot be read everything is applied', () => {
  const carry = new Carry(projection, 1_000);
  carry.join(1, decoded(0, '..'), true);
  const poison = { offset: 3n, reason: 'spoilt', fingerprint: Buffer.alloc(32) };
  const due = carry.join(1, decoded(2, '.', { poison }), true);
  expect(offsets(due)).toEqual([0, 1, 2]);
  expect(due.poison).toEqual(poison);
});

test('a projection that does not say what is settled has all of it applied; one that says nonsense is a bug', () => {
  expect(offsets(new Carry<Step>({}, 1_000).join(1, decoded(0, '..'), true))).toEqual([0, 1]);
  expect(() =>
    new Carry<Step>({ settled: () => 3 }, 1_000).join(1, decoded(0, '..'), true),
  ).toThrow('3 of 2 records cannot be settled');
});
