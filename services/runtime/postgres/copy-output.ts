/**
 * The buffers of encoded rows. Pieces of 1 MiB are pooled: memory never used takes a fifth longer.
 */

const FIRST_BYTES = 4_096;
/** A piece with so many bytes is full; its last row may go beyond. */
export const PIECE_BYTES = 1024 * 1024;
const PIECE_CAPACITY = PIECE_BYTES + PIECE_BYTES / 8;
/** A buffer that grows beyond this becomes a piece. */
const SMALL_BYTES = 64 * 1024;
const SPARE_PIECES = 32;
const NO_BYTES = Buffer.alloc(0);
const TWO_32 = 2 ** 32;
/**
 * Text up to this length is copied by letters, if it is ASCII: faster than a call of the encoder.
 */
const SHORT_TEXT = 64;

/** Released pieces. */
const spare: Buffer[] = [];

function newPiece(): Buffer {
  return spare.pop() ?? Buffer.allocUnsafeSlow(PIECE_CAPACITY);
}

/** A buffer that grows by `reserve`, which comes before each write. */
export class Output {
  bytes: Buffer;
  length = 0;

  private constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** For few rows. */
  static small(capacity = FIRST_BYTES): Output {
    return new Output(Buffer.allocUnsafeSlow(Math.min(FIRST_BYTES, capacity)));
  }

  static piece(): Output {
    return new Output(newPiece());
  }

  /** Returns the memory to the pool, when nobody reads it any more. The output is empty then. */
  giveBack(): void {
    if (this.bytes.length === PIECE_CAPACITY && spare.length < SPARE_PIECES) spare.push(this.bytes);
    this.bytes = NO_BYTES;
    this.length = 0;
  }

  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const larger =
      needed > SMALL_BYTES && needed <= PIECE_CAPACITY
        ? newPiece()
        : Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, needed));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }

  int16(value: number): void {
    const { bytes, length: at } = this;
    bytes[at] = value >> 8;
    bytes[at + 1] = value;
    this.length = at + 2;
  }

  int32(value: number): void {
    const { bytes, length: at } = this;
    bytes[at] = value >> 24;
    bytes[at + 1] = value >> 16;
    bytes[at + 2] = value >> 8;
    bytes[at + 3] = value;
    this.length = at + 4;
  }

  int64(value: bigint | number): void {
    if (typeof value === 'bigint') {
      this.length = this.bytes.writeBigInt64BE(value, this.length);
      return;
    }
    const high = Math.floor(value / TWO_32);
    this.int32(high);
    this.int32(value - high * TWO_32);
  }

  raw(value: Uint8Array): void {
    this.bytes.set(value, this.length);
    this.length += value.length;
  }

  /** Writes the length and the text; reserves by itself. */
  text(value: string): void {
    if (value.length <= SHORT_TEXT && this.#ascii(value)) return;
    const length = Buffer.byteLength(value);
    this.reserve(4 + length);
    this.int32(length);
    this.bytes.write(value, this.length);
    this.length += length;
  }

  /** False, with nothing written, for other text. */
  #ascii(value: string): boolean {
    this.reserve(4 + value.length);
    const { bytes, length: start } = this;
    for (let at = 0; at < value.length; at++) {
      const code = value.charCodeAt(at);
      if (code > 0x7f) return false;
      bytes[start + 4 + at] = code;
    }
    this.int32(value.length);
    this.length = start + 4 + value.length;
    return true;
  }
}
