/** What was fetched and not yet taken: in order, bounded by bytes. One taker. */
import { bytesOf, type LogRecord } from './record.ts';

export interface Chunk {
  readonly topic: string;
  readonly partition: number;
  /** counts assignments and rewinds */
  readonly generation: number;
  readonly records: readonly LogRecord[];
  readonly bytes: number;
}

export class ChunkQueue {
  readonly #bytesMax: number;
  #chunks: Chunk[] = [];
  #bytes = 0;
  #failed: { readonly error: unknown } | undefined;
  #waiting: { resolve: () => void } | undefined;
  #room: (() => void) | undefined;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** What comes after the end is dropped. */
  put(chunk: Chunk): void {
    if (this.#failed !== undefined) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.bytes;
    this.#wake();
  }

  isFull(): boolean {
    return this.#failed === undefined && this.#bytes >= this.#bytesMax;
  }

  /** Resolves when something was taken, or after `ms`. */
  room(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#room = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  clear(): void {
    this.#chunks = [];
    this.#bytes = 0;
    this.#room?.();
  }

  /** Ends the queue: with an error, or undefined when it is closed. The first end counts. */
  fail(error: unknown): void {
    this.#failed ??= { error };
    this.#wake();
    this.#room?.();
  }

  /** Waits for a chunk and joins to it what follows of the same partition, or splits it where it has more; one record always. Undefined when closed. */
  async take(recordsMax: number, bytesMax: number): Promise<Chunk | undefined> {
    while (this.#chunks.length === 0 && this.#failed === undefined) {
      await new Promise<void>((resolve) => {
        this.#waiting = { resolve };
      });
    }
    if (this.#failed !== undefined) {
      if (this.#failed.error === undefined) return undefined;
      throw this.#failed.error;
    }
    const first = this.#split(recordsMax, bytesMax);
    const records: LogRecord[] = [];
    let bytes = 0;
    let taken = 0;
    for (const chunk of this.#chunks) {
      const joins =
        chunk.topic === first.topic &&
        chunk.partition === first.partition &&
        chunk.generation === first.generation;
      if (
        taken > 0 &&
        (!joins ||
          records.length + chunk.records.length > recordsMax ||
          bytes + chunk.bytes > bytesMax)
      )
        break;
      for (const record of chunk.records) records.push(record);
      bytes += chunk.bytes;
      taken++;
    }
    this.#chunks.splice(0, taken);
    this.#bytes -= bytes;
    this.#room?.();
    return { ...first, records, bytes };
  }

  /** The first chunk, of which what is beyond the limits becomes a chunk of its own. */
  #split(recordsMax: number, bytesMax: number): Chunk {
    const [first] = this.#chunks;
    if (first === undefined)
      throw new Error('a queue that is neither empty nor failed has a first chunk');
    let count = 0;
    let bytes = 0;
    for (const record of first.records) {
      const more = bytes + bytesOf(record);
      if (count > 0 && (count === recordsMax || more > bytesMax)) break;
      bytes = more;
      count++;
    }
    if (count === first.records.length) return first;
    const begin = { ...first, records: first.records.slice(0, count), bytes };
    const rest = { ...first, records: first.records.slice(count), bytes: first.bytes - bytes };
    this.#chunks.splice(0, 1, begin, rest);
    return begin;
  }

  #wake(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }
}
