/**
 * Reads and writes Kafka's wire format.
 * Source: https://kafka.apache.org/protocol#protocol_types
 */

/** Reads a buffer from its beginning. */
export class Cursor {
  readonly #bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.at;
  }

  skip(length: number): void {
    this.at += length;
  }

  bytes(length: number): Buffer {
    const from = this.at;
    this.at += length;
    return this.#bytes.subarray(from, this.at);
  }

  int8(): number {
    return this.#bytes.readInt8(this.at++);
  }

  int16(): number {
    this.at += 2;
    return this.#bytes.readInt16BE(this.at - 2);
  }

  int32(): number {
    this.at += 4;
    return this.#bytes.readInt32BE(this.at - 4);
  }

  int64(): bigint {
    this.at += 8;
    return this.#bytes.readBigInt64BE(this.at - 8);
  }

  /** Up to 53 bits: 7 a byte, the lowest first. */
  uvarint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#bytes.readUInt8(this.at++);
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  /** Zigzag. */
  varint(): number {
    const value = this.uvarint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** Length as a varint; null where it is -1. */
  varintBytes(): Buffer | null {
    const length = this.varint();
    return length < 0 ? null : this.bytes(length);
  }

  /** A compact string or bytes. */
  skipCompact(): void {
    this.skip(Math.max(0, this.uvarint() - 1));
  }

  skipTags(): void {
    for (let left = this.uvarint(); left > 0; left--) {
      this.uvarint();
      this.skip(this.uvarint());
    }
  }

  /** A compact array. */
  array<Item>(read: () => Item): Item[] {
    return Array.from({ length: Math.max(0, this.uvarint() - 1) }, read);
  }
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

export function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

/** A compact string of at most 16,382 bytes. */
export function compactString(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = bytes.length + 1;
  const prefix = length < 128 ? [length] : [(length & 127) | 128, length >> 7];
  return Buffer.concat([Buffer.from(prefix), bytes]);
}
