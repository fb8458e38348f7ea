/**
 * How the values of events are read: as `avsc` does, but with nothing made on the way. A block has thousands of addresses and amounts; a buffer for each of them is
 * what decoding costs most.
 */
import avro from 'avsc';
import { decodeDecimal, encodeDecimal } from '../../../schemas/money.ts';

/** Where `avsc` stands in the bytes it reads: what goes beyond their end is found out once all is read. */
interface Tap {
  readonly buf: Buffer;
  pos: number;
  readBytes(): Buffer | undefined;
  readLong(): number;
  readString(): string | undefined;
  skipString(): void;
}

/** Amounts with at most so many bytes are read without a buffer of their own. */
const SHORT_BYTES = 6;
const SLAB_BYTES = 4_096;
const ADDRESS_BYTES = 20;
const ADDRESS_WORDS = ADDRESS_BYTES / 4;
/** A power of two. Each keeps the slab alive that its address stands in. */
const KEPT_ADDRESSES = 4_096;

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
    // at once: a list that claims to be long would be read on and on beyond the end
    if (bytes === undefined) throw new RangeError('it ends within an amount');
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

/** The logical type of what nobody reads. */
export const UNREAD = 'unread';

class UnreadType extends avro.types.LogicalType {
  _read(tap: Tap): undefined {
    const type: avro.Type & { _skip?: (from: Tap) => void } = this.underlyingType;
    type._skip?.(tap);
  }

  protected override _fromValue(): undefined {
    return undefined;
  }

  protected override _resolve(): () => undefined {
    return () => undefined;
  }
}

/** Copies of small parts of what is read, many to an allocation. */
let slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
let slabUsed = 0;

function copyOf(bytes: Buffer, from: number, length: number): Buffer {
  if (slabUsed + length > SLAB_BYTES) {
    slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    slabUsed = 0;
  }
  const start = slabUsed;
  slabUsed += length;
  for (let at = 0; at < length; at++) slab[start + at] = bytes[from + at] ?? 0;
  return slab.subarray(start, slabUsed);
}

class FixedType extends avro.types.FixedType {
  _read(tap: Tap): Buffer | undefined {
    return read(tap, this.size);
  }
}

function read(tap: Tap, size: number): Buffer | undefined {
  const from = tap.pos;
  tap.pos += size;
  if (tap.pos > tap.buf.length) return undefined;
  return size === ADDRESS_BYTES ? address(tap.buf, from) : copyOf(tap.buf, from, size);
}

/** The addresses read last, each where its bits put it: most of those that come are among them. Nobody may write to what is handed out. */
const kept: (Buffer | undefined)[] = Array.from({ length: KEPT_ADDRESSES });
/** Their bytes, in words of four: to compare them one by one took a twentieth of a load. */
const keptWords = new Int32Array(KEPT_ADDRESSES * ADDRESS_WORDS);
const words = new Int32Array(ADDRESS_WORDS);

function address(bytes: Buffer, from: number): Buffer {
  let hash = 0;
  for (let word = 0, at = from; word < ADDRESS_WORDS; word++, at += 4) {
    const bits =
      (bytes[at] ?? 0) |
      ((bytes[at + 1] ?? 0) << 8) |
      ((bytes[at + 2] ?? 0) << 16) |
      ((bytes[at + 3] ?? 0) << 24);
    words[word] = bits;
    hash = Math.imul(hash ^ bits, 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  const slot = hash & (KEPT_ADDRESSES - 1);
  const known = kept[slot];
  if (known !== undefined && isKeptAt(slot)) return known;
  const made = copyOf(bytes, from, ADDRESS_BYTES);
  keptWords.set(words, slot * ADDRESS_WORDS);
  return (kept[slot] = made);
}

function isKeptAt(slot: number): boolean {
  const start = slot * ADDRESS_WORDS;
  for (let word = 0; word < ADDRESS_WORDS; word++)
    if (keptWords[start + word] !== words[word]) return false;
  return true;
}

/** Text of so many bytes at most is kept: names of kinds and types, of which there are few. */
const KEPT_TEXT_BYTES = 24;
/** A power of two. */
const KEPT_TEXTS = 1_024;
const keptTexts = Array.from({ length: KEPT_TEXTS }, () => ({ bytes: Buffer.alloc(0), text: '' }));

class StringType extends avro.types.StringType {
  _read(tap: Tap): string | undefined {
    const from = tap.pos;
    const length = tap.readLong();
    const start = tap.pos;
    const end = start + length;
    if (length >= 0 && length <= KEPT_TEXT_BYTES && end <= tap.buf.length) {
      tap.pos = end;
      return keptText(tap.buf, start, end);
    }
    tap.pos = from;
    return tap.readString();
  }
}

function keptText(bytes: Buffer, start: number, end: number): string {
  let hash = end - start;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  const slot = (hash ^ (hash >>> 15)) & (KEPT_TEXTS - 1);
  const known = keptTexts[slot];
  if (known !== undefined && known.bytes.length === end - start && isAt(bytes, start, known.bytes))
    return known.text;
  const text = bytes.toString('utf8', start, end);
  keptTexts[slot] = { bytes: Buffer.from(bytes.subarray(start, end)), text };
  return text;
}

function isAt(bytes: Buffer, start: number, what: Buffer): boolean {
  for (let at = 0; at < what.length; at++) if (bytes[start + at] !== what[at]) return false;
  return true;
}

/** A map that claims to be long is not gone through beyond the end of the bytes. */
class MapType extends avro.types.MapType {
  _read(tap: Tap): Record<string, unknown> {
    const entries: Record<string, unknown> = {};
    for (let left = entriesAt(tap); left > 0; left = left === 1 ? entriesAt(tap) : left - 1) {
      const name = tap.readString() ?? '';
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

/** How many entries the next block of a map has; 0: there is none. */
function entriesAt(tap: Tap): number {
  const count = tap.readLong();
  if (count >= 0) return count;
  // its bytes, for those who pass over it whole
  tap.readLong();
  return -count;
}

function refuseBeyondEnd({ pos, buf }: Tap): void {
  if (pos > buf.length) throw new RangeError('it ends within a map');
}

/** Those with a logical type come twice: as that, and as what is below it. So the same object must not be made a type of twice. */
const seen = new WeakSet<object>();

function typeFor(schema: avro.Schema, options: unknown): avro.Type | undefined {
  if (schema === 'string') return new StringType();
  if (typeof schema !== 'object' || !('type' in schema)) return undefined;
  if ('logicalType' in schema && !seen.has(schema)) {
    seen.add(schema);
    return undefined;
  }
  if (schema.type === 'fixed') return new FixedType(schema, options);
  return schema.type === 'map' ? new MapType(schema, options) : undefined;
}

export const AVRO_OPTIONS = {
  logicalTypes: { decimal: DecimalType, [UNREAD]: UnreadType },
  typeHook: typeFor,
};
