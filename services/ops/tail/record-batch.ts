/** Records out of Kafka's own bytes (record batches, version 2), with no more objects made than are looked at: a log of millions is shown as fast as it is read. */
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { Fault } from '../../runtime/process/errors.ts';
import type { LogRecord } from '../../runtime/kafka/record.ts';
import { headersJson, quoted, textIn } from './json-text.ts';

/** Of a batch, up to its records: where its fields stand. */
const LENGTH_AT = 8;
const LENGTH_END = 12;
const MAGIC_AT = 16;
const ATTRIBUTES_AT = 21;
const LAST_DELTA_AT = 23;
const FIRST_TIME_AT = 27;
const LAST_TIME_AT = 35;
const COUNT_AT = 57;
const RECORDS_AT = 61;

const COMPRESSION = 0b111;
const LOG_APPEND_TIME = 0b1000;
const CONTROL = 0b100000;

const DECOMPRESS: Readonly<Record<number, (bytes: Buffer) => Buffer>> = {
  0: (bytes) => bytes,
  1: (bytes) => gunzipSync(bytes),
  4: (bytes) => zstdDecompressSync(bytes),
};

export interface RecordBatch {
  readonly base_offset: bigint;
  /** of the first that comes after it, whether the offsets between have records or not */
  readonly next_offset: bigint;
  readonly bytes: Buffer;
}

/** The whole batches of a fetch: the last one may have been cut off. */
export function batchesIn(bytes: Buffer): readonly RecordBatch[] {
  const batches: RecordBatch[] = [];
  for (let at = 0; bytes.length - at >= RECORDS_AT;) {
    const end = at + LENGTH_END + bytes.readInt32BE(at + LENGTH_AT);
    if (end > bytes.length) break;
    const base = bytes.readBigInt64BE(at);
    batches.push({
      base_offset: base,
      next_offset: base + BigInt(bytes.readInt32BE(at + LAST_DELTA_AT)) + 1n,
      bytes: bytes.subarray(at, end),
    });
    at = end;
  }
  return batches;
}

/** In order. What a transaction wrote for itself is left out. Throws a fault without retry for bytes that this software cannot take apart. */
export function* recordsIn({
  base_offset: base,
  bytes,
}: RecordBatch): Generator<BatchRecord, void> {
  const magic = bytes.readInt8(MAGIC_AT);
  if (magic !== 2) throw strange(`the batch at offset ${base} is of version ${magic}`);
  const attributes = bytes.readInt16BE(ATTRIBUTES_AT);
  if ((attributes & CONTROL) !== 0) return;
  const decompress = DECOMPRESS[attributes & COMPRESSION];
  if (decompress === undefined)
    throw strange(
      `the batch at offset ${base} is compressed by a method that is not known here (${attributes & COMPRESSION})`,
    );
  const count = bytes.readInt32BE(COUNT_AT);
  const firstTime = Number(bytes.readBigInt64BE(FIRST_TIME_AT));
  const appended =
    (attributes & LOG_APPEND_TIME) === 0 ? undefined : Number(bytes.readBigInt64BE(LAST_TIME_AT));
  const at = new Place(decompress(bytes.subarray(RECORDS_AT)));
  for (let read = 0; read < count; read++) {
    const length = at.varint();
    const end = at.at + length;
    at.at++;
    const time = appended ?? firstTime + at.varint();
    if (appended !== undefined) at.varint();
    const offset = base + BigInt(at.varint());
    const key = at.bytes();
    const value = at.bytes();
    yield new BatchRecord(offset, time, key, value, at.source, at.at);
    at.at = end;
  }
}

function strange(what: string): Fault {
  return new Fault('record_batch', `${what}: read it with a console consumer`, { retry: false });
}

/** Where reading stands in the records of a batch. */
class Place {
  readonly source: Buffer;
  at: number;

  constructor(source: Buffer, at = 0) {
    this.source = source;
    this.at = at;
  }

  /** Zigzag, seven bits a byte. */
  varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.source[this.at++];
      if (byte === undefined) throw strange('a record ends too early');
      value += (byte & 127) * factor;
      if (byte < 128) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
  }

  /** Length first; below zero there are none. */
  bytes(): Buffer | null {
    const length = this.varint();
    if (length < 0) return null;
    const from = this.at;
    this.at += length;
    return this.source.subarray(from, this.at);
  }

  /** The same as text; none are none. */
  text(): string {
    const length = Math.max(0, this.varint());
    const from = this.at;
    this.at += length;
    return textIn(this.source, from, this.at);
  }
}

/** As the projectors know it; headers are taken apart when they are asked for. */
export class BatchRecord implements LogRecord {
  readonly offset: bigint;
  readonly timestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly #source: Buffer;
  readonly #headersAt: number;

  constructor(
    offset: bigint,
    timestamp: number,
    key: Buffer | null,
    value: Buffer | null,
    source: Buffer,
    headersAt: number,
  ) {
    this.offset = offset;
    this.timestamp = timestamp;
    this.key = key;
    this.value = value;
    this.#source = source;
    this.#headersAt = headersAt;
  }

  get headers(): LogRecord['headers'] {
    const headers: Record<string, Buffer | Buffer[] | undefined> = {};
    for (const [name, value] of this.#headers()) {
      const before = headers[name];
      headers[name] =
        before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
    }
    return headers;
  }

  /** The headers as one JSON object, without making any. */
  get headers_json(): string {
    const at = new Place(this.#source, this.#headersAt);
    const names: string[] = [];
    let text = '{';
    for (let left = at.varint(); left > 0; left--) {
      const name = at.text();
      // a name that comes again makes a list of it
      if (names.includes(name)) return headersJson(this.headers);
      text += `${names.length === 0 ? '' : ','}${quoted(name)}:${quoted(at.text())}`;
      names.push(name);
    }
    return `${text}}`;
  }

  *#headers(): Generator<readonly [string, Buffer], void> {
    const at = new Place(this.#source, this.#headersAt);
    for (let left = at.varint(); left > 0; left--) {
      yield [at.text(), at.bytes() ?? EMPTY];
    }
  }
}

const EMPTY = Buffer.alloc(0);
