/**
 * Folds the log of a projection into tables: from their checkpoints on it reads, decodes, folds and
 * writes batches. A projector runs it without end; a rebuild and a verification run it up to given
 * offsets, into tables that nobody reads.
 */
import type { Pool } from 'pg';
import type { Projection } from '../../../projections/contract/projection.ts';
import type { Chunk } from '../../runtime/kafka/chunk-queue.ts';
import type { Decoder } from '../../runtime/kafka/codec.ts';
import { poisonAt, type Poison } from '../../runtime/kafka/decode.ts';
import type { Retrying } from '../../runtime/kafka/ends.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import { partitionKey, type LogLost, type Positions } from '../../runtime/kafka/position.ts';
import { LogReader } from '../../runtime/kafka/reader.ts';
import { Skips } from '../../runtime/kafka/skips.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { aborted } from '../../runtime/process/retry.ts';
import { NO_SPAN, type Tracing } from '../../runtime/process/tracing.ts';
import type { Applied } from './apply-batch.ts';
import { BatchLookahead, type Batch } from './batches.ts';
import { BatchWriter, type IndexOptions, type LoadStatus } from './batch-writer.ts';
import { readPositions } from './checkpoint.ts';
import type { Offsets } from './progress.ts';
import { skipPoison } from './quarantine.ts';
import { realTime, Rests, type Timing } from './rests.ts';

const READ_AHEAD_BYTES = 32 * 1024 * 1024;
/** With rests, a fetch is small, and none follows before all of it is taken. */
const PACED = { ahead_bytes_max: 1, fetch_bytes: 1024 * 1024 };

export interface EngineOptions<Event extends { readonly type: string }> {
  /** the fold; its name is that of the tables to fold into */
  readonly projection: Projection<Event>;
  readonly kafka: Kafka;
  readonly codec: Decoder;
  /** connections whose search_path is the tables of the projection */
  readonly pool: Pool;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly retrying: Retrying;
  /** first offset not applied yet, by `partitionKey`, no matter by which process */
  readonly applied: Map<string, bigint>;
  /** off when not given */
  readonly tracing?: Tracing | undefined;
  /** the consumer group whose members share the partitions; all are read when not given */
  readonly group_id?: string;
  readonly kafka_session_ms?: number | undefined;
  /** share of the time in which a load works, above 0 and at most 1; 1 when not given */
  readonly pace?: number;
  /** of the rests that this takes; the clock and timers of the process when not given */
  readonly timing?: Timing;
  readonly indexes?: IndexOptions;
  /** a load applies no record at or beyond its ends; else its last batch may go beyond */
  readonly exact?: boolean;
  /** called when the positions to read from are known, at the start and after each rewind */
  readonly onPositions?: () => void;
  /**
   * called with the batch that a transaction began with, which has others too while loading, and
   * how long the transaction took
   */
  readonly onApplied?: (batch: Batch<Event>, applied: Applied, seconds: number) => void;
  /** another process had moved the checkpoint */
  readonly onConflict?: () => void;
  readonly onSkipped?: () => void;
  /**
   * Called when a record cannot be applied, and with undefined when a person has had it skipped.
   * Without it such a record throws `LogLost`, unless it is skipped already.
   */
  readonly onHalted?: (lost: LogLost | undefined) => void;
}

export class Engine<Event extends { readonly type: string }> {
  readonly #options: EngineOptions<Event>;
  readonly #reader: LogReader;
  readonly #skips: Skips;
  readonly #writer: BatchWriter<Event>;
  readonly #batches: BatchLookahead<Event>;
  /** undefined at full pace */
  readonly #rests: Rests | undefined;
  #clusterId = '';
  /** records at or beyond the ends of a load were read and dropped */
  #hasDropped = false;

