import { createRequire } from 'node:module';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import {
  array,
  assert,
  asyncProperty,
  bigInt,
  constantFrom,
  integer,
  option,
  record as recordOf,
  string,
  uint8Array,
} from 'fast-check';
import { expect, test } from 'vitest';
import { readBatches } from '../../../../../services/runtime/kafka/kafkajs/record-batch.ts';

interface Encoder {
  readonly buffer: Buffer;
}
interface KafkajsBatch {
  readonly records: readonly {
    readonly offset: string;
    readonly timestamp: string;
    readonly key: Buffer | null;
    readonly value: Buffer | null;
    readonly headers: Record<string, Buffer>;
  }[];
}

const require = createRequire(import.meta.url);
const {
  RecordBatch,
}: {
  RecordBatch: (batch: object) => Promise<Encoder>;
} = require('kafkajs/src/protocol/recordBatch/v0');
const encodeRecord: (
  record: object,
) => object = require('kafkajs/src/protocol/recordBatch/record/v0');
const Decoder: new (bytes: Buffer) => object = require('kafkajs/src/protocol/decoder');
const decodeBatch: (
  decoder: object,
) => Promise<KafkajsBatch> = require('kafkajs/src/protocol/recordBatch/v0/decoder');

const crc32C: (bytes: Buffer) => number = require('kafkajs/src/protocol/recordBatch/crc32C');

const NONE = 0;
const GZIP = 1;
const FIRST_TIME = 1_700_000_000_000;

const bytes = uint8Array({ maxLength: 300 }).map((each) => Buffer.from(each));
const record = recordOf({
  timestampDelta: integer({ min: -1_000, max: 5_000_000_000 }),
  key: option(bytes),
  value: option(bytes),
  headers: array(recordOf({ name: string({ minLength: 1, maxLength: 5 }), value: bytes }), {
    maxLength: 4,
  }),
});

/** As kafkajs writes it. */
async function encoded(
  records: readonly object[],
  batch: { readonly base?: bigint; readonly [attribute: string]: unknown } = {},
): Promise<Buffer> {
  const { base = 0n, ...attributes } = batch;
  const { buffer } = await RecordBatch({
    compression: NONE,
    firstTimestamp: FIRST_TIME,
    maxTimestamp: FIRST_TIME,
    lastOffsetDelta: records.length - 1,
    records: records.map((each, offsetDelta) => encodeRecord({ ...each, offsetDelta })),
    ...attributes,
  });
  const copy = Buffer.from(buffer);
  copy.writeBigInt64BE(base);
  return copy;
}

test('records are read as kafkajs reads them, compressed or not', async () => {
  const batches = asyncProperty(
    array(record, { minLength: 1, maxLength: 5 }),
    bigInt({ min: 0n, max: 2n ** 60n }),
    constantFrom(NONE, GZIP),
    async (records, base, compression) => {
      const named = records.map(({ headers, ...each }) => ({
        ...each,
        headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
      }));
      const written = await encoded(named, { base, compression });
      const [batch, ...others] = await readBatches(written, []);
      const expected = await decodeBatch(new Decoder(written));
      expect(others).toEqual([]);
      expect(batch).toMatchObject({ base_offset: base, is_void: false });
      expect(batch?.last_offset).toBe(base + BigInt(records.length - 1));
      expect(batch?.records).toEqual(
        expected.records.map(({ offset, timestamp, key, value, headers }) => ({
          offset: BigInt(offset),
          timestamp: Number(timestamp),
          key,
          value,
          headers,
        })),
      );
    },
  );
  await assert(batches, { numRuns: 100 });
});

const ONE = { timestampDelta: 0, key: null, value: Buffer.from('1'), headers: {} };

test('a batch that is cut at the end of an answer is left out', async () => {
  const whole = Buffer.concat([await encoded([ONE]), await encoded([ONE], { base: 1n })]);
  for (let left = 1; left < 60; left += 13)
    expect(await readBatches(whole.subarray(0, whole.length - left), [])).toHaveLength(1);
  expect(await readBatches(whole, [])).toHaveLength(2);
});

/** Version 0 of a control record: 0 aborts, 1 commits. */
function control(type: number): object {
  return { ...ONE, key: Buffer.from([0, 0, 0, type]), value: Buffer.alloc(6) };
}

function withControlFlag(batch: Buffer): Buffer {
  const copy = Buffer.from(batch);
  copy.writeInt16BE(copy.readInt16BE(21) | 0x30, 21);
  return copy;
}

