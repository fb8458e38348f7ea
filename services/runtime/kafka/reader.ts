/**
 * Reads topics from the positions of checkpoints, all partitions or those that a consumer group
 * gives to this process. Offsets committed to Kafka are never read. A log that is another one, or
 * has lost records, ends the reader with `LogLost`.
 */
import type { Logger } from '../process/log.ts';
import { ChunkQueue, type Chunk } from './chunk-queue.ts';
import { disconnect } from './client.ts';
import { lookAtLog, type Retrying } from './ends.ts';
import { Membership } from './membership.ts';
import { PartitionLog } from './partition-log.ts';
import { errorType, kafkaFault, type Assigned, type Fetcher, type Kafka } from './port.ts';
import { partitionKey, type Positions } from './position.ts';
import { bytesOf, type LogRecord } from './record.ts';

const COMMIT_EVERY_MS = 2_000;

/** The least that brokers allow by default. */
const SESSION_MS = 6_000;
const FETCH_BYTES = 8 * 1024 * 1024;
/** At the end of the log, until it is asked again. */
const WAIT_MS = 1_000;

export interface LogReaderOptions {
  readonly kafka: Kafka;
  /** the group whose members share the partitions; all are read when not given */
  readonly group_id?: string | undefined;
  readonly topics: readonly string[];
  readonly log: Logger;
  /** retries faults of the brokers and of `positions` */
  readonly retrying: Retrying;
  /** called at the start, on each assignment and on each rewind */
  readonly positions: () => Promise<Positions>;
  /** limit of what is fetched and not taken yet */
  readonly ahead_bytes_max: number;
  /** limit of one answer of the brokers; default 8 MiB */
  readonly fetch_bytes?: number | undefined;
  /**
   * Reads ranges: of each partition that has a position, wherever the log begins, the records below
   * its end, by `partitionKey`; without an end for ever. A log that does not hold them ends the
   * reader with a fault with retry. Default: all partitions, and each offset from 0 on counts.
   */
  readonly ends?: ReadonlyMap<string, bigint>;
  /** Reads ranges of any log: offsets may have no record, and ends may not be written yet. */
  readonly lenient?: boolean;
  /**
   * After this silence of a member another takes over; at least group.min.session.timeout.ms of the
   * brokers. Default 6,000.
   */
  readonly session_ms?: number;
}

