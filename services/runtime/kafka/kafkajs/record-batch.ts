/**
 * Decodes record batches of version 2, the only one since Kafka 0.11. Brokers take batches that
 * nothing here can read: of another codec, or with too many bytes. Each record of such a batch
 * gets a text as its value, which is no event, so a person can have it skipped like any other.
 * Source: https://kafka.apache.org/documentation/#recordbatch
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, zstdDecompress, type ZlibOptions, type ZstdOptions } from 'node:zlib';
import { Fault, messageOf } from '../../process/errors.ts';
import type { LogBatch } from '../port.ts';
import type { Header, LogRecord } from '../record.ts';
import { Cursor } from './wire.ts';

/** From base offset to the number of records. */
const HEADER_BYTES = 61;
/** Up to the end of its length, which counts the bytes after it. */
const BEFORE_LENGTH_BYTES = 12;
const MAGIC = 2;
const COMPRESSION = 0x07;
const LOG_APPEND_TIME = 0x08;
const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;
const ABORTED = 0;

/** Eight times the largest batch of any topic: what is longer was written to fill the memory. */
const LIMIT = { maxOutputLength: 256 * 1024 * 1024 };
const gunzipped = promisify<Buffer, ZlibOptions, Buffer>(gunzip);
const unzstd = promisify<Buffer, ZstdOptions, Buffer>(zstdDecompress);

const DECOMPRESS: Readonly<Record<number, (bytes: Buffer) => Promise<Buffer>>> = {
  0: (bytes) => Promise.resolve(bytes),
  1: (bytes) => gunzipped(bytes, LIMIT),
  4: (bytes) => unzstd(bytes, LIMIT),
};

/** Remainders by the polynomial of Castagnoli, by byte. */
const CHECKSUMS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let checksum = byte;
  for (let bit = 0; bit < 8; bit++)
    checksum = (checksum >>> 1) ^ ((checksum & 1) === 0 ? 0 : 0x82f63b78);
  return checksum;
});

export interface AbortedTransaction {
  readonly producer_id: bigint;
  readonly first_offset: bigint;
}

/** All whole batches: the last one may be cut. */
export async function readBatches(
  bytes: Buffer,
  aborted: readonly AbortedTransaction[],
): Promise<readonly LogBatch[]> {
  const cursor = new Cursor(bytes);
  const batches: LogBatch[] = [];
  /** producers whose transaction is aborted further on */
  const aborting = new Set<bigint>();
  const open = aborted.toSorted((one, other) => (one.first_offset < other.first_offset ? -1 : 1));
  while (cursor.left >= HEADER_BYTES) {
    const base = cursor.int64();
    const length = cursor.int32();
    if (length < HEADER_BYTES - BEFORE_LENGTH_BYTES)
      throw unreadable(base, `its length of ${length} bytes is less than that of its header`);
    if (cursor.left < length) break;
    const end = cursor.at + length;
    const epoch = cursor.int32();
    const magic = cursor.int8();
    if (magic !== MAGIC)
      throw unreadable(base, `version ${magic} of its format is older than Kafka 0.11`);
    const checksum = cursor.int32();
    const checked = bytes.subarray(cursor.at, end);
    const attributes = cursor.int16();
    const last = base + BigInt(cursor.int32());
    const times = { first: Number(cursor.int64()), last: Number(cursor.int64()), attributes };
    const producer = cursor.int64();
    cursor.skip(6); // epoch and sequence of the producer
    const count = cursor.int32();
    const body = cursor.bytes(end - cursor.at);
    for (; (open[0]?.first_offset ?? last + 1n) <= last; open.shift())
      if (open[0] !== undefined) aborting.add(open[0].producer_id);
    const isControl = (attributes & CONTROL) !== 0;
    const isVoid = isControl || ((attributes & TRANSACTIONAL) !== 0 && aborting.has(producer));
    let records: readonly LogRecord[] = [];
    try {
      if (isControl && controlType(body) === ABORTED) aborting.delete(producer);
      if (!isVoid) records = recordsIn(await decompressed(body, attributes), count, base, times);
    } catch (cause) {
      // brokers compare it at each append: where it holds, these bytes are what was written
      if (checksumOf(checked) !== checksum)
        throw unreadable(base, `its bytes are damaged: ${messageOf(cause)}`);
      records = unread(base, last, times.last, body);
    }
    batches.push({
      base_offset: base,
      last_offset: last,
      leader_epoch: epoch,
      is_void: isVoid,
      records,
    });
  }
  return batches;
}

function unreadable(offset: bigint, why: string): Fault {
  return new Fault('log_format', `the batch at offset ${offset} cannot be read: ${why}`, {
    retry: false,
  });
}

function decompressed(body: Buffer, attributes: number): Promise<Buffer> {
  const decompress = DECOMPRESS[attributes & COMPRESSION];
  if (decompress === undefined)
    throw new Error('it is compressed by snappy or lz4, which nothing here writes');
  return decompress(body);
}

/** CRC-32C, as an integer with a sign. Computed for what cannot be read only: it takes its time. */
function checksumOf(bytes: Buffer): number {
  let checksum = -1;
  for (const byte of bytes) checksum = (CHECKSUMS[(checksum ^ byte) & 255] ?? 0) ^ (checksum >>> 8);
  return ~checksum;
}

/**
 * The records of a batch that cannot be read. Their value depends on its bytes, and not on the
 * words of a library: a decision to skip one is for every reader.
 */
function unread(base: bigint, last: bigint, timestamp: number, body: Buffer): readonly LogRecord[] {
  const hash = createHash('sha256').update(body).digest('hex');
  const value = Buffer.from(
    `The batch of this record, with SHA-256 ${hash}, cannot be read: it is compressed by snappy or lz4, or not as it says, or has more than ${LIMIT.maxOutputLength} bytes. Nothing of this software writes such a batch.`,
  );
  return Array.from({ length: Number(last - base) + 1 }, (_, at) => ({
    offset: base + BigInt(at),
    timestamp,
    key: null,
    value,
    headers: {},
  }));
}

/** The key of a control record is its version and type. */
function controlType(body: Buffer): number {
  const cursor = new Cursor(body);
  cursor.varint(); // length
  cursor.skip(1);
  cursor.varint();
  cursor.varint();
  return cursor.varintBytes()?.readInt16BE(2) ?? ABORTED;
}

function recordsIn(
  body: Buffer,
  count: number,
  base: bigint,
  times: { readonly first: number; readonly last: number; readonly attributes: number },
): LogRecord[] {
  const cursor = new Cursor(body);
  const appendTime = (times.attributes & LOG_APPEND_TIME) === 0 ? undefined : times.last;
  const records: LogRecord[] = [];
  for (let at = 0; at < count; at++) {
    cursor.varint(); // length
    cursor.skip(1); // attributes
    const timestamp = appendTime ?? times.first + cursor.varint();
    if (appendTime !== undefined) cursor.varint();
    const offset = base + BigInt(cursor.varint());
    const key = cursor.varintBytes();
    const value = cursor.varintBytes();
    // without a prototype: a header may be named __proto__ or toString
    const headers: Record<string, Header | Header[] | undefined> = Object.create(null);
    for (let left = cursor.varint(); left > 0; left--) {
      const name = String(cursor.varintBytes() ?? '');
      const header = cursor.varintBytes() ?? undefined;
      const before = headers[name];
      headers[name] = before === undefined ? header : [before, header ?? ''].flat();
    }
    records.push({ offset, timestamp, key, value, headers });
  }
  return records;
}
