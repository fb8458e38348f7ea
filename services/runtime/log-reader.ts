/**
 * Reads topics from where the checkpoints stand, as a member of a consumer group. Kafka's own committed offsets are never trusted: kafkajs resets them in
 * silence when the log no longer holds them. So on every assignment the partitions are paused at once, the checkpoints read, and reading goes on one record
 * before the position; that record must be the very one that was applied last. A log that is another, or that has lost records, is told as `LogLost`.
 */
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { withAdmin, kafkaFault } from './kafka-topics.ts';
import { FETCH_BYTES_MAX } from './kafka.ts';
import { bytesOf, fingerprint, toLogRecord, type LogRecord } from './log-record.ts';
import type { Logger } from './log.ts';
import { LogLost, partitionKey, recreated, startLost, type Position, type Positions } from './log-position.ts';
import { ChunkQueue, type Chunk } from './chunk-queue.ts';
import { untilAborted } from './wait.ts';

const COMMIT_EVERY_MS = 2_000;

export interface LogReaderOptions {
  readonly kafka: Kafka;
  readonly group_id: string;
  readonly topics: readonly string[];
  readonly log: Logger;
  /** does an attempt until it goes well; what the brokers or the checkpoints refuse is tried again through it */
  readonly retrying: <Result>(what: string, attempt: () => Promise<Result>) => Promise<Result>;
  /** where reading goes on: read on each assignment and each rewind */
  readonly positions: () => Promise<Positions>;
  /** what is fetched ahead of the fold, at the most */
  readonly ahead_bytes_max: number;
}

interface Reading {
  /** first offset not handed on yet */
  next: bigint;
  /** fingerprint of the record before it, once needed; the record itself until then */
  last: Buffer | LogRecord | null;
}

