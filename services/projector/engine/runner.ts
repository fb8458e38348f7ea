/**
 * Runs one projection: topics to Postgres to Redis notifications. Reading, decoding and writing overlap; each batch is one transaction. New tables are loaded first, without
 * indexes and notifications. What may pass (a server away, a deadlock) is retried as long as it takes; a log that cannot be right halts it, and the process stays up to say so.
 */
import type { Kafka } from 'kafkajs';
import type { Pool } from 'pg';
import type { Projection } from '../../../projections/contract/projection.ts';
import { applyBatch, type Applied, type Done } from './apply-batch.ts';
import { Batches, Coming, GROUPED_BYTES_MAX } from './batches.ts';
import { BulkLoad, type LoadStatus } from '../load/bulk-load.ts';
import { readCheckpoints, type Checkpoint } from './checkpoint.ts';
import type { Codec } from '../../runtime/kafka/codec.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { FoldAhead } from '../load/fold-ahead.ts';
import { withAdmin } from '../../runtime/kafka/client.ts';
import {
  LogLost,
  anotherCluster,
  partitionKey,
  type Positions,
} from '../../runtime/kafka/position.ts';
import { LogReader } from '../../runtime/kafka/reader.ts';
import { watchLog } from '../../runtime/kafka/ends.ts';
import type { Logger } from '../../runtime/process/log.ts';
import type { Metrics } from '../../runtime/process/metrics.ts';
import { withFaults } from '../../runtime/postgres/pool.ts';
import { type Poison } from '../../runtime/kafka/decode.ts';
import { poisonIn, type Prepared } from './prepare.ts';
import { Progress } from './progress.ts';
import { projectionFigures } from './projection-metrics.ts';
import { passOver } from './quarantine.ts';
import type { NotificationPublisher } from '../../runtime/redis.ts';
import { memoryFor, type RowMemory } from '../load/row-memory.ts';
import { endStalledWriters } from '../tables/stalled-writers.ts';
import { skipsOf, type Skips } from './skips.ts';
import { aborted, retrying } from '../../runtime/process/retry.ts';

const AHEAD_BYTES_MAX = 32 * 1024 * 1024;
const SILENCE_MS = 10_000;
/** A notification names at most so many keys; a reader that finds none reads everything it shows again. */
const NOTIFICATION_KEYS_MAX = 1_000;

export interface RunnerOptions<Event extends { readonly type: string }> {
  readonly projection: Projection<Event>;
  readonly kafka: Kafka;
  readonly codec: Codec;
  readonly pool: Pool;
  readonly notifications: NotificationPublisher;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** the consumer group; `projector-<name>` when not given, in which those of one projection share the work */
  readonly group_id?: string;
  /** how long the brokers may be silent before this counts as waiting; 10 s when not given */
  readonly silence_ms?: number;
  readonly kafka_session_ms?: number;
}

export type RunnerStatus =
  /** or loading, or building indexes */
  | LoadStatus
  | { readonly status: 'running' }
  | { readonly status: 'waiting'; readonly fault: Fault }
  | { readonly status: 'halted'; readonly reason: string; readonly remedy: string }
  | { readonly status: 'stopped' };

type Written = Exclude<Applied, { readonly outcome: 'not_loading' | 'not_indexed' }>;

export class Runner<Event extends { readonly type: string }> {
  readonly #options: RunnerOptions<Event>;
  readonly #progress: Progress;
  readonly #load: BulkLoad;
  readonly #stopping = new AbortController();
  /** the caller's, or our own once there is nothing left to do */
  readonly #signal: AbortSignal;
  readonly #figures;
  readonly #memory: RowMemory | undefined;
  readonly #ahead: FoldAhead<Event> | undefined;
  readonly #skips: Skips | undefined;
  #reader: LogReader | undefined;
  /** what is being tried again, by what it is */
  readonly #faults = new Map<string, Fault>();
  #status: RunnerStatus = { status: 'starting' };
  #clusterId = '';

