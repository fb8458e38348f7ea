import { expect, test } from 'vitest';
import { ChunkQueue, type Chunk } from '../../../../services/runtime/kafka/chunk-queue.ts';
import { bytesOf, type LogRecord } from '../../../../services/runtime/kafka/record.ts';

function record(offset: number): LogRecord {
  return { offset: BigInt(offset), timestamp: 0, key: null, value: null, headers: {} };
}

function chunk(from: number, count: number, change: Partial<Chunk> = {}): Chunk {
  const records = Array.from({ length: count }, (_, at) => record(from + at));
  const covered = { from: BigInt(from), next: BigInt(from + count), fetched_at: 0 };
  const place = { topic: 't', partition: 0, generation: 1, ...covered };
  return { ...place, records, bytes: count * RECORD, ...change };
}

/** Bytes that a record counts for without key, value and headers. */
const RECORD = bytesOf(record(0));

function offsets(taken: Chunk | undefined): number[] {
  return (taken?.records ?? []).map(({ offset }) => Number(offset));
}

test('chunks of one partition are taken together, up to the limits', async () => {
  const queue = new ChunkQueue(100 * RECORD);
  for (const from of [0, 2, 4, 6]) queue.put(chunk(from, 2));
  expect(offsets(await queue.take(5, 100 * RECORD))).toEqual([0, 1, 2, 3, 4]);
  expect(offsets(await queue.take(100, 2 * RECORD))).toEqual([5, 6]);
  expect(offsets(await queue.take(100, 100 * RECORD))).toEqual([7]);
});

test('a chunk over the limit of bytes is split, down to one record, and only records taken make room', async () => {
  const queue = new ChunkQueue(4 * RECORD);
  queue.put(chunk(0, 5));
  queue.put(chunk(5, 1));
  expect(offsets(await queue.take(100, 1))).toEqual([0]);
  expect(queue.isFull()).toBe(true);
  expect(offsets(await queue.take(100, 3 * RECORD - 1))).toEqual([1, 2]);
  expect(queue.isFull()).toBe(false);
  expect(offsets(await queue.take(100, 3 * RECORD))).toEqual([3, 4, 5]);
});

test('a chunk over the limit of records is split without losing one', async () => {
  const queue = new ChunkQueue(100 * RECORD);
  queue.put(chunk(0, 5));
  queue.put(chunk(5, 1));
  expect(offsets(await queue.take(2, 100 * RECORD))).toEqual([0, 1]);
  expect(offsets(await queue.take(2, 100 * RECORD))).toEqual([2, 3]);
  expect(offsets(await queue.take(2, 100 * RECORD))).toEqual([4, 5]);
});

test('chunks of different topics, partitions or generations are taken one by one', async () => {
  const queue = new ChunkQueue(100 * RECORD);
  const different = [{}, { partition: 1 }, { topic: 'u' }, { generation: 2 }];
  for (const [at, change] of different.entries()) queue.put(chunk(at, 1, change));
  for (const [at, change] of different.entries())
    expect(await queue.take(100, 100 * RECORD)).toMatchObject({ ...chunk(at, 1, change) });
});

test('the queue is full at its limit of bytes, and room() resolves when records are taken', async () => {
  const queue = new ChunkQueue(4 * RECORD);
  queue.put(chunk(0, 3));
  expect(queue.isFull()).toBe(false);
  queue.put(chunk(3, 1));
  expect(queue.isFull()).toBe(true);
  const room = queue.room();
  await queue.take(1, 1);
  await room;
  expect(queue.isFull()).toBe(false);
});

test('clear() empties the queue and makes room', async () => {
  const queue = new ChunkQueue(10);
  queue.put(chunk(0, 1));
  const room = queue.room();
  queue.clear();
  await room;
  queue.put(chunk(5, 1));
  expect(offsets(await queue.take(10, 10))).toEqual([5]);
});

test('a waiting taker gets the next chunk', async () => {
  const queue = new ChunkQueue(10);
  const taken = queue.take(10, 10);
  queue.put(chunk(7, 1));
  expect(offsets(await taken)).toEqual([7]);
});

test('the first end counts: a closed queue gives undefined, a failed one its error, and neither is full', async () => {
  const closed = new ChunkQueue(10);
  const waiting = closed.take(1, 1);
  closed.fail(undefined);
  closed.fail(new Error('too late'));
  closed.put(chunk(0, 5));
  expect(await waiting).toBeUndefined();
  expect(await closed.take(1, 1)).toBeUndefined();
  expect(closed.isFull()).toBe(false);

  const failed = new ChunkQueue(10);
  failed.put(chunk(0, 5));
  failed.fail(new Error('lost'));
  failed.fail(undefined);
  await expect(failed.take(1, 1)).rejects.toThrow('lost');
  expect(failed.isFull()).toBe(false);
});

test('a finished queue gives its chunks and then undefined, until it is cleared', async () => {
  const queue = new ChunkQueue(10);
  queue.put(chunk(0, 2));
  queue.finish();
  expect(offsets(await queue.take(1, 10))).toEqual([0]);
  expect(offsets(await queue.take(9, 10))).toEqual([1]);
  expect(await queue.take(9, 10)).toBeUndefined();
  queue.clear();
  const waiting = queue.take(9, 10);
  queue.put(chunk(5, 1));
  expect(offsets(await waiting)).toEqual([5]);
  const last = queue.take(9, 10);
  queue.finish();
  expect(await last).toBeUndefined();
});
