/**
 * Shows a topic: reads on through every failure of the brokers, each record once and in the order
 * of its partition, and holds little of it at a time.
 */
import { partitionKey, type Positions } from '../../runtime/kafka/position.ts';
import { LogReader } from '../../runtime/kafka/reader.ts';
import type { LogRecord } from '../../runtime/kafka/record.ts';
import type { Chunk } from '../../runtime/kafka/chunk-queue.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import type { Fault } from '../../runtime/process/errors.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { retrying } from '../../runtime/process/retry.ts';
import type { PartitionRange } from './range.ts';
import type { RecordSchemas } from './records.ts';

/** The limit of bytes fetched ahead of the shown records. */
const AHEAD_BYTES_MAX = 4 * 1024 * 1024;
const CHUNK_RECORDS = 2_000;
/** Text is written in pieces of about this many characters. */
const PIECE_CHARACTERS = 256 * 1024;

export interface TailOptions {
  readonly kafka: Kafka;
  readonly topic: string;
  /** of the partitions that are read */
  readonly ranges: readonly PartitionRange[];
  readonly schemas: Pick<RecordSchemas, 'knows' | 'learn'>;
  /** the text of a record, line end included; undefined when the record does not match */
  readonly render: (partition: number, record: LogRecord) => string | undefined;
  /** takes a piece of text of any number of records; false when no more is wanted */
  readonly write: (text: string) => Promise<boolean>;
  /** called when something does not answer, and with undefined when it does; `what` was asked */
  readonly onFault: (fault: Fault | undefined, what: string) => void;
  /** records that are shown, at most */
  readonly limit: number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Ends when all ranges are read, the limit is reached, no more is wanted, or the signal is aborted.
 * Resolves to how many records within the ranges were read and shown. Throws `LogLost`.
 */
export async function tailLog(
  options: TailOptions,
): Promise<{ readonly read: number; readonly shown: number }> {
  const tail = new Tail(options);
  if (tail.next.size === 0) return tail;
  const { kafka, topic, log, signal } = options;
  const reader = new LogReader({
    kafka,
    topics: [topic],
    log,
    retrying: (what, attempt) => tail.retrying(what, attempt),
    positions: () => Promise.resolve(tail.positions),
    ahead_bytes_max: AHEAD_BYTES_MAX,
    lenient: true,
  });
  const stop = (): void => void reader.close();
  signal.addEventListener('abort', stop, { once: true });
  try {
    await reader.start();
    while (!signal.aborted) {
      const chunk = await reader.take(CHUNK_RECORDS, AHEAD_BYTES_MAX);
      if (chunk === undefined) break;
      const open = tail.next.size;
      if (!(await tail.show(chunk)) || tail.next.size === 0) break;
      // without the partition that has been read to its end
      if (tail.next.size < open) reader.rewind();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    await reader.close();
  }
  return tail;
}

class Tail {
  read = 0;
  shown = 0;
  readonly #options: TailOptions;
  readonly #ranges: ReadonlyMap<number, PartitionRange>;
  /** by partition, the offset that comes next, of those that are not read to their end */
  readonly next: Map<number, bigint>;
  #text = '';
  /** false when no more is wanted; a piece is written while the next one is made */
  #writing: Promise<boolean> = Promise.resolve(true);

  constructor(options: TailOptions) {
    this.#options = options;
    this.#ranges = new Map(options.ranges.map((range) => [range.partition, range]));
    const open = options.ranges.filter(({ from, to }) => to === undefined || from < to);
    this.next = new Map(open.map(({ partition, start }) => [partition, start]));
  }

  get positions(): Positions {
    const entries = [...this.next].map(
      ([partition, next_offset]) =>
        [partitionKey(this.#options.topic, partition), { next_offset, last_record: null }] as const,
    );
    return new Map(entries);
  }

  retrying<Result>(what: string, attempt: () => Promise<Result>): Promise<Result> {
    const { log, signal, onFault } = this.#options;
    return retrying({ what, log, signal, onFault: (fault) => onFault(fault, what) }, attempt);
  }

  /** Every record that is within its range. False when no more is wanted. */
  async show({ partition, records }: Pick<Chunk, 'partition' | 'records'>): Promise<boolean> {
    const range = this.#ranges.get(partition);
    if (range === undefined || !this.next.has(partition)) return true;
    const { from, to = Infinity, before = Infinity } = range;
    const { render, schemas, limit, topic } = this.#options;
    const place = partitionKey(topic, partition);
    for (const record of records) {
      // the reader may have gone back while this chunk is shown
      if (record.offset < (this.next.get(partition) ?? 0n)) continue;
      const next = record.offset + 1n;
      const isPast = next > to || record.timestamp >= before;
      if (isPast || next === to) this.next.delete(partition);
      else this.next.set(partition, next);
      if (isPast) break;
      if (record.offset < from) continue;
      this.read++;
      if (!schemas.knows(record.value))
        await this.retrying(`asking for the schema of ${place}@${record.offset}`, () =>
          schemas.learn(record.value),
        );
      const text = render(partition, record);
      if (text === undefined) continue;
      this.#text += text;
      this.shown++;
      if (this.shown >= limit) break;
      if (this.#text.length >= PIECE_CHARACTERS && !(await this.#flush())) return false;
    }
    return (await this.#flush()) && (await this.#writing) && this.shown < limit;
  }

  /** Hands the text on when all before it is written. */
  async #flush(): Promise<boolean> {
    const text = this.#text;
    this.#text = '';
    if (!(await this.#writing)) return false;
    if (text === '') return true;
    this.#writing = this.#options.write(text);
    this.#writing.catch(() => undefined);
    return true;
  }
}
