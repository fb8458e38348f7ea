/**
 * The Avro types of events, as `avsc` reads them but for four differences: amounts are bigints,
 * addresses come from a cache, an `int` of more than 32 bits is refused, and so is a claimed length
 * beyond the end of the bytes, at once.
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
  _read?: (tap: Tap) => unknown;
  _skip?: (tap: Tap) => void;
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
  _read(tap: Tap): undefined {
    const type: avro.Type & Reading = this.underlyingType;
    type._skip?.(tap);
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

/** avsc would read any whole number, and write none but those of 32 bits. */
class IntType extends avro.types.IntType {
  _read(tap: Tap): number {
    const value = tap.readLong();
    if (value !== (value | 0)) throw new RangeError('an integer has more than 32 bits');
    return value;
  }
}

/** avsc would read a map that claims 2^31 entries on beyond the end of the bytes. */
class MapType extends avro.types.MapType {
  _read(tap: Tap): Record<string, unknown> {
    const entries: Record<string, unknown> = {};
    for (let left = entriesAt(tap); left > 0; left = left === 1 ? entriesAt(tap) : left - 1) {
      const name = tap.readString() ?? '';
      // an assignment would set the prototype; nothing here writes this name
      if (name === '__proto__') throw new RangeError('a map has the name __proto__');
      entries[name] = this.valuesType._read(tap);
      refuseBeyondEnd(tap);
    }
    return entries;
  }

  _skip(tap: Tap): void {
    for (let left = entriesAt(tap); left > 0; left = left === 1 ? entriesAt(tap) : left - 1) {
      tap.skipString();
      this.valuesType._skip(tap);
      refuseBeyondEnd(tap);
    }
  }
}

/** avsc would do so with a list of addresses, and with every list that is skipped. */
class ArrayType extends avro.types.ArrayType {
  _read(tap: Tap): unknown[] {
    const items: unknown[] = [];
    const type: avro.Type & Reading = this.itemsType;
    for (let left = entriesAt(tap); left > 0; left = left === 1 ? entriesAt(tap) : left - 1) {
      items.push(type._read?.(tap));
      refuseBeyondEnd(tap);
    }
    return items;
  }

  _skip(tap: Tap): void {
    const type: avro.Type & Reading = this.itemsType;
    for (let left = entriesAt(tap); left > 0; left = left === 1 ? entriesAt(tap) : left - 1) {
      type._skip?.(tap);
      refuseBeyondEnd(tap);
    }
  }
}

/** How many entries the next block of a map or list has; 0 ends it. */
function entriesAt(tap: Tap): number {
  const count = tap.readLong();
  if (count >= 0) return count;
  // a negative count is followed by the block's size in bytes
  tap.readLong();
  return -count;
}

function refuseBeyondEnd({ pos, buf }: Tap): void {
  if (pos > buf.length) throw new RangeError('the bytes end within a map or list');
}

/** avsc calls the hook twice for a schema with a logical type: for that, and for the type below. */
const seen = new WeakSet<object>();

function typeFor(schema: avro.Schema, options: unknown): avro.Type | undefined {
  if (schema === 'int') return new IntType();
  if (typeof schema !== 'object' || !('type' in schema)) return undefined;
  if ('logicalType' in schema && !seen.has(schema)) {
    seen.add(schema);
    return undefined;
  }
  if (schema.type === 'fixed') return new FixedType(schema, options);
  if (schema.type === 'array') return new ArrayType(schema, options);
  return schema.type === 'map' ? new MapType(schema, options) : undefined;
}

export const AVRO_OPTIONS = {
  logicalTypes: { decimal: DecimalType, [UNREAD]: UnreadType },
  typeHook: typeFor,
};
