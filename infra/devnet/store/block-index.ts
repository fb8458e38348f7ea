/** Where each height's block stands in the log: in memory for all, in a file of 16-byte entries for the final ones, so that a start need not read the log. */
import fs from 'node:fs';
import type { Place } from './block-log.ts';

const ENTRY_BYTES = 16;

export class BlockIndex {
  readonly #path: string;
  readonly #places: Place[] = [];
  #saved = 0;

  constructor(path: string) {
    this.#path = path;
  }

  get length(): number {
    return this.#places.length;
  }

  at(height: number): Place | undefined {
    return this.#places[height];
  }

  /** The block at this height is here; what was known of higher ones is forgotten. */
  set(height: number, place: Place): void {
    if (height > this.#places.length)
      throw new Error(`block ${height} would leave a hole above ${this.#places.length - 1}`);
    this.#places.length = height;
    this.#places.push(place);
  }

  /** Reads the entries of heights below `count`; false when the file does not hold that many, and then none are taken. */
  load(count: number): boolean {
    if (!fs.existsSync(this.#path)) return false;
    const bytes = fs.readFileSync(this.#path);
    if (bytes.length < count * ENTRY_BYTES) return false;
    for (let height = 0; height < count; height++) {
      const at = height * ENTRY_BYTES;
      this.#places.push({
        offset: Number(bytes.readBigUInt64BE(at)),
        length: bytes.readUInt32BE(at + 8),
      });
    }
    this.#saved = count;
    return true;
  }

  /** Writes the entries of heights below `count`, which never change again. */
  save(count: number): void {
    if (count <= this.#saved) return;
    const bytes = Buffer.alloc((count - this.#saved) * ENTRY_BYTES);
    for (const [entry, { offset, length }] of this.#places.slice(this.#saved, count).entries()) {
      bytes.writeBigUInt64BE(BigInt(offset), entry * ENTRY_BYTES);
      bytes.writeUInt32BE(length, entry * ENTRY_BYTES + 8);
    }
    const file = fs.openSync(this.#path, fs.constants.O_RDWR | fs.constants.O_CREAT);
    fs.writeSync(file, bytes, 0, bytes.length, this.#saved * ENTRY_BYTES);
    fs.fdatasyncSync(file);
    fs.closeSync(file);
    this.#saved = count;
  }
}
