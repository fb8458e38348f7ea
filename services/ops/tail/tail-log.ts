/** Shows a topic: reads on through every failure of the brokers, each record once and in the order of its partition, and holds little at a time. */
import { setTimeout as after } from 'node:timers/promises';
import type { Kafka } from 'kafkajs';
import type { Fault } from '../../runtime/process/errors.ts';
import { disconnect } from '../../runtime/kafka/client.ts';
import { CONFIRMATIONS, LogLost, replaced } from '../../runtime/kafka/position.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { TopicIds } from '../../runtime/kafka/topic-ids.ts';
import { aborted, retrying, untilAborted } from '../../runtime/process/retry.ts';
import { LogFetch, type Fetched } from './log-fetch.ts';
import type { PartitionRange } from './range.ts';
import { batchesIn, recordsIn, type BatchRecord, type RecordBatch } from './record-batch.ts';
import type { RecordSchemas } from './record-schemas.ts';

/** Of one answer: one is shown while the next is on its way. */
const FETCH_BYTES_MAX = 2 * 1024 * 1024;
/** So much text is handed on at once. */
const PIECE_CHARACTERS = 256 * 1024;
/** A broker that is just starting may not have its log again at once. */
const LOOK_AGAIN_MS = 1_000;
/** For what is on its way when it ends. */
const FAREWELL_MS = 2_000;

