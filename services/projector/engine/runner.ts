/**
 * Runs one projection: topics to Postgres to change notifications in Redis. Transient faults (a
 * server is away, a deadlock) are retried without end. A log that cannot be right halts the
 * projection; the process stays up to report it.
 */
import type { Pool } from 'pg';
import type { Outcomes, Projection } from '../../../projections/contract/projection.ts';
import type { Decoder } from '../../runtime/kafka/codec.ts';
import { watchLog, type Retrying } from '../../runtime/kafka/ends.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import { LogLost } from '../../runtime/kafka/position.ts';
import { withFaults } from '../../runtime/postgres/pool.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { Logger } from '../../runtime/process/log.ts';
import type { Metrics } from '../../runtime/process/metrics.ts';
import { aborted, retrying } from '../../runtime/process/retry.ts';
import { NO_SPAN, type Tracing } from '../../runtime/process/tracing.ts';
import type { NotificationPublisher } from '../../runtime/redis.ts';
import { terminateStalledWriters } from '../tables/live-tables.ts';
import type { Applied } from './apply-batch.ts';
import type { LoadStatus } from './batch-writer.ts';
import type { Batch } from './batches.ts';
import { readCheckpoints } from './checkpoint.ts';
import { Engine } from './engine.ts';
import { Progress, recordsIn } from './progress.ts';

const SILENCE_MS = 10_000;
/** A notification with more keys has none: its readers then read everything again. */
const NOTIFICATION_KEYS_MAX = 1_000;
const BATCH_RECORDS = [1, 2, 5, 10, 50, 100, 500, 1_000, 5_000, 20_000, 100_000];

export interface RunnerOptions<Event extends { readonly type: string }> {
  readonly projection: Projection<Event>;
  readonly kafka: Kafka;
  readonly codec: Decoder;
  readonly pool: Pool;
  readonly notifications: NotificationPublisher;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** off when not given */
  readonly tracing?: Tracing | undefined;
  readonly signal: AbortSignal;
  /** the consumer group; `projector-<name>` when not given */
  readonly group_id?: string;
  /** how long the brokers may be silent before this counts as waiting; 10 s when not given */
  readonly silence_ms?: number;
  readonly kafka_session_ms?: number | undefined;
}

export type RunnerStatus =
  | LoadStatus
  | { readonly status: 'running' }
  | { readonly status: 'waiting'; readonly fault: Fault }
  | { readonly status: 'halted'; readonly reason: string; readonly remedy: string }
  | { readonly status: 'stopped' };

export class Runner<Event extends { readonly type: string }> {
  readonly #options: RunnerOptions<Event>;
  readonly #progress: Progress;
  readonly #stopping = new AbortController();
  /** the caller's signal, or our own when the projection has halted */
  readonly #signal: AbortSignal;
  readonly #metrics;
  readonly #engine: Engine<Event>;
  /** the failed attempts that are being retried, by name */
  readonly #faults = new Map<string, Fault>();
  #status: RunnerStatus = { status: 'starting' };