  constructor(options: EngineOptions<Event>) {
    this.#options = options;
    const { projection, kafka, codec, pool, log, retrying, applied, tracing } = options;
    const { group_id, kafka_session_ms: kafkaSessionMs, pace = 1, indexes, signal } = options;
    this.#rests = pace < 1 ? new Rests(pace, options.timing ?? realTime(signal)) : undefined;
    this.#skips = new Skips(options);
    this.#reader = new LogReader({
      kafka,
      log,
      retrying,
      group_id,
      topics: projection.topics,
      ...(pace < 1 ? PACED : { ahead_bytes_max: READ_AHEAD_BYTES }),
      ...(kafkaSessionMs === undefined ? {} : { session_ms: kafkaSessionMs }),
      positions: () => this.#positions(),
    });
    this.#writer = new BatchWriter({
      projection,
      pool,
      kafka,
      log,
      signal,
      retrying,
      applied,
      indexes,
      rests: this.#rests,
      isStale: (batch) => this.#reader.isStale(batch),
    });
    this.#batches = new BatchLookahead({
      projection,
      codec,
      retrying,
      tracing,
      take: (records, bytes) => this.#take(records, bytes),
      load: this.#writer,
      load_bytes_max: this.#writer.load_bytes_max,
    });
  }

  /** How far a load is; undefined when the tables are loaded and have their indexes. */
  get loading(): LoadStatus | undefined {
    return this.#writer.status;
  }

  /** Another process of the consumer group has all partitions. */
  get is_standing_by(): boolean {
    return !this.#reader.is_assigned;
  }

  /** Starts to read, until the signal is aborted. */
  async start(): Promise<void> {
    const { signal } = this.#options;
    signal.addEventListener('abort', () => void this.close(), { once: true });
    if (!signal.aborted) await Promise.race([this.#reader.start(), aborted(signal)]);
  }

  /** Ends `run` after the batch in flight. Never rejects. */
  async close(): Promise<void> {
    await this.#reader
      .close()
      .catch((error: unknown) =>
        this.#options.log.warn({ err: error }, 'the consumer was not closed'),
      );
  }

  /** Reads on from the checkpoints as they are now. */
  rewind(): void {
    this.#hasDropped = false;
    this.#reader.rewind();
  }

  /** Reads the checkpoints again and goes on from them: Postgres may have lost the last commits. */
  async refresh(): Promise<void> {
    this.#options.applied.clear();
    await this.#options.retrying('reading the checkpoints', () => this.#positions());
    this.rewind();
  }

  /**
   * Finds out whether the tables have to be loaded: without indexes up to where the log ends now,
   * then with them. With `ends` they are loaded up to there, and no index is built.
   */
  async begin(ends?: Offsets): Promise<void> {
    await this.#writer.begin(ends);
    if (this.#hasDropped) this.rewind();
  }

  /**
   * Applies batches until that is so, or the engine is closed; builds the indexes when everything
   * is loaded. Throws `LogLost`, and faults that no retry mends. One call at a time.
   */
  async run(isDone?: () => boolean): Promise<void> {
    for (;;) {
      if (isDone?.() === true) return;
      if (this.#writer.is_loading) await this.#rests?.take();
      const batch = await this.#writer.next(this.#batches, isDone);
      if (batch === undefined) return;
      if (batch === 'loaded') await this.#writer.buildIndexes();
      else if (!this.#reader.isStale(batch))
        await (batch.span ?? NO_SPAN).run(() => this.#apply(batch));
    }
  }

  /** Applies everything below these offsets. Throws a fault when the engine is closed before. */
  async reach(ends: Offsets): Promise<void> {
    await this.run(() => this.#hasReached(ends));
    if (!this.#hasReached(ends)) throw stopped();
  }

  /** Loads the tables and builds their indexes. Throws a fault when the engine is closed before. */
  async finishLoad(): Promise<void> {
    await this.run(() => !this.#writer.is_loading);
    if (this.#writer.is_loading) throw stopped();
  }

  #hasReached(ends: Offsets): boolean {
    return [...ends].every(([key, end]) => (this.#options.applied.get(key) ?? 0n) >= end);
  }

  async #take(recordsMax: number, bytesMax: number): Promise<Chunk | undefined> {
    for (;;) {
      const chunk = await this.#reader.take(recordsMax, bytesMax);
      if (chunk === undefined || this.#options.exact !== true) return chunk;
      const end = this.#writer.endOf(chunk.topic, chunk.partition);
      const records = chunk.records.filter(({ offset }) => offset < end);
      if (records.length < chunk.records.length) this.#hasDropped = true;
      const next = chunk.next < end ? chunk.next : end;
      if (next > chunk.from) return { ...chunk, next, records };
    }
  }

  async #apply(batch: Batch<Event>): Promise<void> {
    const { topic, partition } = batch;
    const { applied: reached, onApplied, onConflict } = this.#options;
    if (batch.next > batch.from) {
      const begun = performance.now();
      const applied = await this.#writer.apply(batch, this.#batches, this.#clusterId);
      if (applied.outcome === 'conflict') {
        onConflict?.();
        return this.rewind();
      }
      reached.set(partitionKey(topic, partition), applied.next_offset);
      onApplied?.(batch, applied, (performance.now() - begun) / 1_000);
      if (applied.broken !== undefined)
        return this.#skip(batch, poisonAt(batch, applied.broken.offset, applied.broken.reason));
      this.#reader.commit(topic, partition, applied.next_offset);
    }
    if (batch.poison !== undefined) await this.#skip(batch, batch.poison);
  }

  async #skip({ topic, partition }: Batch<Event>, { reason, ...record }: Poison): Promise<void> {
    const { projection, pool, log, signal, retrying, applied } = this.#options;
    const { onSkipped, onHalted } = this.#options;
    const [skips, cluster_id] = [this.#skips, this.#clusterId];
    const isMoved = await skipPoison(
      { projection, pool, log, signal, retrying, skips, cluster_id, onHalted },
      { topic, partition, ...record },
      reason,
    );
    if (isMoved) {
      applied.set(partitionKey(topic, partition), record.offset + 1n);
      onSkipped?.();
    }
    this.rewind();
  }

  async #positions(): Promise<Positions> {
    const { kafka, pool, projection, applied, onPositions } = this.#options;
    const read = await readPositions(kafka, pool, projection);
    for (const [key, { next_offset: nextOffset }] of read.positions) applied.set(key, nextOffset);
    this.#clusterId = read.cluster_id;
    onPositions?.();
    return read.positions;
  }
}

function stopped(): Fault {
  return new Fault('stopped', 'stopped: the next start goes on from here', { retry: true });
}