test('an answer may begin with the mark of an aborted transaction that it does not list', async () => {
  const abort = await encoded([control(0)], { base: 3n, producerId: 7, transactional: true });
  const next = await encoded([ONE], { base: 4n, producerId: 7, transactional: true });
  const batches = await readBatches(Buffer.concat([withControlFlag(abort), next]), []);
  expect(batches.map(({ base_offset: base, records }) => [base, records.length])).toEqual([
    [3n, 0],
    [4n, 1],
  ]);
});

test('marks of transactions and aborted batches have no records, committed ones have theirs', async () => {
  const transactional = (base: bigint, producerId: number) =>
    encoded([ONE], { base, producerId, transactional: true });
  const mark = async (base: bigint, producerId: number, type: number) =>
    withControlFlag(await encoded([control(type)], { base, producerId, transactional: true }));
  const log = Buffer.concat([
    await transactional(0n, 7),
    await transactional(1n, 8),
    await encoded([ONE], { base: 2n }),
    await mark(3n, 7, 0),
    await mark(4n, 8, 1),
    await transactional(5n, 7),
    await mark(6n, 7, 1),
  ]);
  const batches = await readBatches(log, [{ producer_id: 7n, first_offset: 0n }]);
  expect(batches.map(({ is_void: isVoid, records }) => [isVoid, records.length])).toEqual([
    [true, 0],
    [false, 1],
    [false, 1],
    [true, 0],
    [true, 0],
    [false, 1],
    [true, 0],
  ]);
});

/** With the checksum that a broker asks for. */
function sealed(batch: Buffer): Buffer {
  batch.writeUInt32BE(crc32C(batch.subarray(21)), 17);
  return batch;
}

test.each([
  ['snappy', 2],
  ['lz4', 3],
])('a batch that is compressed by %s has records that are no events', async (_, codec) => {
  const batch = await encoded([ONE, ONE, ONE], { base: 7n });
  batch.writeInt16BE(codec, 21);
  const [read] = await readBatches(sealed(batch), []);
  expect(read).toMatchObject({ base_offset: 7n, last_offset: 9n, is_void: false });
  expect(read?.records.map(({ offset }) => offset)).toEqual([7n, 8n, 9n]);
  expect(String(read?.records[0]?.value)).toContain('cannot be read');
  // a person's decision is for these bytes
  batch.writeInt8(1, batch.length - 1);
  const [other] = await readBatches(sealed(batch), []);
  expect(other?.records[0]?.value).not.toEqual(read?.records[0]?.value);
});

test('a batch that would fill the memory, or is of another codec than it says, has records that are no events', async () => {
  const batch = await encoded([ONE]);
  const bomb = zstdCompressSync(Buffer.alloc(300 * 1024 * 1024));
  for (const [codec, body] of [
    [4, bomb],
    [1, bomb],
    [4, gzipSync(Buffer.alloc(10))],
  ] as const) {
    const changed = Buffer.concat([batch.subarray(0, 61), body]);
    changed.writeInt32BE(changed.length - 12, 8);
    changed.writeInt16BE(codec, 21);
    const [read] = await readBatches(sealed(changed), []);
    expect(read?.records.map(({ value }) => String(value))).toEqual([
      expect.stringContaining('cannot be read'),
    ]);
  }
});

test.each([-12, 0, 48])(
  'a batch of length %i, less than its header, is a fault',
  async (length) => {
    const batch = await encoded([ONE]);
    batch.writeInt32BE(length, 8);
    await expect(readBatches(batch, [])).rejects.toMatchObject({
      code: 'log_format',
      retry: false,
    });
  },
);

test.each([
  ['more records than it has', (batch: Buffer) => batch.writeInt32BE(2, 57)],
  ['a codec that its bytes are not of', (batch: Buffer) => batch.writeInt16BE(1, 21)],
  ['a record without end', (batch: Buffer) => batch.fill(0xff, 61)],
  [
    'a mark of a transaction without its type',
    (batch: Buffer) => batch.fill(0xff, 61).writeInt16BE(0x30, 21),
  ],
])('a damaged batch is a fault that names its offset: %s', async (_what, damage) => {
  const batch = await encoded([ONE], { base: 7n });
  damage(batch);
  await expect(readBatches(batch, [])).rejects.toMatchObject({
    code: 'log_format',
    message: expect.stringMatching(/the batch at offset 7 cannot be read/) as unknown,
  });
});

test('a header may have the name of a property that objects inherit', async () => {
  const names = ['__proto__', 'constructor', 'toString'];
  const headers = Object.fromEntries(names.map((name) => [name, Buffer.from(name)]));
  const [batch] = await readBatches(await encoded([{ ...ONE, headers }]), []);
  expect(Object.entries(batch?.records[0]?.headers ?? {})).toEqual(Object.entries(headers));
});