export class LogReader {
  readonly #options: LogReaderOptions;
  readonly #queue: ChunkQueue;
  readonly #stopping = new AbortController();
  readonly #membership: Membership | undefined;
  readonly #uncommitted = new Map<string, { topic: string; partition: number; next: bigint }>();
  /** of this generation */
  readonly #fetchers = new Set<Fetcher>();
  #assigned: Assigned | undefined;
  #generation = 0;
  #committing: NodeJS.Timeout | undefined;

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.#queue = new ChunkQueue(options.ahead_bytes_max);
    const { kafka, log, topics, group_id: groupId, session_ms: sessionMs = SESSION_MS } = options;
    if (groupId !== undefined)
      this.#membership = new Membership({
        kafka,
        log,
        topics,
        group_id: groupId,
        session_ms: sessionMs,
        signal: this.#stopping.signal,
        onAssigned: (assigned) => {
          this.#assigned = assigned;
          this.#reposition();
        },
      });
  }

  /** Reads in the background, through all broker failures, until `close`. */
  async start(): Promise<void> {
    const membership = this.#membership;
    if (membership === undefined) return this.#reposition();
    await this.#options.retrying('joining the consumer group', () => membership.start());
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#committing);
    this.#queue.fail(undefined);
    await Promise.all([this.#membership?.close(), this.#endGeneration()]);
  }

  /**
   * The next records of one partition, in order; undefined when closed, and when all ranges are
   * read. Throws `LogLost`, and faults that nobody retries.
   */
  take(recordsMax: number, bytesMax: number): Promise<Chunk | undefined> {
    return this.#queue.take(recordsMax, bytesMax);
  }

  /** Whether the group has given this member any partition. */
  get is_assigned(): boolean {
    return [...(this.#assigned?.values() ?? [])].some(({ length }) => length > 0);
  }

  /** True for records taken before the last rewind or assignment: they must not be applied. */
  isStale({ generation }: Pick<Chunk, 'generation'>): boolean {
    return generation !== this.#generation;
  }

  /** Reads on from the positions of the checkpoints as they are now. */
  rewind(): void {
    this.#reposition();
  }

  /** Commits the offset to Kafka for lag tools, at most every 2 s; no service reads it back. */
  commit(topic: string, partition: number, next: bigint): void {
    this.#uncommitted.set(partitionKey(topic, partition), { topic, partition, next });
    this.#committing ??= setTimeout(() => {
      this.#committing = undefined;
      const offsets = [...this.#uncommitted.values()];
      this.#uncommitted.clear();
      for (const { topic: of, partition: each, next: offset } of offsets)
        this.#membership?.commit(of, each, offset).catch((error: unknown) => {
          this.#options.log.debug({ err: error }, 'the offset for lag tools was not committed');
        });
    }, COMMIT_EVERY_MS);
  }

  /** Drops records that were fetched, and fetches in flight. */
  async #endGeneration(): Promise<void> {
    this.#generation++;
    this.#queue.clear();
    const fetchers = [...this.#fetchers];
    this.#fetchers.clear();
    await Promise.all(fetchers.map((fetcher) => disconnect(fetcher, this.#options.log)));
  }

  #reposition(): void {
    void this.#endGeneration();
    const generation = this.#generation;
    void this.#begin(generation).catch((error: unknown) => {
      if (this.#isCurrent(generation)) this.#queue.fail(error);
    });
  }

  #isCurrent(generation: number): boolean {
    return generation === this.#generation && !this.#stopping.signal.aborted;
  }

  async #begin(generation: number): Promise<void> {
    const { topics, log, retrying, ends } = this.#options;
    const assigned = this.#assigned;
    // a member without partitions asks for the positions too: its process stands by
    if (this.#membership !== undefined && assigned === undefined) return;
    const positions = await retrying('reading the checkpoints', this.#options.positions);
    const { found, lost } = await this.#look([...(assigned?.keys() ?? topics)], positions);
    if (!this.#isCurrent(generation)) return;
    if (lost !== undefined) throw lost;
    const partitions =
      assigned === undefined
        ? found.filter(
            (at) => ends === undefined || positions.has(partitionKey(at.topic, at.partition)),
          )
        : [...assigned].flatMap(([topic, own]) => own.map((partition) => ({ topic, partition })));
    log.info(
      {
        partitions: partitions.map((at) => partitionKey(at.topic, at.partition)),
        positions: Object.fromEntries(
          [...positions].map(([key, { next_offset }]) => [key, next_offset.toString()]),
        ),
      },
      'reading',
    );
    await Promise.all(
      partitions.map(({ topic, partition }) =>
        this.#follow(generation, topic, partition, positions),
      ),
    );
    if (ends !== undefined && this.#isCurrent(generation)) this.#queue.finish();
  }

  #look(topics: readonly string[], positions: Positions): ReturnType<typeof lookAtLog> {
    const { kafka, retrying, ends, lenient } = this.#options;
    const { signal } = this.#stopping;
    return lookAtLog({ kafka, retrying, topics, positions, ends, lenient, signal });
  }

  /** Reads one partition until its end, or the next generation. */
  async #follow(
    generation: number,
    topic: string,
    partition: number,
    positions: Positions,
  ): Promise<void> {
    const { kafka, retrying, ends, lenient = false, fetch_bytes } = this.#options;
    const key = partitionKey(topic, partition);
    const begin = positions.get(key) ?? BEGINNING;
    const end = ends?.get(key);
    const fetcher = kafka.fetcher();
    this.#fetchers.add(fetcher);
    // a fetcher of an earlier generation is closed and never answers
    const topicId = await retrying('asking for the id of the topic', () =>
      this.#isCurrent(generation) ? fetcher.topicId(topic) : Promise.resolve(undefined),
    );
    if (topicId === undefined) return;
    const partitionLog = new PartitionLog({
      next_offset: begin.next_offset,
      last_record: begin.last_record,
      lenient,
      fetcher,
      topic,
      topic_id: topicId,
      partition,
      bytes_max: fetch_bytes ?? FETCH_BYTES,
      wait_ms: WAIT_MS,
    });
    const what = `reading ${key}`;
    const loss = async (): Promise<Error | undefined> => {
      const position = { ...begin, next_offset: partitionLog.next };
      return (await this.#look([topic], new Map([[key, position]]))).lost;
    };
    // a loss is returned, because no retry mends it
    const read = async (): Promise<readonly LogRecord[] | Error> => {
      if (!this.#isCurrent(generation)) return [];
      const from = partitionLog.next;
      try {
        const records = await partitionLog.read();
        // the end of the range may have been lost meanwhile
        const isShort = end !== undefined && !lenient && partitionLog.next === from;
        return (isShort ? await loss() : undefined) ?? records;
      } catch (cause) {
        if (!this.#isCurrent(generation)) return [];
        const lost = errorType(cause) === 'OFFSET_OUT_OF_RANGE' ? await loss() : undefined;
        if (lost !== undefined) return lost;
        throw kafkaFault(`${what} from offset ${partitionLog.next} failed`, cause);
      }
    };
    const isAtEnd = (): boolean => end !== undefined && partitionLog.next >= end;
    while (this.#isCurrent(generation) && !isAtEnd()) {
      const from = partitionLog.next;
      const found = await retrying(what, read);
      if (!this.#isCurrent(generation)) return;
      if (found instanceof Error) throw found;
      const isPast = end !== undefined && partitionLog.next > end;
      const next = isPast ? end : partitionLog.next;
      const records = isPast ? found.filter(({ offset }) => offset < end) : found;
      if (next > from) {
        const bytes = records.reduce((sum, record) => sum + bytesOf(record), 0);
        const covered = { topic, partition, generation, from, next };
        this.#queue.put({ ...covered, records, bytes, fetched_at: Date.now() });
      }
      while (this.#queue.isFull() && this.#isCurrent(generation)) await this.#queue.room();
    }
  }
}

const BEGINNING = { next_offset: 0n, last_record: null };