  constructor(options: RunnerOptions<Event>) {
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, this.#stopping.signal]);
    const { metrics, log, silence_ms: silence = SILENCE_MS } = options;
    const checkpoints = (): Promise<readonly Checkpoint[]> => this.#checkpoints();
    this.#progress = new Progress({
      metrics,
      log,
      silence_ms: silence,
      checkpoints,
      onUndone: () => this.#reader?.rewind(),
    });
    const { applied } = this.#progress;
    this.#load = new BulkLoad({
      ...options,
      signal: this.#signal,
      applied,
      retrying: (what, attempt) => this.#retrying(what, attempt),
    });
    this.#memory = memoryFor(options.projection);
    this.#ahead = this.#memory && new FoldAhead(options.projection, options.pool, this.#memory);
    this.#skips = skipsOf(options.projection, options);
    this.#figures = projectionFigures(metrics, () => this.#status.status === 'halted');
  }

  get status(): RunnerStatus {
    if (this.#status.status === 'halted' || this.#status.status === 'stopped') return this.#status;
    const fault = this.#faults.values().next().value ?? this.#progress.silence;
    if (fault !== undefined) return { status: 'waiting', fault };
    return this.#status.status === 'running' ? (this.#load.status ?? this.#status) : this.#status;
  }

  /** Another process of the consumer group has all partitions. */
  get isStandingBy(): boolean {
    return this.#reader?.isAssigned === false;
  }

  /** Runs until the signal is aborted; a halted projection waits for that. Throws what nobody foresaw. */
  async run(): Promise<void> {
    const reader = this.#openReader();
    this.#reader = reader;
    const watching = this.#watch();
    try {
      await this.#retrying('reading what is passed over', async () => this.#skips?.refresh());
      if (!this.#signal.aborted) await Promise.race([reader.start(), aborted(this.#signal)]);
      if (!this.#signal.aborted) await this.#load.begin();
      await this.#project(reader);
    } catch (error) {
      if (error instanceof LogLost) this.#halt(error);
      // what was being tried again when the signal came ends with its last fault, which is in the log already
      else if (!(this.#signal.aborted && error instanceof Fault)) throw error;
    } finally {
      if (this.#status.status !== 'halted') this.#status = { status: 'stopped' };
      this.#stopping.abort();
      await Promise.all([this.#close(reader), watching]);
    }
    await aborted(this.#options.signal);
  }

  #openReader(): LogReader {
    const { projection, kafka, log } = this.#options;
    const reader = new LogReader({
      kafka,
      group_id: this.#options.group_id ?? `projector-${projection.name}`,
      topics: projection.topics,
      log,
      retrying: (what, attempt) => this.#retrying(what, attempt),
      ahead_bytes_max: AHEAD_BYTES_MAX,
      ...(this.#options.kafka_session_ms === undefined
        ? {}
        : { session_ms: this.#options.kafka_session_ms }),
      positions: () => this.#positions(),
    });
    // closing it is what makes `take` answer, so that the batch in hand is the last one
    this.#signal.addEventListener('abort', () => void this.#close(reader), { once: true });
    return reader;
  }

  async #close(reader: LogReader): Promise<void> {
    await reader
      .close()
      .catch((error: unknown) =>
        this.#options.log.warn({ err: error }, 'the consumer was not closed'),
      );
  }

  #watch(): Promise<void> {
    const { projection, kafka, log } = this.#options;
    return watchLog({
      kafka,
      topics: projection.topics,
      log,
      signal: this.#signal,
      every_ms: 1_000,
      applied: this.#progress.applied,
      onLag: (topic, partition, records) => this.#progress.heard(topic, partition, records),
      onLost: (lost) => this.#halt(lost),
    });
  }

  /** Decodes the next batch, and while loading folds it too, while the one before is written; many may be written together then. */
  async #project(reader: LogReader): Promise<void> {
    const batches = new Batches({
      ...this.#options,
      take: (records, bytes) => reader.take(records, bytes),
      retrying: (what, attempt) => this.#retrying(what, attempt),
      load: this.#load,
      skips: this.#skips,
      ...(this.#ahead && { load_bytes_max: GROUPED_BYTES_MAX }),
    });
    const coming = new Coming(batches, (batch) => reader.isStale(batch), this.#load);
    for (;;) {
      if (this.#load.isComplete) await this.#load.finish();
      // one that waits for its turn gets no batch, and learns from the checkpoints alone that all is loaded
      const batch = await (this.#load.isOn
        ? Promise.race([coming.following, this.#load.completed])
        : coming.following);
      if (batch === undefined) return;
      if (batch === 'completed') await this.#load.finish();
      else {
        coming.advance();
        if (!reader.isStale(batch)) await this.#applyOrRewind(reader, batch.prepared, coming);
      }
    }
  }

  async #applyOrRewind(
    reader: LogReader,
    batch: Prepared<Event>,
    coming: Coming<Event>,
  ): Promise<void> {
    if (batch.events.length > 0) {
      const applied = await this.#apply(batch, coming);
      if (applied.outcome === 'conflict') {
        this.#figures.conflicts.inc();
        return reader.rewind();
      }
      if (applied.broken !== undefined)
        return this.#pass(reader, batch, poisonIn(batch, applied.broken));
      reader.commit(batch.topic, batch.partition, applied.next_offset);
    }
    if (batch.poison !== undefined) await this.#pass(reader, batch, batch.poison);
  }

  /** A record that cannot be applied: a person may have it passed over, and until then nothing is. Throws `LogLost` where nobody may. */
  async #pass(
    reader: LogReader,
    { topic, partition }: Prepared<Event>,
    { reason, ...record }: Poison,
  ): Promise<void> {
    const isMoved = await passOver(
      {
        ...this.#options,
        skips: this.#skips,
        cluster_id: this.#clusterId,
        signal: this.#signal,
        retrying: (what, attempt) => this.#retrying(what, attempt),
        onHalted: (lost) =>
          (this.#status =
            lost === undefined
              ? { status: 'running' }
              : { status: 'halted', reason: lost.message, remedy: lost.remedy }),
      },
      { topic, partition, ...record },
      reason,
    );
    if (isMoved) this.#figures.records.inc({ outcome: 'skipped' });
    reader.rewind();
  }

  async #apply(batch: Prepared<Event>, coming: Coming<Event>): Promise<Written> {
    const { pool, projection } = this.#options;
    const timed = this.#figures.batch.startTimer();
    for (;;) {
      const loading = this.#load.isOn;
      const ahead = this.#ahead && { fold: this.#ahead, ...coming.after(batch) };
      // a live batch is done in a moment; one of a load would keep a drain waiting
      const to = {
        pool,
        projection,
        cluster_id: this.#clusterId,
        ...(this.#memory && { memory: this.#memory }),
        ...(loading && { loading, signal: this.#signal, ...(ahead && { ahead }) }),
      };
      const applied = await this.#retrying('applying a batch', () => applyBatch(to, batch));
      if (applied.outcome === 'not_loading') {
        await this.#load.follow(applied.phase);
        continue;
      }
      timed();
      if (applied.outcome === 'not_indexed') {
        await this.#load.begin();
        return { outcome: 'conflict' };
      }
      if (applied.outcome === 'applied') this.#tell(batch, applied, loading);
      return applied;
    }
  }

  /** Who asks what was projected, and who waits for news; nobody waits for what is only loaded. */
  #tell(
    batch: Prepared<Event>,
    { outcomes, announced, rows, next_offset: next }: Done,
    loading: boolean,
  ): void {
    const { projection, notifications } = this.#options;
    this.#progress.applied.set(partitionKey(batch.topic, batch.partition), next);
    const records = this.#figures.count(outcomes);
    this.#figures.rows.inc(rows);
    this.#figures.batchRecords.observe(records);
    if (loading) return this.#load.count(records);
    this.#ahead?.drop();
    if (announced.length === 0) return;
    const keys = announced.length > NOTIFICATION_KEYS_MAX ? [] : announced;
    const position = {
      topic: batch.topic,
      partition: batch.partition,
      next_offset: next.toString(),
    };
    notifications.publish(
      `projection:${projection.name}`,
      JSON.stringify({ projection: projection.name, keys, position }),
    );
  }

  /** The checkpoints, held against the cluster they were written for. */
  async #positions(): Promise<Positions> {
    const { kafka, projection, log } = this.#options;
    const { clusterId } = await withAdmin(kafka, (admin) => admin.describeCluster());
    const checkpoints = await this.#checkpoints();
    const positions = new Map<string, { next_offset: bigint; last_record: Buffer | null }>();
    for (const { topic, partition, cluster_id: was, next_offset, last_record } of checkpoints) {
      if (was !== clusterId) throw anotherCluster(topic, partition, was, clusterId);
      positions.set(partitionKey(topic, partition), { next_offset, last_record });
      this.#progress.applied.set(partitionKey(topic, partition), next_offset);
    }
    this.#clusterId = clusterId;
    if (this.#status.status === 'starting') {
      log.info({ projection: projection.name, version: projection.version }, 'projecting');
      this.#status = { status: 'running' };
    }
    return positions;
  }

  #checkpoints(): Promise<readonly Checkpoint[]> {
    const { pool, projection } = this.#options;
    const id = { projection: projection.name, version: projection.version };
    return withFaults(readCheckpoints(pool, id));
  }

  #retrying<Result>(what: string, attempt: () => Promise<Result>): Promise<Result> {
    const { pool, log } = this.#options;
    const onFault = (fault: Fault | undefined): void => {
      if (fault === undefined) this.#faults.delete(what);
      else this.#faults.set(what, fault);
      if (fault?.code === 'storage_conflict') void endStalledWriters(pool, log);
    };
    return retrying({ what, log, signal: this.#signal, onFault }, attempt);
  }

  #halt({ message: reason, remedy }: LogLost): void {
    if (this.#status.status === 'halted') return;
    this.#status = { status: 'halted', reason, remedy };
    this.#options.log.error(
      { projection: this.#options.projection.name, reason, remedy },
      'projection halted',
    );
    this.#stopping.abort();
  }
}
