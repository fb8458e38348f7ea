/** Fetched records that were not taken yet: in order, bounded by bytes, for one taker. */
import { bytesOf, type LogRecord } from './record.ts';

export interface Chunk {
  readonly topic: string;
  readonly partition: number;
  /** counts assignments and rewinds */
  readonly generation: number;
  /** the first offset; marks of transactions take offsets too, and are no records */
  readonly from: bigint;
  /** the offset after its last one */
  readonly next: bigint;
  readonly records: readonly LogRecord[];
  readonly bytes: number;
  /** when its first records came, Unix ms */
  readonly fetched_at: number;
}

export class ChunkQueue {
  readonly #bytesMax: number;
  #chunks: Chunk[] = [];
  #bytes = 0;
  #ended: { readonly error: unknown } | undefined;
  /** no chunk follows those that are here */
  #isFinished = false;
  /** resolves when there is a chunk, or the end */
  #filled = Promise.withResolvers<void>();
  /** resolves when chunks were taken or dropped */
  #drained = Promise.withResolvers<void>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Drops chunks after the end. */
  put(chunk: Chunk): void {
    if (this.#ended !== undefined) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.bytes;
    this.#filled.resolve();
  }

  isFull(): boolean {
    return this.#ended === undefined && this.#bytes >= this.#bytesMax;
  }

  /** Resolves when chunks were taken or dropped. */
  room(): Promise<void> {
    return this.#drained.promise;
  }

  clear(): void {
    this.#chunks = [];
    this.#bytes = 0;
    this.#isFinished = false;
    this.#drain();
  }

  /** Says that no chunk follows, unless the queue is cleared. */
  finish(): void {
    this.#isFinished = true;
    this.#filled.resolve();
  }

  /** Ends the queue: with an error, or undefined when it is closed. The first end counts. */
  fail(error: unknown): void {
    this.#ended ??= { error };
    this.#filled.resolve();
    this.#drain();
  }

  /**
   * Waits for records, and takes those of one partition and generation up to the limits; one record
   * always. Undefined when closed, and when all of a finished queue are taken.
   */
  async take(recordsMax: number, bytesMax: number): Promise<Chunk | undefined> {
    while (this.#chunks.length === 0 && this.#ended === undefined && !this.#isFinished) {
      this.#filled = Promise.withResolvers();
      await this.#filled.promise;
    }
    if (this.#ended?.error !== undefined) throw this.#ended.error;
    const [first] = this.#chunks;
    if (this.#ended !== undefined || first === undefined) return undefined;
    const records: LogRecord[] = [];
    let bytes = 0;
    let { next } = first;
    for (let chunk: Chunk | undefined = first; isSameRun(first, chunk); chunk = this.#chunks[0]) {
      const before = records.length;
      for (const record of chunk.records) {
        const size = bytesOf(record);
        const isFull = records.length === recordsMax || bytes + size > bytesMax;
        if (isFull && records.length > 0) break;
        records.push(record);
        bytes += size;
      }
      const rest = chunk.records.slice(records.length - before);
      next = rest[0]?.offset ?? chunk.next;
      if (rest.length > 0) {
        this.#chunks[0] = { ...chunk, from: next, records: rest };
        break;
      }
      this.#chunks.shift();
    }
    this.#bytes -= bytes;
    this.#drain();
    return { ...first, next, records, bytes };
  }

  #drain(): void {
    this.#drained.resolve();
    this.#drained = Promise.withResolvers();
  }
}

function isSameRun(first: Chunk, chunk: Chunk | undefined): chunk is Chunk {
  return (
    chunk?.topic === first.topic &&
    chunk.partition === first.partition &&
    chunk.generation === first.generation
  );
}
