/** What rows are encoded into: pieces of memory that are used again once their bytes were taken. */

const FIRST_BYTES = 4_096;
/** A piece that holds so much is full: the last row of it may go beyond. */
export const PIECE_BYTES = 1024 * 1024;
const PIECE_CAPACITY = PIECE_BYTES + PIECE_BYTES / 8;
/** What grows beyond this is a whole piece. */
const SMALL_BYTES = 64 * 1024;
const SPARE_PIECES = 32;
const NO_BYTES = Buffer.alloc(0);
const TWO_32 = 2 ** 32;
/** Up to here text is looked at letter by letter: it is nearly always ASCII, and the way to the native encoder is long. */
const SHORT_TEXT = 64;

/** Pieces that were taken, to be written to again: memory that was never used, or long ago, takes a fifth longer. */
const spare: Buffer[] = [];

function newPiece(): Buffer {
  return spare.pop() ?? Buffer.allocUnsafeSlow(PIECE_CAPACITY);
}

/** A buffer that grows when it is told to: whoever writes reserves first. */
export class Output {
  bytes: Buffer;
  length = 0;

  private constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** For a few rows. */
  static small(capacity = FIRST_BYTES): Output {
    return new Output(Buffer.allocUnsafeSlow(Math.min(FIRST_BYTES, capacity)));
  }

  static piece(): Output {
    return new Output(newPiece());
  }

  /** Only when nobody reads its bytes any more: others write to them. It is then empty, and has memory of its own again once it is written to. */
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

  /** Its length first; reserves by itself. */
  text(value: string): void {
    if (value.length <= SHORT_TEXT && this.#ascii(value)) return;
    const length = Buffer.byteLength(value);
    this.reserve(4 + length);
    this.int32(length);
    this.bytes.write(value, this.length);
    this.length += length;
  }

  /** False, and nothing written, when it is not ASCII. */
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
