/**
 * An append-only log file of blocks or events, and the index of block positions in it.
 *
 * A record holds the lines of one step, so a reorganisation is stored whole or not at all. Record:
 * length of the payload (4 bytes), its CRC-32 (4 bytes), payload: JSON lines. In the log of the CLT
 * chain, a block at or below the newest height replaces that block and all above it. A crash can
 * tear only the last record, which is then cut off.
 */
import fs from 'node:fs';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';

const readSome = promisify(fs.read);
const syncData = promisify(fs.fdatasync);
const HEADER_BYTES = 8;
const RECORD_BYTES_MAX = 2 ** 31 - 1;

/** The bytes of one line in the file. */
export interface LineRange {
  readonly offset: number;
  readonly length: number;
}

interface LogLine {
  readonly text: string;
  readonly range: LineRange;
}

/** The file differs from what was written. It is neither used nor repaired. */
export class DamagedLog extends Error {
  constructor(path: string, offset: number, reason: string) {
    super(
      `${path} is damaged at byte ${offset} (${reason}): move its directory away to start a new chain, or restore a copy`,
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

  /** Writes the lines as one record. It survives a kill of the process, but see `flush`. */
  append(texts: readonly string[]): {
    readonly offset: number;
    readonly ranges: readonly LineRange[];
  } {
    const lines = texts.map((text) => Buffer.from(`${text}\n`, 'utf8'));
    const payload = Buffer.concat(lines);
    if (payload.length > RECORD_BYTES_MAX)
      throw new Error(`a record of ${payload.length} bytes is too large`);
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt32BE(payload.length, 0);
    header.writeUInt32BE(crc32(payload), 4);
    const offset = this.#end;
    writeFully(this.#file, header, offset);
    writeFully(this.#file, payload, offset + HEADER_BYTES);
    this.#end = offset + HEADER_BYTES + payload.length;
    this.#written++;
    let at = offset + HEADER_BYTES;
    const ranges = lines.map((line) => {
      const range = { offset: at, length: line.length - 1 };
      at += line.length;
      return range;
    });
    return { offset, ranges };
  }

  /**
   * Resolves when every record is on disk. It runs after each block without being awaited: the
   * blocks that a power loss takes are younger than finality, so clients see a reorganisation.
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

  /** The records from this offset, the start of one. Cuts a torn last record off the file. */
  *records(from: number): Generator<{ offset: number; lines: readonly LogLine[] }> {
    let offset = from;
    while (offset < this.#end) {
      const payload = this.#payload(offset);
      if (payload === undefined) {
        fs.ftruncateSync(this.#file, offset);
        this.#end = offset;
        return;
      }
      yield { offset, lines: splitLines(payload, offset + HEADER_BYTES) };
      offset += HEADER_BYTES + payload.length;
    }
  }

  async read({ offset, length }: LineRange): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length);
    for (let done = 0; done < length;) {
      const { bytesRead } = await readSome(this.#file, buffer, done, length - done, offset + done);
      if (bytesRead === 0) throw this.damaged(offset + done, 'the file ends here');
      done += bytesRead;
    }
    return buffer;
  }

  damaged(offset: number, reason: string): DamagedLog {
    return new DamagedLog(this.path, offset, reason);
  }

  sync(): void {
    fs.fdatasyncSync(this.#file);
  }

  close(): void {
    this.sync();
    fs.closeSync(this.#file);
  }

  /** Undefined for a torn record at the end of the file. */
  #payload(offset: number): Buffer | undefined {
    const rest = this.#end - offset;
    if (rest < HEADER_BYTES) return undefined;
    const header = readFully(this.#file, HEADER_BYTES, offset);
    const length = header.readUInt32BE(0);
    if (HEADER_BYTES + length > rest) return undefined;
    const payload = readFully(this.#file, length, offset + HEADER_BYTES);
    if (length > 0 && crc32(payload) === header.readUInt32BE(4)) return payload;
    if (HEADER_BYTES + length === rest) return undefined;
    // after a power loss the file system may have lengthened the file with zeros
    if (length === 0 && readFully(this.#file, rest, offset).every((byte) => byte === 0))
      return undefined;
    throw this.damaged(offset, 'the checksum is wrong and more records follow');
  }
}

const ENTRY_BYTES = 16;

/**
 * The position of each height's block in the log. Final heights are also in a file of 16-byte
 * entries, so that a start does not read the whole log.
 */
export class BlockIndex {
  readonly #path: string;
  readonly #ranges: LineRange[] = [];
  #saved = 0;

  constructor(path: string) {
    this.#path = path;
  }

  get length(): number {
    return this.#ranges.length;
  }

  at(height: number): LineRange | undefined {
    return this.#ranges[height];
  }

  /** Sets the position of a block and drops those of higher blocks. */
  set(height: number, range: LineRange): void {
    if (height > this.#ranges.length)
      throw new Error(`block ${height} would leave a gap above ${this.#ranges.length - 1}`);
    this.#ranges.length = height;
    this.#ranges.push(range);
  }

  /** Loads the heights below `count`; false, and loads none, when the file has fewer. */
  load(count: number): boolean {
    if (!fs.existsSync(this.#path)) return false;
    const bytes = fs.readFileSync(this.#path);
    if (bytes.length < count * ENTRY_BYTES) return false;
    for (let height = 0; height < count; height++) {
      const at = height * ENTRY_BYTES;
      this.#ranges.push({
        offset: Number(bytes.readBigUInt64BE(at)),
        length: bytes.readUInt32BE(at + 8),
      });
    }
    this.#saved = count;
    return true;
  }

  /** Writes the heights below `count`, which must be final. */
  save(count: number): void {
    if (count <= this.#saved) return;
    const bytes = Buffer.alloc((count - this.#saved) * ENTRY_BYTES);
    for (const [entry, { offset, length }] of this.#ranges.slice(this.#saved, count).entries()) {
      bytes.writeBigUInt64BE(BigInt(offset), entry * ENTRY_BYTES);
      bytes.writeUInt32BE(length, entry * ENTRY_BYTES + 8);
    }
    const file = fs.openSync(this.#path, fs.constants.O_RDWR | fs.constants.O_CREAT);
    writeFully(file, bytes, this.#saved * ENTRY_BYTES);
    fs.fdatasyncSync(file);
    fs.closeSync(file);
    this.#saved = count;
  }
}

function splitLines(payload: Buffer, start: number): readonly LogLine[] {
  const lines: LogLine[] = [];
  for (let at = 0; at < payload.length;) {
    const end = payload.indexOf(0x0a, at);
    const range = { offset: start + at, length: end - at };
    lines.push({ text: payload.toString('utf8', at, end), range });
    at = end + 1;
  }
  return lines;
}

function writeFully(file: number, bytes: Buffer, position: number): void {
  for (let written = 0; written < bytes.length;)
    written += fs.writeSync(file, bytes, written, bytes.length - written, position + written);
}

function readFully(file: number, length: number, position: number): Buffer {
  const buffer = Buffer.allocUnsafe(length);
  for (let read = 0; read < length;) {
    const bytes = fs.readSync(file, buffer, read, length - read, position + read);
    if (bytes === 0) throw new Error('the file became shorter while it was read');
    read += bytes;
  }
  return buffer;
}