export class LogReader {
  readonly #options: LogReaderOptions;
  readonly #queue: ChunkQueue;
  readonly #reading = new Map<string, Reading>();
  readonly #stopping = new AbortController();
  #consumer: Consumer | undefined;
  #generation = 0;
  #committedAt = Number.NEGATIVE_INFINITY;
  #assigned: Record<string, number[]> = {};

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.#queue = new ChunkQueue(options.ahead_bytes_max);
  }

  /** Joins the group; goes on in the background, through every failure of the brokers, until `close`. */
  async start(): Promise<void> {
    await this.#options.retrying('joining the consumer group', () => this.#connect());
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    this.#queue.fail(undefined);
    await this.#consumer?.disconnect();
  }

  /**
   * The next records of one partition, in order, as many as are there within the limits; undefined when closed. Throws `LogLost`.
   */
  take(recordsMax: number, bytesMax: number): Promise<Chunk | undefined> {
    return this.#queue.take(recordsMax, bytesMax);
  }

  /** True for records taken before the last rewind or assignment: they must not be applied. */
  isStale(chunk: Chunk): boolean {
    return chunk.generation !== this.#generation;
  }

  /** Goes back (or on) to where the checkpoints stand now. */
  rewind(): void {
    this.#reposition();
  }

  /** Tells Kafka how far the checkpoints are, for lag tools alone: nothing here ever reads it back. At most once in a while. */
  commit(topic: string, partition: number, nextOffset: bigint): void {
    const now = performance.now();
    if (now - this.#committedAt < COMMIT_EVERY_MS) return;
    this.#committedAt = now;
    this.#consumer?.commitOffsets([{ topic, partition, offset: nextOffset.toString() }]).catch((error: unknown) => {
      this.#options.log.debug({ err: error }, 'the offset for lag tools was not committed');
    });
  }

  async #connect(): Promise<void> {
    const consumer = this.#options.kafka.consumer({
      groupId: this.#options.group_id,
      sessionTimeout: 6_000,
      rebalanceTimeout: 6_000,
      heartbeatInterval: 1_000,
      maxBytes: FETCH_BYTES_MAX,
      maxBytesPerPartition: FETCH_BYTES_MAX,
      minBytes: 1,
      maxWaitTimeInMs: 250,
      allowAutoTopicCreation: false,
      retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 5 },
    });
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      if (this.#consumer !== consumer) return;
      this.#assigned = payload.memberAssignment;
      this.#reposition();
    });
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (payload.restart || this.#consumer !== consumer) return;
      this.#options.log.warn({ err: payload.error }, 'the consumer gave up, joining anew');
      void this.#reconnect(consumer);
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [...this.#options.topics], fromBeginning: true });
      this.#consumer = consumer;
      await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, partitionsConsumedConcurrently: 1, eachBatch: (payload) => this.#receive(payload) });
    } catch (cause) {
      this.#consumer = undefined;
      await consumer.disconnect();
      throw kafkaFault(`topics ${this.#options.topics.join(', ')} cannot be read`, cause);
    }
  }

  async #reconnect(crashed: Consumer): Promise<void> {
    this.#consumer = undefined;
    await crashed.disconnect().catch(() => undefined);
    await untilAborted(1_000, this.#stopping.signal);
    if (this.#stopping.signal.aborted) return;
    await this.start().catch((error: unknown) => this.#queue.fail(error));
  }

  /** Synchronous up to the pause: what is fetched before the seek must not be taken for what comes next. */
  #reposition(): void {
    const generation = ++this.#generation;
    const consumer = this.#consumer;
    if (consumer === undefined) return;
    const assigned = Object.entries(this.#assigned).map(([topic, partitions]) => ({ topic, partitions }));
    if (assigned.length > 0) consumer.pause(assigned);
    this.#queue.clear();
    this.#reading.clear();
    void this.#seek(consumer, generation, assigned).catch((error: unknown) => this.#queue.fail(error));
  }

  async #seek(consumer: Consumer, generation: number, assigned: readonly { topic: string; partitions: number[] }[]): Promise<void> {
    const { log, retrying, positions } = this.#options;
    const places = await retrying('reading the checkpoints', positions);
    if (generation !== this.#generation || this.#stopping.signal.aborted) return;
    for (const { topic, partitions } of assigned) {
      for (const partition of partitions) {
        const position: Position = places.get(partitionKey(topic, partition)) ?? { next_offset: 0n, last_record: null };
        this.#reading.set(partitionKey(topic, partition), { next: position.next_offset, last: position.last_record });
        const from = position.next_offset > 0n ? position.next_offset - 1n : 0n;
        consumer.seek({ topic, partition, offset: from.toString() });
      }
    }
    if (assigned.length > 0) consumer.resume([...assigned]);
    log.info({ assigned, positions: Object.fromEntries([...places].map(([key, { next_offset }]) => [key, next_offset.toString()])) }, 'reading goes on');
  }

  async #receive({ batch, resolveOffset, heartbeat, isRunning, isStale }: EachBatchPayload): Promise<void> {
    const generation = this.#generation;
    const { topic, partition } = batch;
    const reading = this.#reading.get(partitionKey(topic, partition));
    if (reading === undefined || isStale()) return;
    const records: LogRecord[] = [];
    let bytes = 0;
    for (const message of batch.messages) {
      const record = toLogRecord(message);
      if (record.offset < reading.next) {
        if (record.offset === reading.next - 1n && !isSame(reading, record)) return this.#lost(recreated(topic, partition, record.offset));
        continue;
      }
      if (record.offset > reading.next) return await this.#gap(topic, partition, reading.next, record.offset);
      records.push(record);
      bytes += bytesOf(record);
      reading.next = record.offset + 1n;
      reading.last = record;
    }
    const last = batch.messages.at(-1);
    if (last !== undefined) resolveOffset(last.offset);
    if (records.length > 0) this.#queue.put({ topic, partition, generation, records, bytes });
    while (this.#queue.isFull() && isRunning() && generation === this.#generation) {
      await this.#queue.room(500);
      await heartbeat();
    }
  }

  /** Records are missing between what was read and what came: gone for good, or only skipped by the client. */
  async #gap(topic: string, partition: number, expected: bigint, got: bigint): Promise<void> {
    const offsets = await withAdmin(this.#options.kafka, (admin) => admin.fetchTopicOffsets(topic));
    const low = BigInt(offsets.find((entry) => entry.partition === partition)?.low ?? '0');
    if (low > expected) return this.#lost(startLost(topic, partition, low, expected));
    this.#options.log.warn({ topic, partition, expected: expected.toString(), got: got.toString() }, 'the client skipped records, reading them again');
    this.#reposition();
  }

  #lost(lost: LogLost): void {
    this.#queue.fail(lost);
  }
}

function isSame(reading: Reading, record: LogRecord): boolean {
  if (reading.last === null) return true;
  if (!Buffer.isBuffer(reading.last)) reading.last = fingerprint(reading.last);
  return reading.last.equals(fingerprint(record));
}
