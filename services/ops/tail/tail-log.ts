/**
 * Shows a topic: reads on through failures of the brokers, each record once and in the order of
 * its partition, and holds little of it at a time.
 */
import { partitionKey, type Position } from '../../runtime/kafka/position.ts';
import { LogReader } from '../../runtime/kafka/reader.ts';
import type { LogRecord } from '../../runtime/kafka/record.ts';
import type { Chunk } from '../../runtime/kafka/chunk-queue.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { retrying } from '../../runtime/process/retry.ts';
import type { OnFault } from '../connections.ts';
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
  /** what it throws ends the reading */
  readonly onFault: OnFault;
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
  const { kafka, topic, ranges, log, signal } = options;
  const positions = new Map<string, Position>();
  const ends = new Map<string, bigint>();
  for (const { partition, start, from, to } of ranges) {
    if (to !== undefined && from >= to) continue;
    const key = partitionKey(topic, partition);
    positions.set(key, { next_offset: start, last_record: null });
    if (to !== undefined) ends.set(key, to);
  }
  const reader = new LogReader({
    kafka,
    topics: [topic],
    log,
    retrying: (what, attempt) => tail.retrying(what, attempt),
    positions: () => Promise.resolve(positions),
    ends,
    ahead_bytes_max: AHEAD_BYTES_MAX,
    lenient: true,
  });
  const stop = (): void => void reader.close();
  signal.addEventListener('abort', stop, { once: true });
  try {
    await reader.start();
    while (!signal.aborted) {
      const chunk = await reader.take(CHUNK_RECORDS, AHEAD_BYTES_MAX);
      if (chunk === undefined || !(await tail.show(chunk))) break;
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
  /** by partition; without those that end before a time, and have reached it */
  readonly #open: Map<number, PartitionRange>;
  #text = '';
  /** false when no more is wanted; a piece is written while the next one is made */
  #writing: Promise<boolean> = Promise.resolve(true);

  constructor(options: TailOptions) {
    this.#options = options;
    this.#open = new Map(options.ranges.map((range) => [range.partition, range]));
  }

  retrying<Result>(what: string, attempt: () => Promise<Result>): Promise<Result> {
    const { log, signal, onFault } = this.#options;
    return retrying({ what, log, signal, onFault: (fault) => onFault(fault, what) }, attempt);
  }

  /** Every record that is within its range. False when no more is wanted. */
  async show({ partition, records }: Pick<Chunk, 'partition' | 'records'>): Promise<boolean> {
    const range = this.#open.get(partition);
    if (range === undefined) return true;
    const { from, before = Infinity } = range;
    const { render, schemas, limit, topic } = this.#options;
    const place = partitionKey(topic, partition);
    for (const record of records) {
      if (record.timestamp >= before) {
        this.#open.delete(partition);
        break;
      }
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
    const isOpen = this.shown < limit && this.#open.size > 0;
    return (await this.#flush()) && (await this.#writing) && isOpen;
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
