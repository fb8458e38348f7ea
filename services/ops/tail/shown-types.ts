/**
 * Avro values as they are shown: amounts as decimal text, bytes as 0x and hex, addresses of TRON
 * as base58check, times as ISO 8601 in UTC. Long integers keep every digit. And the columns of
 * tables that hold them.
 */
import avro from 'avsc';
import { LRUCache } from 'lru-cache';
import { bytesKey } from '../../../schemas/address.ts';
import { decodeDecimal } from '../../../schemas/money.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { AVRO_OPTIONS } from '../../runtime/kafka/avro-types.ts';
import { money } from '../text.ts';

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
    const key = bytesKey(bytes);
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

/** Options of `avsc` for people: amounts in CLT or USDT, otherwise as they are shown. */
export const TEXT_OPTIONS = {
  typeHook(schema: avro.Schema, options: unknown): avro.Type | undefined {
    const type = shownType(schema, options);
    return type instanceof ShownAmount ? new TextAmount() : type;
  },
};

class TextAmount extends avro.types.BytesType {
  _read(tap: Tap): string {
    return money(decodeDecimal(bytesAt(tap, tap.readLong())));
  }
}

/** Schemas of amounts that a caller names, such as a fare, and that nobody need have. */
const namedAmounts = new WeakSet<object>();

/** Options for rows of tables: amounts in CLT or USDT, and nothing that a column cannot hold. */
export const TABLE_OPTIONS = {
  typeHook(schema: avro.Schema, options: unknown): avro.Type | undefined {
    markNamedAmount(schema);
    const type = shownType(schema, options);
    if (type instanceof ShownAmount)
      return typeof schema === 'object' && namedAmounts.has(schema)
        ? new NamedAmount()
        : new TableAmount();
    return type instanceof ShownTime ? new TableTime() : type;
  },
};

/** A CLT or USDT is 10^6 base units. */
const UNIT_DIGITS = 6;
/** The most that a column of DuckDB has. */
const DIGITS_MAX = 38;
const TABLE_AMOUNT = `DECIMAL(${DIGITS_MAX},${UNIT_DIGITS})`;
export const TABLE_TIME = 'TIMESTAMPTZ';

/** A record comes before its fields, with the same objects. */
function markNamedAmount(schema: avro.Schema): void {
  if (typeof schema !== 'object' || schema instanceof avro.Type || Array.isArray(schema)) return;
  if (schema.type !== 'record' || !('fields' in schema) || schema.name !== 'Transaction') return;
  const amount = schema.fields.find(({ name }) => name === 'amount')?.type;
  if (typeof amount === 'object') namedAmounts.add(amount);
}

class TableAmount extends avro.types.BytesType {
  _read(tap: Tap): string | null {
    const units = decodeDecimal(bytesAt(tap, tap.readLong()));
    const digits = String(units < 0n ? -units : units).padStart(UNIT_DIGITS + 1, '0');
    if (digits.length > DIGITS_MAX) return this.beyond();
    const sign = units < 0n ? '-' : '';
    return `${sign}${digits.slice(0, -UNIT_DIGITS)}.${digits.slice(-UNIT_DIGITS)}`;
  }

  /** Throws: a sum without it would be wrong. */
  beyond(): null {
    throw new RangeError(`an amount has more than ${DIGITS_MAX} digits`);
  }
}

/** Null beyond the column, as in the views: it must not take its block out of the table. */
class NamedAmount extends TableAmount {
  override beyond(): null {
    return null;
  }
}

class TableTime extends avro.types.LongType {
  _read(tap: Tap): string | number {
    const ms = tap.readLong();
    if (!isTableTime(ms)) throw new RangeError(`${ms} ms is a time beyond the years of a calendar`);
    return shownTime(ms);
  }
}

/** Whether it is within the years 1 to 9999. `ms`: Unix milliseconds */
export function isTableTime(ms: number): boolean {
  return ms >= -62_135_596_800_000 && ms < 253_402_300_800_000;
}

/** A column's type of DuckDB, or its parts. */
export type ColumnType =
  | string
  | { readonly list: ColumnType }
  | { readonly map: ColumnType }
  | { readonly fields: Columns };

/** By name. */
export type Columns = { readonly [name: string]: ColumnType };

/** The column of values that are read with `TABLE_OPTIONS`. */
export function columnType(type: avro.Type): ColumnType {
  const { types } = avro;
  if (type instanceof TableAmount) return TABLE_AMOUNT;
  if (type instanceof TableTime) return TABLE_TIME;
  if (type instanceof types.RecordType) return { fields: fieldColumns(type) };
  if (type instanceof types.ArrayType) return { list: columnType(type.itemsType) };
  if (type instanceof types.MapType) return { map: columnType(type.valuesType) };
  if (type instanceof types.UnwrappedUnionType) {
    const [only, ...others] = type.types.filter((each) => !(each instanceof types.NullType));
    return only !== undefined && others.length === 0 ? columnType(only) : 'JSON';
  }
  switch (type.typeName) {
    case 'boolean':
      return 'BOOLEAN';
    case 'int':
      return 'INTEGER';
    case 'long':
      return 'BIGINT';
    case 'float':
    case 'double':
      return 'DOUBLE';
    case 'union:wrapped':
      return 'JSON';
    default:
      return 'VARCHAR';
  }
}

export function fieldColumns(type: avro.types.RecordType): Columns {
  return Object.fromEntries(type.fields.map((field) => [field.name, columnType(field.type)]));
}

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
