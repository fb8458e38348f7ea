/**
 * The chain on disk: one file that only ever grows. A record is the blocks that were added in one step, so a reorganisation is one record and is there
 * whole or not at all. Record: length of the payload (4 bytes), its CRC-32 (4 bytes), payload: each block's JSON on a line. A block at or below the height
 * of the newest replaces it and all above it. A record torn by a crash can only be the last one, and is cut off.
 */
import fs from 'node:fs';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';

const readSome = promisify(fs.read);
const syncData = promisify(fs.fdatasync);
const HEADER_BYTES = 8;
const RECORD_BYTES_MAX = 2 ** 31 - 1;

/** Where a block's JSON stands in the file. */
export interface Place {
  readonly offset: number;
  readonly length: number;
}

export interface LoggedRecord {
  readonly offset: number;
  readonly lines: readonly { readonly text: string; readonly place: Place }[];
}

/** The file is not what was written: it must not be used, nor silently repaired. */
export class DamagedLog extends Error {
  constructor(path: string, offset: number, why: string) {
    super(
      `${path} is damaged at byte ${offset} (${why}): move its directory away to start a new chain, or restore it from a copy`,
    );
    this.name = 'DamagedLog';
  }
}

export class BlockLog {
  readonly path: string;
  readonly #file: number;
  #end: number;
  #flushing: Promise<void> | undefined;
  #written = 0;
  #flushed = 0;

  constructor(path: string) {
    this.path = path;
    this.#file = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_CREAT);
    this.#end = fs.fstatSync(this.#file).size;
  }

  get end(): number {
    return this.#end;
  }

  /** Writes the blocks as one record. Once it returns, no kill of this process can lose them; a loss of power can, for a moment: see `flush`. */
  append(texts: readonly string[]): { readonly offset: number; readonly places: readonly Place[] } {
    const lines = texts.map((text) => Buffer.from(`${text}\n`, 'utf8'));
    const payload = Buffer.concat(lines);
    if (payload.length > RECORD_BYTES_MAX)
      throw new Error(`a record of ${payload.length} bytes is too large`);
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt32BE(payload.length, 0);
    header.writeUInt32BE(crc32(payload), 4);
    const offset = this.#end;
    writeWhole(this.#file, header, offset);
    writeWhole(this.#file, payload, offset + HEADER_BYTES);
    this.#end = offset + HEADER_BYTES + payload.length;
    this.#written++;
    let at = offset + HEADER_BYTES;
    const places = lines.map((line) => {
      const place = { offset: at, length: line.length - 1 };
      at += line.length;
      return place;
    });
    return { offset, places };
  }

  /**
   * On the disk once it resolves. Called without waiting after each block, never twice at a time: what a loss of power can take this way is younger than
   * finality, so to everybody else it looks like a reorganisation.
   */
  async flush(): Promise<void> {
    while (this.#flushed < this.#written) {
      this.#flushing ??= this.#flushOnce();
      await this.#flushing;
    }
  }

  async #flushOnce(): Promise<void> {
    const written = this.#written;
    try {
      await syncData(this.#file);
      this.#flushed = written;
    } finally {
      this.#flushing = undefined;
    }
  }

  /** The records from this offset on, which must be the start of one; a torn last one is cut off the file. */
  *records(from: number): Generator<LoggedRecord> {
    let offset = from;
    while (offset < this.#end) {
      const payload = this.#payload(offset);
      if (payload === undefined) {
        fs.ftruncateSync(this.#file, offset);
        this.#end = offset;
        return;
      }
      yield { offset, lines: linesOf(payload, offset + HEADER_BYTES) };
      offset += HEADER_BYTES + payload.length;
    }
  }

  /** Bytes as they stand in the file. */
  async read({ offset, length }: Place): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length);
    for (let done = 0; done < length;) {
      const { bytesRead } = await readSome(this.#file, buffer, done, length - done, offset + done);
      if (bytesRead === 0) throw new DamagedLog(this.path, offset + done, 'it ends here');
      done += bytesRead;
    }
    return buffer;
  }

  /** On the disk once it returns. */
  sync(): void {
    fs.fdatasyncSync(this.#file);
  }

  close(): void {
    this.sync();
    fs.closeSync(this.#file);
  }

  /** undefined: the record is torn, and nothing follows it. */
  #payload(offset: number): Buffer | undefined {
    const rest = this.#end - offset;
    if (rest < HEADER_BYTES) return undefined;
    const header = readWhole(this.#file, HEADER_BYTES, offset);
    const length = header.readUInt32BE(0);
    if (HEADER_BYTES + length > rest) return undefined;
    const payload = readWhole(this.#file, length, offset + HEADER_BYTES);
    if (length > 0 && crc32(payload) === header.readUInt32BE(4)) return payload;
    if (HEADER_BYTES + length === rest) return undefined;
    // a file system that lost power may have made the file longer without its bytes
    if (length === 0 && readWhole(this.#file, rest, offset).every((byte) => byte === 0))
      return undefined;
    throw new DamagedLog(this.path, offset, 'the checksum is wrong and more records follow');
  }
}

function linesOf(
  payload: Buffer,
  start: number,
): readonly { readonly text: string; readonly place: Place }[] {
  const lines: { text: string; place: Place }[] = [];
  for (let at = 0; at < payload.length;) {
    const end = payload.indexOf(0x0a, at);
    const length = end - at;
    lines.push({ text: payload.toString('utf8', at, end), place: { offset: start + at, length } });
    at = end + 1;
  }
  return lines;
}

function writeWhole(file: number, bytes: Buffer, position: number): void {
  for (let written = 0; written < bytes.length;)
    written += fs.writeSync(file, bytes, written, bytes.length - written, position + written);
}

function readWhole(file: number, length: number, position: number): Buffer {
  const buffer = Buffer.allocUnsafe(length);
  for (let read = 0; read < length;) {
    const bytes = fs.readSync(file, buffer, read, length - read, position + read);
    if (bytes === 0) throw new Error('the file became shorter while it was read');
    read += bytes;
  }
  return buffer;
}
