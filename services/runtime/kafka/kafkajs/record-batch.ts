/**
 * Decodes record batches of version 2, the only one since Kafka 0.11.
 * Source: https://kafka.apache.org/documentation/#recordbatch
 */
import { promisify } from 'node:util';
import { gunzip, zstdDecompress } from 'node:zlib';
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

const DECOMPRESS: Readonly<Record<number, (bytes: Buffer) => Promise<Buffer>>> = {
  0: (bytes) => Promise.resolve(bytes),
  1: promisify(gunzip),
  4: promisify<Buffer, Buffer>(zstdDecompress),
};

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
    cursor.skip(4); // checksum: brokers compare it at each append
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
    const decompress = DECOMPRESS[attributes & COMPRESSION];
    if (decompress === undefined)
      throw unreadable(base, 'it is compressed by snappy or lz4, which nothing here writes');
    try {
      if (isControl && controlType(body) === ABORTED) aborting.delete(producer);
      batches.push({
        base_offset: base,
        last_offset: last,
        leader_epoch: epoch,
        is_void: isVoid,
        records: isVoid ? [] : recordsIn(await decompress(body), count, base, times),
      });
    } catch (cause) {
      throw unreadable(base, `its bytes are damaged: ${messageOf(cause)}`);
    }
  }
  return batches;
}

function unreadable(offset: bigint, why: string): Fault {
  return new Fault('log_format', `the batch at offset ${offset} cannot be read: ${why}`, {
    retry: false,
  });
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
