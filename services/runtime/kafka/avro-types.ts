/**
 * The Avro types of events, as `avsc` reads them but for these differences: amounts are bigints,
 * and addresses come from a cache. Refused are an `int` of more than 32 bits, a map with the name
 * `__proto__`, and at once a list or map that claims more entries than there are bytes left.
 * A block has thousands of addresses and amounts: a new buffer for each would be most of the cost
 * of decoding it.
 */
import avro from 'avsc';
import { decodeDecimal, encodeDecimal } from '../../../schemas/money.ts';

/** avsc's reading position. It may go beyond the end of the bytes: avsc checks once all is read. */
interface Tap {
  readonly buf: Buffer;
  pos: number;
  readBytes(): Buffer | undefined;
  readLong(): number;
  readString(): string | undefined;
  skipString(): void;
}

/** The methods that avsc does not declare. */
interface Reading {
  _read(tap: Tap): unknown;
  _skip(tap: Tap): void;
}

/** `Buffer.readIntBE` reads integers of at most 6 bytes. */
const SHORT_BYTES = 6;

/** Any amount as a bigint: the `decimal` logical type with scale 0. */
class DecimalType extends avro.types.LogicalType {
  _read(tap: Tap): bigint {
    const from = tap.pos;
    const length = tap.readLong();
    const end = tap.pos + length;
    if (length > 0 && length <= SHORT_BYTES && end <= tap.buf.length) {
      const value = tap.buf.readIntBE(tap.pos, length);
      tap.pos = end;
      return BigInt(value);
    }
    tap.pos = from;
    const bytes = tap.readBytes();
    // a list that claims 2^31 amounts must not be read on beyond the end
    if (bytes === undefined) throw new RangeError('the bytes end within an amount');
    return decodeDecimal(bytes);
  }

  protected override _fromValue(bytes: Buffer): bigint {
    return decodeDecimal(bytes);
  }

  protected override _toValue(value: bigint): Buffer {
    return encodeDecimal(value);
  }

  protected override _resolve(type: avro.Type): ((value: unknown) => unknown) | undefined {
    return type instanceof DecimalType ? (value): unknown => value : undefined;
  }
}

/** The logical type of a field that is skipped: its value is undefined. */
export const UNREAD = 'unread';

class UnreadType extends avro.types.LogicalType {
  declare readonly underlyingType: avro.Type & Reading;

  _read(tap: Tap): undefined {
    this.underlyingType._skip(tap);
  }

  protected override _fromValue(): undefined {
    return undefined;
  }

  protected override _resolve(): () => undefined {
    return () => undefined;
  }
}

const SLAB_BYTES = 4_096;
let slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
let slabUsed = 0;

/** Copies of hashes and addresses share slabs: `Buffer.from` takes twice as long. */
function copyOf(bytes: Buffer, from: number, end: number): Buffer {
  if (slabUsed + end - from > SLAB_BYTES) {
    slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    slabUsed = 0;
  }
  const start = slabUsed;
  slabUsed += bytes.copy(slab, start, from, end);
  return slab.subarray(start, slabUsed);
}

const ADDRESS_BYTES = 20;
/** A power of two. Each cached address keeps its slab alive. */
const CACHED_ADDRESSES = 4_096;
/** Direct-mapped by an address' last bits, which are those of a hash. */
const addresses: (Buffer | undefined)[] = Array.from({ length: CACHED_ADDRESSES });

/** Addresses are shared between events: nobody may write to them. */
class FixedType extends avro.types.FixedType {
  _read(tap: Tap): Buffer | undefined {
    const { buf, pos: from } = tap;
    const end = (tap.pos += this.size);
    if (end > buf.length) return undefined;
    if (this.size !== ADDRESS_BYTES) return copyOf(buf, from, end);
    const slot = buf.readUInt32BE(end - 4) & (CACHED_ADDRESSES - 1);
    const cached = addresses[slot];
    if (cached !== undefined && isAt(buf, from, cached)) return cached;
    return (addresses[slot] = copyOf(buf, from, end));
  }
}

