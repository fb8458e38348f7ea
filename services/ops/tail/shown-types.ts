/**
 * Avro values as they are shown: amounts as decimal text, bytes as 0x and hex, addresses of TRON
 * as base58check, times as ISO 8601 in UTC. Long integers keep every digit.
 */
import avro from 'avsc';
import { LRUCache } from 'lru-cache';
import { decodeDecimal } from '../../../schemas/money.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { AVRO_OPTIONS } from '../../runtime/kafka/avro-types.ts';

/** Where `avsc` stands in the bytes it reads. It notices at the end that it read beyond them. */
interface Tap {
  readonly buf: Buffer;
  pos: number;
  readLong(): number;
  /** eight bytes, little-endian */
  unpackLongBytes(): Buffer;
}

interface Readable {
  _read(tap: Tap): unknown;
}

declare global {
  interface JSON {
    /** A number whose digits stay as they are. */
    rawJSON(digits: string): unknown;
  }
}

type Attributes = Readonly<Record<string, unknown>>;

const TRON_ADDRESS = 'TronAddress';
const ADDRESS_BYTES = 20;
/** Of the addresses and seconds shown last: those of one log repeat. */
const CACHED_MAX = 32_768;

class ShownLong extends avro.types.LongType {
  _read(tap: Tap): unknown {
    const value = readLong(tap);
    return typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value;
  }
}

class ShownTime extends avro.types.LongType {
  readonly #perMillisecond: number;

  constructor(perMillisecond: number) {
    super();
    this.#perMillisecond = perMillisecond;
  }

  _read(tap: Tap): string | number {
    return shownTime(Number(readLong(tap)) / this.#perMillisecond);
  }
}

class ShownBytes extends avro.types.BytesType {
  _read(tap: Tap): string {
    return hex(bytesAt(tap, tap.readLong()));
  }
}

class ShownDecimal extends avro.types.BytesType {
  readonly #scale: number;

  constructor(scale: number) {
    super();
    this.#scale = scale;
  }

  _read(tap: Tap): string {
    const value = decodeDecimal(bytesAt(tap, tap.readLong()));
    if (this.#scale === 0) return value.toString();
    const digits = String(value < 0n ? -value : value).padStart(this.#scale + 1, '0');
    const sign = value < 0n ? '-' : '';
    return `${sign}${digits.slice(0, -this.#scale)}.${digits.slice(-this.#scale)}`;
  }
}

class ShownFixed extends avro.types.FixedType {
  _read(tap: Tap): string {
    return hex(bytesAt(tap, this.size));
  }
}

class ShownTronAddress extends avro.types.FixedType {
  _read(tap: Tap): string {
    return tronAddress(bytesAt(tap, ADDRESS_BYTES));
  }
}

class ShownArray extends avro.types.ArrayType {
  _read(tap: Tap): unknown[] {
    const items: unknown[] = [];
    for (let left = blockCount(tap); left > 0; left = blockCount(tap)) {
      for (; left > 0; left--) {
        items.push(read(this.itemsType, tap));
        // a list that claims to be long is not gone through beyond the end
        if (tap.pos > tap.buf.length) throw new RangeError('the bytes end within a list');
      }
    }
    return items;
  }
}

/** The value of the branch, without the name that `avsc` wraps around some. */
class ShownUnion extends avro.types.WrappedUnionType {
  _read(tap: Tap): unknown {
    const branch = this.types[tap.readLong()];
    if (branch === undefined) throw new RangeError('a union does not have this branch');
    return read(branch, tap);
  }
}

/** Options of `avsc` by which values are read as they are shown. */
export const SHOWN_OPTIONS = { typeHook: shownType };

function shownType(schema: avro.Schema, options: unknown): avro.Type | undefined {
  if (Array.isArray(schema)) return new ShownUnion(schema, options);
  const attributes: Attributes =
    typeof schema === 'string' ? { type: schema } : Object.fromEntries(Object.entries(schema));
  const { type, logicalType, name, size, scale } = attributes;
  switch (type) {
    case 'long':
      if (logicalType === 'timestamp-millis') return new ShownTime(1);
      return logicalType === 'timestamp-micros' ? new ShownTime(1_000) : new ShownLong();
    case 'bytes':
      return logicalType === 'decimal'
        ? new ShownDecimal(typeof scale === 'number' ? scale : 0)
        : new ShownBytes();
    case 'fixed':
      return typeof name === 'string' &&
        name.split('.').at(-1) === TRON_ADDRESS &&
        size === ADDRESS_BYTES
        ? new ShownTronAddress(schema, options)
        : new ShownFixed(schema, options);
    case 'array':
      return new ShownArray(schema, options);
    default:
      return AVRO_OPTIONS.typeHook(schema, options);
  }
}

function read(type: avro.Type & Partial<Readable>, tap: Tap): unknown {
  return type._read?.(tap);
}

function readLong(tap: Tap): number | bigint {
  const from = tap.pos;
  const value = tap.readLong();
  if (Number.isSafeInteger(value)) return value;
  tap.pos = from;
  return tap.unpackLongBytes().readBigInt64LE();
}

function blockCount(tap: Tap): number {
  const count = tap.readLong();
  if (count >= 0) return count;
  // the size of the block in bytes
  tap.readLong();
  return -count;
}

function bytesAt(tap: Tap, length: number): Buffer {
  const from = tap.pos;
  tap.pos += length;
  if (length < 0 || tap.pos > tap.buf.length) throw new RangeError('the bytes end too early');
  return tap.buf.subarray(from, tap.pos);
}

function hex(bytes: Buffer): string {
  return `0x${bytes.toString('hex')}`;
}

const addresses = new LRUCache<string, string>({ max: CACHED_MAX });

function tronAddress(bytes: Buffer): string {
  const key = bytes.toString('latin1');
  let text = addresses.get(key);
  if (text === undefined) addresses.set(key, (text = toTronAddress(bytes)));
  return text;
}

/** ISO 8601 in UTC; the number itself beyond what a date can be. `ms`: Unix milliseconds. */
export function shownTime(ms: number): string | number {
  const date = new Date(Math.floor(ms));
  return Number.isNaN(date.getTime()) ? ms : date.toISOString();
}
