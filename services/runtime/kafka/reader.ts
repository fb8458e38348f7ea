/**
 * Reads topics from the positions of checkpoints, as a member of a consumer group. Offsets
 * committed to Kafka are never read: kafkajs resets them without an error when the log no longer
 * holds them. On each assignment the partitions are paused, the checkpoints read, and reading
 * begins one record before the position: that record must be the one applied last. A log that is
 * another one, or has lost records, ends the reader with `LogLost`.
 */
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { disconnect, kafkaFault } from './client.ts';
import { findLoss, type Retrying } from './ends.ts';
import { bytesOf, fingerprint, toLogRecord, type LogRecord } from './record.ts';
import type { Logger } from '../process/log.ts';
import { hole, partitionKey, recreated, replaced, type Positions } from './position.ts';
import { TopicIds } from './topic-ids.ts';
import { ChunkQueue, type Chunk } from './chunk-queue.ts';
import { untilAborted } from '../process/retry.ts';

const COMMIT_EVERY_MS = 2_000;

/** The least that brokers allow by default. */
const SESSION_MS = 6_000;
const FETCH_BYTES = 8 * 1024 * 1024;

export interface LogReaderOptions {
  readonly kafka: Kafka;
  readonly group_id: string;
  readonly topics: readonly string[];
  readonly log: Logger;
  /** retries faults of the brokers and of `positions` */
  readonly retrying: Retrying;
  /** called on each assignment and each rewind */
  readonly positions: () => Promise<Positions>;
  /** limit of what is fetched and not taken yet */
  readonly ahead_bytes_max: number;
  /**
   * Reads any log: positions may lie behind a lost beginning, offsets may have no record, and
   * partitions without a position are not read. Default: each offset from 0 on counts.
   */
  readonly lenient?: boolean;
  /**
   * After this silence of a member another takes over; at least group.min.session.timeout.ms of the
   * brokers. Default 6,000.
   */
  readonly session_ms?: number;
}

/** Partitions of one topic, as a group assigns them. */
interface Assigned {
  readonly topic: string;
  readonly partitions: number[];
}

interface Reading {
  /** first offset not queued yet */
  next: bigint;
  /** the record before it; its fingerprint where only that is known */
  last: Buffer | LogRecord | null;
  /** since the last seek the record before `next` was seen, and is the one that was applied */
  verified: boolean;
  /** kafkajs fetches by name: a topic deleted and created again would go unnoticed */
  readonly topic_id: string;
}