/** Compares in JavaScript: calling `Buffer.compare` costs more than 20 bytes. */
function isAt(bytes: Buffer, from: number, wanted: Buffer): boolean {
  for (let at = 0; at < wanted.length; at++) if (bytes[from + at] !== wanted[at]) return false;
  return true;
}

/**
 * avsc would read any whole number, and write none but those of 32 bits. A skipped number is not
 * looked at.
 */
class IntType extends avro.types.IntType {
  _read(tap: Tap): number {
    const value = tap.readLong();
    if (value !== (value | 0)) throw new RangeError('an integer has more than 32 bits');
    return value;
  }
}

class MapType extends avro.types.MapType {
  declare readonly valuesType: avro.Type & Reading;

  _read(tap: Tap): Record<string, unknown> {
    const type = this.valuesType;
    const entries: Record<string, unknown> = {};
    for (let count = entriesAt(tap); count > 0; count = entriesAt(tap))
      for (let left = count; left > 0; left--) {
        const name = tap.readString() ?? '';
        refuseName(name);
        entries[name] = type._read(tap);
      }
    return entries;
  }

  _skip(tap: Tap): void {
    const type = this.valuesType;
    for (let count = entriesAt(tap); count > 0; count = entriesAt(tap))
      for (let left = count; left > 0; left--) {
        const from = tap.pos;
        tap.skipString();
        // a record that one fold skips and another reads is poison to both
        if (isAt(tap.buf, tap.pos - PROTOTYPE.length, PROTOTYPE)) {
          tap.pos = from;
          refuseName(tap.readString());
        }
        type._skip(tap);
      }
  }
}

const PROTOTYPE = Buffer.from('__proto__');

/** An assignment would set the prototype; nothing here writes this name. */
function refuseName(name: string | undefined): void {
  if (name === '__proto__') throw new RangeError('a map has the name __proto__');
}

class ArrayType extends avro.types.ArrayType {
  declare readonly itemsType: avro.Type & Reading;

  _read(tap: Tap): unknown[] {
    const type = this.itemsType;
    let items: unknown[] | undefined;
    let at = 0;
    for (let count = entriesAt(tap); count > 0; count = entriesAt(tap)) {
      // nearly all lists have one block: its length is that of the list
      // eslint-disable-next-line unicorn/no-new-array -- `Array.from` is slower
      items ??= new Array<unknown>(count);
      for (const end = at + count; at < end; at++) items[at] = type._read(tap);
    }
    return items ?? [];
  }

  _skip(tap: Tap): void {
    const type = this.itemsType;
    for (let count = entriesAt(tap); count > 0; count = entriesAt(tap))
      for (let left = count; left > 0; left--) type._skip(tap);
  }
}

/**
 * How many entries the next block of a map or list has; 0 ends it, as does the end of the bytes.
 * avsc would read 2^46 claimed ones on beyond the end. Each has a byte or more: an entry without
 * any, such as null, is in no schema.
 */
function entriesAt(tap: Tap): number {
  let count = tap.readLong();
  if (count < 0) {
    count = -count;
    // the size of the block in bytes
    tap.readLong();
  }
  if (count > 0 && count > tap.buf.length - tap.pos)
    throw new RangeError(`a map or list claims ${count} entries, more than there are bytes`);
  return count;
}

const LOGICAL_TYPES = { decimal: DecimalType, [UNREAD]: UnreadType };

/** avsc calls the hook twice for a schema with one of these: for that, and for the type below. */
const seen = new WeakSet<object>();

function typeFor(schema: avro.Schema, options: unknown): avro.Type | undefined {
  // avsc calls the hook for 'int' with { type: 'int' } as well
  if (typeof schema !== 'object' || !('type' in schema)) return undefined;
  const isLogical = 'logicalType' in schema && Object.hasOwn(LOGICAL_TYPES, schema.logicalType);
  if (isLogical && !seen.has(schema)) {
    seen.add(schema);
    return undefined;
  }
  if (schema.type === 'int') return new IntType();
  if (schema.type === 'fixed') return new FixedType(schema, options);
  if (schema.type === 'array') return new ArrayType(schema, options);
  return schema.type === 'map' ? new MapType(schema, options) : undefined;
}

export const AVRO_OPTIONS = {
  logicalTypes: LOGICAL_TYPES,
  typeHook: typeFor,
};
