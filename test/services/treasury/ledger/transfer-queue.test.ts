import { expect, test } from 'vitest';
import type { TransferEvent } from '../../../../schemas/tron.transfers/events.ts';
import type { Decoded } from '../../../../services/runtime/kafka/decode.ts';
import { TransferQueue } from '../../../../services/treasury/ledger/transfer-queue.ts';
import { transferTo } from '../world.ts';

const TOPIC = 'tron.transfers';
const CHECK: TransferEvent = { type: 'AddressesChecked', checked_at: 1, checked: [] };

function read(
  partition: number,
  from: number,
  events: readonly TransferEvent[],
): Decoded<TransferEvent> {
  return {
    topic: TOPIC,
    partition,
    from: BigInt(from),
    next: BigInt(from + events.length),
    events: events.map((event, at) => ({
      event,
      partition,
      offset: BigInt(from + at),
      timestamp: 0,
    })),
    fingerprints: events.map((_, at) => Buffer.from([from + at])),
    sizes: events.map(() => 1),
  };
}

function some(count: number): readonly TransferEvent[] {
  return Array.from({ length: count }, () => transferTo(0, 1n));
}

function empty(waitingMax: number): TransferQueue {
  return new TransferQueue(TOPIC, [-1, -1], waitingMax);
}

test('transfers queue in the order of their partition, once each, and checks are skipped', () => {
  const queue = empty(10);
  queue.put(read(0, 0, [CHECK, ...some(2), CHECK]));
  queue.put(read(1, 0, some(1)));
  queue.put(read(0, 2, [transferTo(0, 1n), CHECK, ...some(1)]));
  expect(queue.first(9).map(({ partition, offset }) => [partition, offset])).toEqual([
    [0, 1n],
    [0, 2n],
    [0, 4n],
    [1, 0n],
  ]);
  expect(queue.first(1).map(({ partition, offset }) => [partition, offset])).toEqual([
    [0, 1n],
    [1, 0n],
  ]);
  expect(queue.decided).toEqual([1n, 0n]);
  expect(queue.positions).toEqual(
    new Map([
      [`${TOPIC}/0`, { next_offset: 5n, last_record: Buffer.from([4]) }],
      [`${TOPIC}/1`, { next_offset: 1n, last_record: Buffer.from([0]) }],
    ]),
  );
});

test('decided transfers leave only from the front of their partition', () => {
  const queue = empty(10);
  queue.put(read(0, 0, some(3)));
  queue.put(read(1, 0, some(1)));
  expect(queue.settle(({ partition, offset }) => partition === 1 || offset !== 1n)).toHaveLength(2);
  expect(queue.waiting).toBe(2);
  expect(queue.decided).toEqual([1n, 1n]);
});

test('a partition that is held up has a reason until its first transfer is decided, and changes once', () => {
  const queue = empty(10);
  queue.put(read(0, 0, some(2)));
  const [observed, behind] = queue.first(2);
  if (observed === undefined || behind === undefined) throw new Error('two wait');
  const undecided = [observed, behind].map((each) => ({ observed: each, why: 'whose?' }));
  expect(queue.holdUp(undecided)).toBe(true);
  expect(queue.held_up).toEqual([`${TOPIC}/0 is held up at offset 0: whose?`]);
  expect(queue.holdUp(undecided)).toBe(false);
  queue.settle(({ offset }) => offset === 0n);
  expect(queue.held_up).toEqual([]);
  expect(queue.holdUp([])).toBe(false);
});

test('a full partition, held up or not, stops reading until it has room', () => {
  const queue = empty(4);
  queue.put(read(0, 0, some(3)));
  expect(queue.has_room).toBe(true);
  queue.holdUp(queue.first(1).map((observed) => ({ observed, why: 'whose?' })));
  // a chunk is taken whole
  queue.put(read(0, 3, some(3)));
  expect([queue.has_room, queue.waiting]).toEqual([false, 6]);
  queue.settle(({ offset }) => offset < 3n);
  expect(queue.has_room).toBe(true);
});

test('reading begins at offset 0, and knows what earlier starts have decided', () => {
  const queue = new TransferQueue(TOPIC, [1, -1], 10);
  expect([...queue.positions.values()].map(({ next_offset: nextOffset }) => nextOffset)).toEqual([
    0n,
    0n,
  ]);
  queue.put(read(0, 0, some(3)));
  queue.put(read(1, 0, some(1)));
  expect(queue.first(9).map((transfer) => queue.wasDecided(transfer))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test('an offset without a record is passed over, an unknown partition is a bug', () => {
  const queue = empty(4);
  queue.put(read(0, 1, some(1)));
  expect(queue.first(1).map(({ offset }) => offset)).toEqual([1n]);
  expect(() => empty(4).put(read(2, 0, some(1)))).toThrow('has no partition 2');
});

test('skipped records at the end are behind what is decided, and reading goes on at the last transfer', () => {
  const queue = empty(4);
  queue.put(read(0, 0, [CHECK]));
  queue.put({ ...read(0, 1, []), next: 4n });
  expect(queue.decided).toEqual([4n, 0n]);
  expect(queue.positions.get(`${TOPIC}/0`)).toEqual({
    next_offset: 1n,
    last_record: Buffer.from([0]),
  });
});