export class LogReader {
  readonly #options: LogReaderOptions;
  readonly #queue: ChunkQueue;
  readonly #topicIds: TopicIds;
  readonly #reading = new Map<string, Reading>();
  readonly #stopping = new AbortController();
  #consumer: Consumer | undefined;
  readonly #uncommitted = new Map<string, { topic: string; partition: number; offset: string }>();
  /** offsets that were missing when they were last expected */
  readonly #missing = new Map<string, bigint>();
  #generation = 0;
  #committing: NodeJS.Timeout | undefined;
  #assigned: readonly Assigned[] = [];

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.#queue = new ChunkQueue(options.ahead_bytes_max);
    this.#topicIds = new TopicIds(options.kafka);
  }

  /** Joins the group; reads in the background, through all broker failures, until `close`. */
  async start(): Promise<void> {
    await this.#options.retrying('joining the consumer group', () => this.#connect());
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#committing);
    this.#queue.fail(undefined);
    const { log } = this.#options;
    const clients =
      this.#consumer === undefined ? [this.#topicIds] : [this.#consumer, this.#topicIds];
    await Promise.all(clients.map((client) => disconnect(client, log)));
  }

  /** The next records of one partition, in order; undefined when closed. Throws `LogLost`. */
  take(recordsMax: number, bytesMax: number): Promise<Chunk | undefined> {
    return this.#queue.take(recordsMax, bytesMax);
  }

  /** Whether the group has given this member any partition. */
  get isAssigned(): boolean {
    return this.#assigned.length > 0;
  }

  /** True for records taken before the last rewind or assignment: they must not be applied. */
  isStale({ generation }: Pick<Chunk, 'generation'>): boolean {
    return generation !== this.#generation;
  }

  /** Reads on from the positions of the checkpoints as they are now. */
  rewind(): void {
    if (this.#assigned.length > 0) this.#reposition();
  }

  /** Commits the offset to Kafka for lag tools, at most every 2 s; no service reads it back. */
  commit(topic: string, partition: number, nextOffset: bigint): void {
    this.#uncommitted.set(partitionKey(topic, partition), {
      topic,
      partition,
      offset: nextOffset.toString(),
    });
    this.#committing ??= setTimeout(() => {
      this.#committing = undefined;
      const offsets = [...this.#uncommitted.values()];
      this.#uncommitted.clear();
      this.#consumer?.commitOffsets(offsets).catch((error: unknown) => {
        this.#options.log.debug({ err: error }, 'the offsets for lag tools were not committed');
      });
    }, COMMIT_EVERY_MS);
  }

  async #connect(): Promise<void> {
    const session = this.#options.session_ms ?? SESSION_MS;
    const consumer = this.#options.kafka.consumer({
      groupId: this.#options.group_id,
      sessionTimeout: session,
      rebalanceTimeout: session,
      heartbeatInterval: session / 6,
      // a larger record comes alone; larger fetches would delay the heartbeat
      maxBytes: FETCH_BYTES,
      maxBytesPerPartition: FETCH_BYTES,
      minBytes: 1,
      maxWaitTimeInMs: 250,
      allowAutoTopicCreation: false,
      retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 5 },
    });
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      if (this.#consumer !== consumer) return;
      this.#assigned = Object.entries(payload.memberAssignment).map(([topic, partitions]) => ({
        topic,
        partitions,
      }));
      this.#reposition();
    });
    // a stopped consumer can neither seek nor pause until it has joined again
    consumer.on(consumer.events.STOP, () => {
      if (this.#consumer !== consumer) return;
      this.#assigned = [];
      this.#reset();
    });
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (payload.restart || this.#consumer !== consumer) return;
      this.#options.log.warn({ err: payload.error }, 'the consumer crashed, joining again');
      void this.#reconnect(consumer);
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [...this.#options.topics], fromBeginning: true });
      this.#consumer = consumer;
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: 1,
        eachBatch: (payload) => this.#receive(payload),
      });
    } catch (cause) {
      this.#consumer = undefined;
      await consumer.disconnect().catch(() => undefined);
      throw kafkaFault(`topics ${this.#options.topics.join(', ')} cannot be read`, cause);
    }
    if (this.#stopping.signal.aborted) await consumer.disconnect();
  }

  async #reconnect(crashed: Consumer): Promise<void> {
    this.#consumer = undefined;
    await crashed.disconnect().catch(() => undefined);
    await untilAborted(1_000, this.#stopping.signal);
    if (this.#stopping.signal.aborted) return;
    await this.start().catch((error: unknown) => this.#queue.fail(error));
  }

  /** Drops records that were fetched, and those of fetches in flight. */
  #reset(): number {
    this.#queue.clear();
    this.#reading.clear();
    return ++this.#generation;
  }

  /** Synchronous up to the pause: records fetched before the seek must not count as next. */
  #reposition(): void {
    const consumer = this.#consumer;
    if (consumer === undefined) return;
    const generation = this.#reset();
    const assigned = this.#assigned;
    if (assigned.length > 0) consumer.pause([...assigned]);
    void this.#seek(consumer, generation, assigned).catch((error: unknown) =>
      this.#queue.fail(error),
    );
  }

  async #seek(
    consumer: Consumer,
    generation: number,
    assigned: readonly Assigned[],
  ): Promise<void> {
    const { log, retrying, lenient = false } = this.#options;
    const positions = await retrying('reading the checkpoints', this.#options.positions);
    const ids = new Map<string, string>();
    for (const { topic } of assigned)
      ids.set(
        topic,
        await retrying('asking for the id of the topic', () => this.#topicIds.idOf(topic)),
      );
    const lost = await findLoss({
      ...this.#options,
      topics: assigned.map(({ topic }) => topic),
      positions,
      signal: this.#stopping.signal,
    });
    if (generation !== this.#generation || this.#stopping.signal.aborted) return;
    if (lost !== undefined) throw lost;
    const read = assigned.map(({ topic, partitions }) => ({
      topic,
      partitions: lenient
        ? partitions.filter((partition) => positions.has(partitionKey(topic, partition)))
        : partitions,
    }));
    for (const { topic, partitions } of read) {
      for (const partition of partitions) {
        const key = partitionKey(topic, partition);
        const { next_offset: next, last_record: last } = positions.get(key) ?? BEGINNING;
        const verified = lenient || next === 0n;
        this.#reading.set(key, { next, last, verified, topic_id: ids.get(topic) ?? '' });
        consumer.seek({ topic, partition, offset: (verified ? next : next - 1n).toString() });
      }
    }
    if (read.length > 0) consumer.resume(read);
    log.info(
      {
        assigned,
        positions: Object.fromEntries(
          [...positions].map(([key, { next_offset }]) => [key, next_offset.toString()]),
        ),
      },
      'reading',
    );
  }

  async #receive(payload: EachBatchPayload): Promise<void> {
    const generation = this.#generation;
    const { topic, partition, messages } = payload.batch;
    const key = partitionKey(topic, partition);
    const reading = this.#reading.get(key);
    if (reading === undefined || payload.isStale()) return;
    // asked after the fetch: the records are of the topic that reading began with if it still has
    // its id
    const topicId = await this.#topicIds.idOf(topic);
    if (generation !== this.#generation) return;
    if (topicId !== reading.topic_id)
      return this.#queue.fail(replaced(topic, partition, reading.topic_id, topicId));
    const records: LogRecord[] = [];
    let bytes = 0;
    for (const message of messages) {
      const record = toLogRecord(message);
      if (!reading.verified && record.offset === reading.next - 1n) {
        if (!isSame(reading, record))
          return this.#queue.fail(recreated(topic, partition, record.offset));
        reading.verified = true;
        continue;
      }
      const follows =
        record.offset === reading.next ||
        (record.offset > reading.next && this.#isHole(key, reading.next, records.length));
      if (!follows || !reading.verified)
        return this.#jumped(topic, partition, reading, record.offset);
      records.push(record);
      bytes += bytesOf(record);
      reading.next = record.offset + 1n;
      reading.last = record;
    }
    const last = messages.at(-1);
    if (last !== undefined) payload.resolveOffset(last.offset);
    if (records.length > 0) {
      if (reading.next > (this.#missing.get(key) ?? reading.next)) this.#missing.delete(key);
      this.#queue.put({ topic, partition, generation, records, bytes });
    }
    while (this.#queue.isFull() && payload.isRunning() && generation === this.#generation) {
      await this.#queue.room(500);
      await payload.heartbeat();
    }
  }

  /** A jump within one fetch is a hole in the log; one between two fetches, if repeated. */
  #isHole(key: string, expected: bigint, fetched: number): boolean {
    return this.#options.lenient === true && (fetched > 0 || this.#missing.get(key) === expected);
  }

  /**
   * kafkajs skipped to another offset, as it does when the log does not hold the wanted one.
   * Seeking again looks at the ends, which show whether records are lost; a second jump from the
   * same offset is a hole.
   */
  #jumped(topic: string, partition: number, reading: Reading, got: bigint): void {
    const expected = reading.verified ? reading.next : reading.next - 1n;
    this.#options.log.warn(
      { topic, partition, expected: expected.toString(), got: got.toString() },
      'kafkajs skipped records, reading them again',
    );
    const key = partitionKey(topic, partition);
    if (got > expected && this.#missing.get(key) === expected)
      return this.#queue.fail(hole(topic, partition, expected, got));
    this.#missing.set(key, expected);
    this.#reposition();
  }
}

const BEGINNING = { next_offset: 0n, last_record: null };

function isSame(reading: Reading, record: LogRecord): boolean {
  if (reading.last === null) return true;
  if (!Buffer.isBuffer(reading.last)) reading.last = fingerprint(reading.last);
  return reading.last.equals(fingerprint(record));
}