  constructor(options: RunnerOptions<Event>) {
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, this.#stopping.signal]);
    const { projection, metrics, log } = options;
    this.#metrics = projectionMetrics(metrics, {
      isHalted: () => this.#status.status === 'halted',
      load: () => this.#engine.loading,
    });
    this.#progress = new Progress({
      metrics,
      log,
      silence_ms: options.silence_ms ?? SILENCE_MS,
      checkpoints: () => withFaults(readCheckpoints(options.pool, projection)),
      onUndone: () => this.#engine.rewind(),
    });
    this.#engine = new Engine({
      projection,
      kafka: options.kafka,
      codec: options.codec,
      pool: options.pool,
      log,
      tracing: options.tracing,
      kafka_session_ms: options.kafka_session_ms,
      group_id: options.group_id ?? `projector-${projection.name}`,
      signal: this.#signal,
      applied: this.#progress.applied,
      retrying: this.#retrying,
      onPositions: () => this.#begun(),
      onApplied: (batch, applied, seconds) => {
        this.#metrics.batch.observe(seconds);
        this.#publish(batch, applied);
      },
      onConflict: () => this.#metrics.conflicts.inc(),
      onSkipped: () => this.#metrics.records.inc({ outcome: 'skipped' }),
      onHalted: (lost) =>
        (this.#status =
          lost === undefined
            ? { status: 'running' }
            : {
                status: 'halted',
                reason: lost.message,
                remedy: lost.remedyFor(projection.name),
              }),
    });
  }

  get status(): RunnerStatus {
    if (this.#status.status === 'halted' || this.#status.status === 'stopped') return this.#status;
    const fault = this.#faults.values().next().value ?? this.#progress.silence;
    if (fault !== undefined) return { status: 'waiting', fault };
    return this.#status.status === 'running'
      ? (this.#engine.loading ?? this.#status)
      : this.#status;
  }

  /** Another process of the consumer group has all partitions. */
  get is_standing_by(): boolean {
    return this.#engine.is_standing_by;
  }

  /** Runs until the signal is aborted, also when halted. Throws only bugs. */
  async run(): Promise<void> {
    const engine = this.#engine;
    const watching = this.#watch();
    try {
      await engine.start();
      if (!this.#signal.aborted) await engine.begin();
      await engine.run();
    } catch (error) {
      if (error instanceof LogLost) this.#halt(error);
      // the last fault of a retry that the shutdown ended; it is logged already
      else if (!(this.#signal.aborted && error instanceof Fault)) throw error;
    } finally {
      if (this.#status.status !== 'halted') this.#status = { status: 'stopped' };
      this.#stopping.abort();
      await Promise.all([engine.close(), watching]);
    }
    await aborted(this.#options.signal);
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
      onLooked: (fault) => this.#progress.looked(fault),
    });
  }

  #publish(
    { topic, partition, span = NO_SPAN }: Batch<Event>,
    { outcomes, announced, rows, next_offset: nextOffset }: Applied,
  ): void {
    const { projection, notifications } = this.#options;
    this.#metrics.count(outcomes);
    this.#metrics.rows.inc(rows);
    if (announced.length === 0) return;
    const keys = announced.length > NOTIFICATION_KEYS_MAX ? [] : announced;
    const position = { topic, partition, next_offset: nextOffset.toString() };
    const notify = span.child('notify');
    const { traceparent } = notify.headers ?? {};
    notifications.publish(
      `projection:${projection.name}`,
      JSON.stringify({ projection: projection.name, keys, position, traceparent }),
      notify,
    );
  }

  #begun(): void {
    if (this.#status.status !== 'starting') return;
    const { name, version } = this.#options.projection;
    this.#options.log.info({ projection: name, version }, 'projecting');
    this.#status = { status: 'running' };
  }

  readonly #retrying: Retrying = (what, attempt) => {
    const { pool, log } = this.#options;
    const onFault = (fault: Fault | undefined): void => {
      if (fault === undefined) this.#faults.delete(what);
      else this.#faults.set(what, fault);
      if (fault?.code === 'storage_conflict') void terminateStalledWriters(pool, log);
    };
    return retrying({ what, log, signal: this.#signal, onFault }, attempt);
  };

  #halt(lost: LogLost): void {
    if (this.#status.status === 'halted') return;
    const { name } = this.#options.projection;
    const [reason, remedy] = [lost.message, lost.remedyFor(name)];
    this.#status = { status: 'halted', reason, remedy };
    this.#options.log.error({ projection: name, reason, remedy }, 'projection halted');
    this.#stopping.abort();
  }
}

/** `isHalted` and `load` are asked at each scrape. */
function projectionMetrics(
  metrics: Metrics,
  { isHalted, load }: { isHalted: () => boolean; load: () => LoadStatus | undefined },
) {
  metrics.gauge('projection_halted', '1 while the projection is halted', [], function () {
    this.set(Number(isHalted()));
  });
  metrics.gauge('projection_loading', '1 while the tables are loaded or indexed', [], function () {
    const status = load()?.status;
    this.set(Number(status === 'loading' || status === 'building'));
  });
  const records = metrics.counter('projection_records_total', 'records of the log by outcome', [
    'outcome',
  ]);
  const batchRecords = metrics.histogram(
    'projection_batch_records',
    'records in one transaction',
    [],
    BATCH_RECORDS,
  );
  return {
    records,
    /** Counts the records of one transaction. */
    count(outcomes: Outcomes): void {
      for (const [outcome, count] of Object.entries(outcomes)) records.inc({ outcome }, count);
      batchRecords.observe(recordsIn(outcomes));
    },
    rows: metrics.counter('projection_rows_total', 'rows written or deleted'),
    batch: metrics.histogram('projection_batch_seconds', 'duration of one transaction'),
    conflicts: metrics.counter(
      'projection_conflicts_total',
      'batches that another projector had applied',
    ),
  };
}
