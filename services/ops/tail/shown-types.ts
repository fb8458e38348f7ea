/**
 * Avro values as they are shown: amounts as decimal text, bytes as 0x and hex, addresses of TRON
 * as base58check, times as ISO 8601 in UTC. Long integers keep every digit.
 */
import avro from 'avsc';
import { LRUCache } from 'lru-cache';
import { decodeDecimal } from '../../../schemas/money.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { AVRO_OPTIONS } from '../../runtime/kafka/avro-types.ts';

/** The position of `avsc` in the bytes that it reads. */
interface Tap {
  readonly buf: Buffer;
  pos: number;
  readLong(): number;
  /** eight bytes, little-endian */
  unpackLongBytes(): Buffer;
}

declare global {
  interface JSON {
    /** A number with just these digits. */
    rawJSON(digits: string): unknown;
  }
}

/** From here on `readLong`, which doubles a number, gives others than were written. */
const ROUNDED_FROM = 2 ** 52;

class ShownLong extends avro.types.LongType {
  _read(tap: Tap): unknown {
    const from = tap.pos;
    const value = tap.readLong();
    if (Math.abs(value) < ROUNDED_FROM) return value;
    tap.pos = from;
    return JSON.rawJSON(String(tap.unpackLongBytes().readBigInt64LE()));
  }
}

class ShownTime extends avro.types.LongType {
  _read(tap: Tap): string | number {
    return shownTime(tap.readLong());
  }
}

class ShownBytes extends avro.types.BytesType {
  _read(tap: Tap): string {
    return `0x${bytesAt(tap, tap.readLong()).toString('hex')}`;
  }
}

class ShownAmount extends avro.types.BytesType {
  _read(tap: Tap): string {
    return String(decodeDecimal(bytesAt(tap, tap.readLong())));
  }
}

class ShownFixed extends avro.types.FixedType {
  _read(tap: Tap): string {
    return `0x${bytesAt(tap, this.size).toString('hex')}`;
  }
}

/** The addresses shown last: those of one log repeat. */
const addresses = new LRUCache<string, string>({ max: 32_768 });

class ShownTronAddress extends avro.types.FixedType {
  _read(tap: Tap): string {
    const bytes = bytesAt(tap, this.size);
    const key = bytes.toString('latin1');
    const text = addresses.get(key) ?? toTronAddress(bytes);
    addresses.set(key, text);
    return text;
  }
}

/** At once: a list that claims to be long would be read on and on beyond the end. */
function bytesAt(tap: Tap, length: number): Buffer {
  const from = tap.pos;
  tap.pos += length;
  if (length < 0 || tap.pos > tap.buf.length) throw new RangeError('the bytes end too early');
  return tap.buf.subarray(from, tap.pos);
}

let newestMs = Number.NaN;
let newestText: string | number = '';

/**
 * ISO 8601 in UTC; the number itself beyond what a date can be. `ms`: Unix milliseconds. Records
 * of one batch share their time, so the newest text is cached.
 */
export function shownTime(ms: number): string | number {
  if (ms !== newestMs) {
    const date = new Date(ms);
    newestText = Number.isNaN(date.getTime()) ? ms : date.toISOString();
    newestMs = ms;
  }
  return newestText;
}

/** Options of `avsc` by which values are read as they are shown. */
export const SHOWN_OPTIONS = { typeHook: shownType };

function shownType(schema: avro.Schema, options: unknown): avro.Type | undefined {
  const {
    type,
    logicalType,
    name,
    scale = 0,
  }: Readonly<Record<string, unknown>> = typeof schema === 'string'
    ? { type: schema }
    : Object.fromEntries(Object.entries(schema));
  switch (type) {
    case 'long':
      return logicalType === 'timestamp-millis' ? new ShownTime() : new ShownLong();
    case 'bytes':
      return logicalType === 'decimal' && scale === 0 ? new ShownAmount() : new ShownBytes();
    case 'fixed':
      return typeof name === 'string' && name.split('.').at(-1) === 'TronAddress'
        ? new ShownTronAddress(schema, options)
        : new ShownFixed(schema, options);
    default:
      return AVRO_OPTIONS.typeHook(schema, options);
  }
}
