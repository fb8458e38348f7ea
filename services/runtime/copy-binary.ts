/** Rows as Postgres' COPY BINARY wants them; about twice as fast as text on both sides. Source: PostgreSQL documentation, "COPY", binary format. */
import type { ColumnType, Row, Table, Value } from '../../projections/projection.ts';

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
const NULL_LENGTH = -1;
const TRAILER = -1;
/** Postgres counts timestamps from 2000-01-01, in microseconds. */
const EPOCH_2000_MS = 946_684_800_000;
const TWO_32 = 2 ** 32;
const NUMERIC_BASE = 10_000;
const NUMERIC_NEGATIVE = 0x4000;

/** A buffer that grows. */
class Output {
  bytes = Buffer.allocUnsafe(1 << 16);
  length = 0;

  reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + count));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }

  int16(value: number): void {
    this.reserve(2);
    this.length = this.bytes.writeInt16BE(value, this.length);
  }

  int32(value: number): void {
    this.reserve(4);
    this.length = this.bytes.writeInt32BE(value, this.length);
  }

  int64(value: bigint | number): void {
    this.reserve(8);
    if (typeof value === 'bigint') {
      this.length = this.bytes.writeBigInt64BE(value, this.length);
      return;
    }
    const high = Math.floor(value / TWO_32);
    this.length = this.bytes.writeInt32BE(high, this.length);
    this.length = this.bytes.writeUInt32BE(value - high * TWO_32, this.length);
  }

  raw(value: Buffer): void {
    this.reserve(value.length);
    value.copy(this.bytes, this.length);
    this.length += value.length;
  }

  text(value: string): void {
    const length = Buffer.byteLength(value);
    this.int32(length);
    this.reserve(length);
    this.bytes.write(value, this.length);
    this.length += length;
  }
}

/** Writes one value that is not null, its length first. */
type Encode = (output: Output, value: Exclude<Value, null>) => void;

const ENCODERS: Readonly<Record<ColumnType, Encode>> = {
  bool(output, value) {
    if (typeof value !== 'boolean') throw mismatch('bool', value);
    output.int32(1);
    output.reserve(1);
    output.length = output.bytes.writeUInt8(value ? 1 : 0, output.length);
  },
  bytea(output, value) {
    if (!Buffer.isBuffer(value)) throw mismatch('bytea', value);
    output.int32(value.length);
    output.raw(value);
  },
  int4(output, value) {
    if (!isWhole(value)) throw mismatch('int4', value);
    output.int32(4);
    output.int32(Number(value));
  },
  int8(output, value) {
    if (!isWhole(value)) throw mismatch('int8', value);
    output.int32(8);
    output.int64(value);
  },
  numeric(output, value) {
    if (typeof value !== 'bigint') throw mismatch('numeric', value);
    numeric(output, value);
  },
  text(output, value) {
    if (typeof value !== 'string') throw mismatch('text', value);
    output.text(value);
  },
  timestamptz(output, value) {
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw mismatch('timestamptz', value);
    output.int32(8);
    const sinceEpoch = value - EPOCH_2000_MS;
    // in microseconds a number is exact for 285 years on either side
    output.int64(Number.isSafeInteger(sinceEpoch * 1000) ? sinceEpoch * 1000 : BigInt(sinceEpoch) * 1000n);
  },
};

function isWhole(value: unknown): value is bigint | number {
  return typeof value === 'bigint' || Number.isSafeInteger(value);
}

function mismatch(type: ColumnType, value: Value): Error {
  return new TypeError(`a ${value === null ? 'null' : typeof value} is no value of a ${type} column`);
}

/** Digits in base 10,000, the most significant first: count, weight of the first, sign, scale, digits. */
function numeric(output: Output, value: bigint): void {
  const negative = value < 0n;
  const digits = digitsOf(negative ? -value : value);
  output.int32(8 + digits.length * 2);
  output.int16(digits.length);
  output.int16(Math.max(0, digits.length - 1));
  output.int16(negative ? NUMERIC_NEGATIVE : 0);
  output.int16(0);
  for (let at = digits.length - 1; at >= 0; at--) output.int16(digits[at] ?? 0);
}

/** Base 10,000, the least significant first; none for zero. */
function digitsOf(magnitude: bigint): number[] {
  const digits: number[] = [];
  let rest = magnitude;
  while (rest > BigInt(Number.MAX_SAFE_INTEGER)) {
    digits.push(Number(rest % BigInt(NUMERIC_BASE)));
    rest /= BigInt(NUMERIC_BASE);
  }
  for (let small = Number(rest); small > 0; small = Math.floor(small / NUMERIC_BASE)) digits.push(small % NUMERIC_BASE);
  return digits;
}

/** The whole stream of one COPY: header, rows, trailer. */
export function encodeCopy(table: Table, rows: readonly Row[]): Buffer {
  const encoders = Object.values(table.columns).map((type) => ENCODERS[type]);
  const output = new Output();
  output.raw(SIGNATURE);
  output.int32(0);
  output.int32(0);
  for (const row of rows) {
    output.int16(encoders.length);
    for (let at = 0; at < encoders.length; at++) {
      const value = row[at];
      const encode = encoders[at];
      if (value === null || value === undefined || encode === undefined) output.int32(NULL_LENGTH);
      else encode(output, value);
    }
  }
  output.int16(TRAILER);
  return output.bytes.subarray(0, output.length);
}
