import { expect, test } from 'vitest';
import { selectOf } from '../../../../services/projector/engine/table-reader.ts';
import {
  BatchLookahead,
  type BatchesOptions,
} from '../../../../services/projector/engine/batches.ts';
import type { Chunk } from '../../../../services/runtime/kafka/chunk-queue.ts';
import type { Decoder } from '../../../../services/runtime/kafka/codec.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { insisting } from '../../../support/kafka.ts';

interface Step {
  readonly type: string;
}

const codec: Decoder = {
  learn: () => Promise.resolve(),
  decode: (value) => ({ type: String(value) }),
};

/** Everything up to the last `settle` is settled. */
const projection: BatchesOptions<Step>['projection'] = {
  name: 'steps',
  isEvent: (event): event is Step => event.type !== 'strange',
  loads: (batch) => [{ name: 'those', text: '', values: batch.map(({ offset }) => offset) }],
  settled: (batch) => batch.findLastIndex(({ event }) => event.type === 'settle') + 1,
};

function chunk(from: number, types: readonly string[], generation = 1): Chunk {
  const records = types.map((type, at) => ({
    offset: BigInt(from + at),
    timestamp: 0,
    key: null,
    value: Buffer.from(type),
    headers: {},
  }));
  const offsets = { from: BigInt(from), next: BigInt(from + types.length) };
  return { topic: 'log', partition: 0, generation, ...offsets, records, bytes: 0, fetched_at: 0 };
}

function open(
  chunks: readonly Chunk[],
  change: Partial<BatchesOptions<Step>> = {},
): { batches: BatchLookahead<Step>; asked: [number, number][] } {
  const left = [...chunks];
  const asked: [number, number][] = [];
  const batches = new BatchLookahead<Step>({
    projection,
    codec,
    take(...limits) {
      asked.push(limits);
      return Promise.resolve(left.shift());
    },
    retrying: insisting,
    load: { is_loading: true, goesBeyond: () => true },
    ...change,
  });
  return { batches, asked };
}

async function offsetsOfAll(batches: BatchLookahead<Step>): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let next = await batches.next(); next !== undefined; next = await batches.next()) {
    all.push([next.generation, ...next.events.map(({ offset }) => Number(offset))]);
    expect(next.loads.map(selectOf)[0]?.values).toEqual(next.events.map(({ offset }) => offset));
  }
  return all;
}

test('live, each chunk is a batch', async () => {
  const { batches, asked } = open([chunk(0, ['go', 'go']), chunk(2, ['go'])], {
    load: { is_loading: false, goesBeyond: () => true },
  });
  expect(await offsetsOfAll(batches)).toEqual([
    [1, 0, 1],
    [1, 2],
  ]);
  expect(asked[0]).toEqual([5_000, 8 * 1024 * 1024]);
});

test('while loading a batch has any number of records and ends where all are settled', async () => {
  const { batches, asked } = open(
    [chunk(0, ['go', 'settle', 'go']), chunk(3, ['go']), chunk(4, ['settle', 'go'])],
    {
      load_bytes_max: 1_000,
    },
  );
  expect(await offsetsOfAll(batches)).toEqual([
    [1, 0, 1],
    [1, 2, 3, 4],
  ]);
  expect(asked[0]).toEqual([Number.POSITIVE_INFINITY, 1_000]);
});

test('at the end of the load nothing is held', async () => {
  const chunks = [chunk(0, ['settle', 'go']), chunk(2, ['go', 'go']), chunk(4, ['go'])];
  const { batches } = open(chunks, {
    load: { is_loading: true, goesBeyond: (_topic, _partition, offset) => offset < 3n },
  });
  expect(await offsetsOfAll(batches)).toEqual([
    [1, 0],
    [1, 1, 2, 3],
    [1, 4],
  ]);
});

test('after a rewind held records are dropped and read again', async () => {
  const { batches } = open([chunk(0, ['settle', 'go']), chunk(1, ['go', 'settle'], 2)]);
  expect(await offsetsOfAll(batches)).toEqual([
    [1, 0],
    [2, 1, 2],
  ]);
});

test('a poison record ends the batch, with all records held before it', async () => {
  const { batches } = open([chunk(0, ['settle', 'go']), chunk(2, ['go', 'strange', 'go'])]);
  await batches.next();
  const last = await batches.next();
  expect(last?.events.map(({ offset }) => offset)).toEqual([1n, 2n]);
  expect(last?.poison).toMatchObject({
    offset: 3n,
    reason: 'strange is no event that steps folds',
  });
});

test('decoding is retried while the registry is away, and the chunk stays queued', async () => {
  let tries = 0;
  const learn = (): Promise<void> =>
    ++tries < 3
      ? Promise.reject(new Fault('schema_registry', 'away', { retry: true }))
      : Promise.resolve();
  const { batches } = open([chunk(0, ['settle'])], { codec: { ...codec, learn } });
  expect(await offsetsOfAll(batches)).toEqual([[1, 0]]);
  expect(tries).toBe(3);
});
