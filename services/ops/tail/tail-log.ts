/** Shows a topic: reads on through every failure of the brokers, each record once and in the order of its partition, and holds little at a time. */
import { randomUUID } from 'node:crypto';
import { setTimeout as after } from 'node:timers/promises';
import type { Kafka } from 'kafkajs';
import type { Fault } from '../../runtime/errors.ts';
import { withAdmin } from '../../runtime/kafka-topics.ts';
import { partitionKey, type Positions } from '../../runtime/log-position.ts';
import { LogReader } from '../../runtime/log-reader.ts';
import type { LogRecord } from '../../runtime/log-record.ts';
import type { Logger } from '../../runtime/log.ts';
import { retrying } from '../../runtime/wait.ts';
import type { PartitionRange } from './range.ts';
import type { RecordSchemas } from './record-schemas.ts';

/** Little at a time: what waits for long outlives the young generation, and collecting it costs more than asking the brokers more often. */
const FETCH_BYTES_MAX = 1024 * 1024;
const AHEAD_BYTES_MAX = 2 * 1024 * 1024;
const TAKE_RECORDS_MAX = 2_000;
const TAKE_BYTES_MAX = 1024 * 1024;
/** So much text is handed on at once. */
const PIECE_CHARACTERS = 256 * 1024;
const FAREWELL_MS = 2_000;

export interface Tailing {
  readonly kafka: Kafka;
  readonly topic: string;
  /** one for each partition of the topic */
  readonly ranges: readonly PartitionRange[];
  readonly schemas: RecordSchemas;
  /** the text of a record, line end included; undefined when it is not one of those that are looked for */
  readonly render: (partition: number, record: LogRecord) => string | undefined;
  /** takes a piece of text of any number of records; false when no more is wanted */
  readonly write: (text: string) => Promise<boolean>;
  /** told when something does not answer, and with undefined when it does again */
  readonly onFault: (fault: Fault | undefined) => void;
  /** so many records are shown at the most */
  readonly limit: number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** How many records were looked at, and how many shown, when all ranges are done, the limit is reached, no more is wanted, or the signal came. Throws `LogLost`. */
export async function tailLog(tailing: Tailing): Promise<{ readonly read: number; readonly shown: number }> {
  const tail = new Tail(tailing);
  if (tail.isDone) return tail;
  const { kafka, topic, log, signal, onFault } = tailing;
  const groupId = `tail-${randomUUID()}`;
  const patiently = <Result>(what: string, attempt: () => Promise<Result>): Promise<Result> =>
    retrying({ what, log, signal, onFault }, attempt);
  const reader = new LogReader({
    kafka,
    group_id: groupId,
    topics: [topic],
    log,
    retrying: patiently,
    positions: () => Promise.resolve(tail.positions),
    ahead_bytes_max: AHEAD_BYTES_MAX,
    fetch_bytes_max: FETCH_BYTES_MAX,
    head_may_be_gone: true,
  });
  const close = (): void => void reader.close().catch(() => undefined);
  signal.addEventListener('abort', close, { once: true });
  try {
    await reader.start();
    while (!tail.isDone && !signal.aborted) {
      const chunk = await reader.take(TAKE_RECORDS_MAX, TAKE_BYTES_MAX);
      if (chunk === undefined) break;
      if (reader.isStale(chunk)) continue;
      await patiently('asking for schemas', () => tailing.schemas.learn(chunk.records.map(({ value }) => value)));
      if (!(await tail.show(chunk.partition, chunk.records))) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', close);
    await reader.close();
    await Promise.race([forget(kafka, groupId), after(FAREWELL_MS, undefined, { ref: false })]);
  }
  return tail;
}

async function forget(kafka: Kafka, groupId: string): Promise<void> {
  await withAdmin(kafka, (admin) => admin.deleteGroups([groupId])).catch(() => undefined);
}

class Tail {
  read = 0;
  shown = 0;
  readonly #tailing: Tailing;
  readonly #ranges: ReadonlyMap<number, PartitionRange>;
  /** offset of the next record to look at, by partition */
  readonly #places: Map<number, bigint>;
  readonly #open: Set<number>;

  constructor(tailing: Tailing) {
    this.#tailing = tailing;
    this.#ranges = new Map(tailing.ranges.map((range) => [range.partition, range]));
    this.#places = new Map(tailing.ranges.map(({ partition, start }) => [partition, start]));
    this.#open = new Set(tailing.ranges.filter(({ from, to }) => to === undefined || from < to).map(({ partition }) => partition));
  }

  get isDone(): boolean {
    return this.#open.size === 0 || this.shown >= this.#tailing.limit;
  }

  get positions(): Positions {
    const { topic } = this.#tailing;
    const places = [...this.#places].map(
      ([partition, next]) => [partitionKey(topic, partition), { next_offset: next, last_record: null }] as const,
    );
    return new Map(places);
  }

  /** False when no more is wanted. What was looked at before, and comes again after a broker went away, is passed over. */
  async show(partition: number, records: readonly LogRecord[]): Promise<boolean> {
    const { render, write, limit } = this.#tailing;
    let text = '';
    for (const record of records) {
      if (!this.#takes(partition, record)) continue;
      const rendered = render(partition, record);
      if (rendered === undefined) continue;
      text += rendered;
      this.shown++;
      if (this.shown >= limit) break;
      if (text.length < PIECE_CHARACTERS) continue;
      if (!(await write(text))) return false;
      text = '';
    }
    return text === '' || (await write(text));
  }

  #takes(partition: number, { offset, timestamp }: LogRecord): boolean {
    const range = this.#ranges.get(partition);
    const place = this.#places.get(partition) ?? 0n;
    if (range === undefined || offset < place) return false;
    this.#places.set(partition, offset + 1n);
    const isPast = (range.to !== undefined && offset >= range.to) || (range.before !== undefined && timestamp >= range.before);
    if (isPast || (range.to !== undefined && offset + 1n >= range.to)) this.#open.delete(partition);
    if (isPast || offset < range.from) return false;
    this.read++;
    return true;
  }
}