export interface Tailing {
  readonly kafka: Kafka;
  readonly topic: string;
  /** one for each partition of the topic */
  readonly ranges: readonly PartitionRange[];
  readonly schemas: RecordSchemas;
  /** the text of a record, line end included; undefined when it is not one of those that are looked for */
  readonly render: (partition: number, record: BatchRecord) => string | undefined;
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
export async function tailLog(
  tailing: Tailing,
): Promise<{ readonly read: number; readonly shown: number }> {
  const tail = new Tail(tailing);
  if (tail.isRead) return tail;
  const { kafka, topic, log, signal } = tailing;
  const fetch = new LogFetch(kafka, topic, FETCH_BYTES_MAX);
  const ids = new TopicIds(kafka);
  const stop = aborted(signal);
  let isOver = false;
  let ahead: Promise<readonly Fetched[]> | undefined;
  try {
    const id = await Promise.race([
      tail.patiently('asking for the id of the topic', () => ids.idOf(topic)),
      stop,
    ]);
    /** The id is asked for after the fetch: what was fetched is of the topic that reading began with if it has that id still. */
    const next = async (): Promise<readonly Fetched[]> => {
      const fetched = await tail.patiently('fetching', () => fetch.fetch(tail.places));
      // a connection made now would be nobody's any more
      if (isOver) return [];
      const now = await tail.patiently('asking for the id of the topic', () => ids.idOf(topic));
      if (now !== id && id !== undefined)
        throw replaced(topic, fetched[0]?.partition ?? 0, id, now);
      return fetched;
    };
    const begin = (): ReturnType<typeof next> => {
      const fetching = next();
      fetching.catch(() => undefined);
      return fetching;
    };
    ahead = begin();
    while (!signal.aborted) {
      const fetched = await Promise.race([ahead, stop]);
      if (fetched === undefined) break;
      const batches = await tail.take(fetched);
      // the next answer is on its way while this one is shown
      if (!tail.isRead) ahead = begin();
      for (const [partition, batch] of batches) if (!tail.isFull) await tail.show(partition, batch);
      if (!(await tail.written()) || tail.isFull || tail.isRead) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    isOver = true;
    await Promise.race([
      Promise.allSettled([ahead]),
      after(FAREWELL_MS, undefined, { ref: false }),
    ]);
    await Promise.all([disconnect({ disconnect: () => fetch.close() }, log), disconnect(ids, log)]);
  }
  return tail;
}

class Tail {
  read = 0;
  shown = 0;
  readonly #tailing: Tailing;
  readonly #ranges: ReadonlyMap<number, PartitionRange>;
  /** offset to fetch from next, of the partitions that are not read to their end */
  readonly #places: Map<number, bigint>;
  /** how often in a row the log did not have the place */
  readonly #missing = new Map<number, number>();
  #text = '';
  /** false when no more is wanted; a piece is written while the next one is made */
  #writing: Promise<boolean> = Promise.resolve(true);
  #isWanted = true;

  constructor(tailing: Tailing) {
    this.#tailing = tailing;
    this.#ranges = new Map(tailing.ranges.map((range) => [range.partition, range]));
    const open = tailing.ranges.filter(({ from, to }) => to === undefined || from < to);
    this.#places = new Map(open.map(({ partition, start }) => [partition, start]));
  }

  /** No more is wanted. */
  get isFull(): boolean {
    return !this.#isWanted || this.shown >= this.#tailing.limit;
  }

  /** Nothing more is to be fetched. */
  get isRead(): boolean {
    return this.#places.size === 0;
  }

  get places(): ReadonlyMap<number, bigint> {
    return new Map(this.#places);
  }

  patiently<Result>(what: string, attempt: () => Promise<Result>): Promise<Result> {
    const { log, signal, onFault } = this.#tailing;
    return retrying({ what, log, signal, onFault }, attempt);
  }

  /** What is in hand now, and moves the places behind it. */
  async take(
    fetched: readonly Fetched[],
  ): Promise<readonly (readonly [partition: number, batch: RecordBatch])[]> {
    const taken: (readonly [number, RecordBatch])[] = [];
    for (const { partition, records } of fetched) {
      const place = this.#places.get(partition);
      if (place === undefined) continue;
      if (records === undefined) {
        await this.#miss(partition, place);
        continue;
      }
      this.#missing.delete(partition);
      const to = this.#ranges.get(partition)?.to;
      for (const batch of batchesIn(records)) {
        if (batch.next_offset <= place) continue;
        taken.push([partition, batch]);
        if (to === undefined || batch.next_offset < to)
          this.#places.set(partition, batch.next_offset);
        else {
          this.#places.delete(partition);
          break;
        }
      }
    }
    return taken;
  }

  async #miss(partition: number, place: bigint): Promise<void> {
    const { topic, signal } = this.#tailing;
    const times = (this.#missing.get(partition) ?? 0) + 1;
    this.#missing.set(partition, times);
    if (times >= CONFIRMATIONS)
      throw new LogLost(
        `${topic}/${partition}: the log does not hold offset ${place} any more: its records were deleted, or its end was lost`,
        'look where it begins and ends (ops status), and tail from there',
      );
    await untilAborted(LOOK_AGAIN_MS, signal);
  }

  /** Every record of the batch that is within the range, until no more is wanted. */
  async show(partition: number, batch: RecordBatch): Promise<void> {
    const { render, schemas, limit } = this.#tailing;
    const range = this.#ranges.get(partition);
    if (range === undefined) return;
    for (const record of recordsIn(batch)) {
      if (record.offset < range.from || record.offset < range.start) continue;
      if (isPast(range, record)) {
        this.#places.delete(partition);
        return;
      }
      this.read++;
      if (!schemas.knows(record.value))
        await this.patiently('asking for a schema', () => schemas.learn(record.value));
      const rendered = render(partition, record);
      if (rendered === undefined) continue;
      this.#text += rendered;
      this.shown++;
      if (this.shown >= limit) return;
      if (this.#text.length >= PIECE_CHARACTERS && !(await this.flush())) return;
    }
  }

  /** Hands on what is in hand once all before it is written; false when no more is wanted. */
  async flush(): Promise<boolean> {
    const text = this.#text;
    this.#text = '';
    this.#isWanted &&= await this.#writing;
    if (text === '' || !this.#isWanted) return this.#isWanted;
    this.#writing = this.#tailing.write(text);
    this.#writing.catch(() => undefined);
    return true;
  }

  /** The same, and waits until that is written too. */
  async written(): Promise<boolean> {
    await this.flush();
    this.#isWanted &&= await this.#writing;
    return this.#isWanted;
  }
}

function isPast({ to, before }: PartitionRange, { offset, timestamp }: BatchRecord): boolean {
  return (to !== undefined && offset >= to) || (before !== undefined && timestamp >= before);
}
