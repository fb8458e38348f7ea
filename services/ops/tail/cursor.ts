/** A place in Avro's binary encoding. Every method moves behind what it has read, and throws a `RangeError` where the bytes end before. */
import { decodeDecimal } from '../../../schemas/money.ts';

/** So many bytes of seven bits are exact as a number. */
const EXACT_BYTES = 7;
const LONG_BYTES_MAX = 10;
/** What `readIntBE` takes. */
const SHORT_BYTES = 6;

export class Cursor {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, from: number) {
    this.#bytes = bytes;
    this.#at = from;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  byte(): number {
    return this.#bytes[this.#skip(1)] ?? 0;
  }

  /** Zigzag, seven bits a byte. */
  long(): bigint | number {
    const begin = this.#at;
    let value = 0;
    for (let factor = 1, size = 1; size <= EXACT_BYTES; factor *= 128, size++) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
    this.#at = begin;
    return this.#large();
  }

  #large(): bigint {
    let value = 0n;
    for (let shift = 0n, size = 1; size <= LONG_BYTES_MAX; shift += 7n, size++) {
      const byte = this.byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return (value >> 1n) ^ -(value & 1n);
    }
    throw new RangeError(`an integer longer than ${LONG_BYTES_MAX} bytes`);
  }

  /** How many bytes come next. */
  length(): number {
    const length = Number(this.long());
    if (length < 0) throw new RangeError(`a length below zero: ${length}`);
    return length;
  }

  /** How many items come next of an array or a map; 0 is its end. A block that tells its size in bytes has a count below zero. */
  count(): number {
    const count = Number(this.long());
    if (count >= 0) return count;
    this.long();
    return -count;
  }

  hex(length: number): string {
    const from = this.#skip(length);
    return this.#bytes.toString('hex', from, this.#at);
  }

  text(length: number): string {
    const from = this.#skip(length);
    return this.#bytes.toString('utf8', from, this.#at);
  }

  /** Two's complement, as decimal digits. */
  decimal(length: number): string {
    const from = this.#skip(length);
    if (length > 0 && length <= SHORT_BYTES) return String(this.#bytes.readIntBE(from, length));
    return decodeDecimal(this.#bytes.subarray(from, this.#at)).toString();
  }

  float(): number {
    return this.#bytes.readFloatLE(this.#skip(4));
  }

  double(): number {
    return this.#bytes.readDoubleLE(this.#skip(8));
  }

  /** Where what is passed begins. */
  #skip(length: number): number {
    const from = this.#at;
    if (length > this.#bytes.length - from)
      throw new RangeError(`the bytes end ${length - this.left} too early`);
    this.#at += length;
    return from;
  }
}
