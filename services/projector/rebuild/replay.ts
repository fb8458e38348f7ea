/**
 * Folds a log into tables that nobody reads: writes rows and checkpoints, publishes and measures
 * nothing. Goes from its checkpoints to given ends and waits there for the next call. One step
 * follows the other, here or in Postgres, with pauses while loading: a load takes twice as long as
 * it could, and readers of the live tables do not notice it.
 */
import type { Pool } from 'pg';
import type { Projection } from '../../../projections/contract/projection.ts';
import { applyBatch, type Applied, type Conflict } from '../engine/apply-batch.ts';
import { BatchLookahead, type Batch, type LoadExtent } from '../engine/batches.ts';
import type { Offsets } from '../engine/progress.ts';
import { readPositions } from '../engine/checkpoint.ts';
import type { Chunk } from '../../runtime/kafka/chunk-queue.ts';
import type { Decoder } from '../../runtime/kafka/codec.ts';
import { poisonAt } from '../../runtime/kafka/decode.ts';
import type { Retrying } from '../../runtime/kafka/ends.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import { partitionKey, unreadable, type Positions } from '../../runtime/kafka/position.ts';
import { LogReader } from '../../runtime/kafka/reader.ts';
import { Skips, type RecordAt } from '../../runtime/kafka/skips.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { skipRecord } from '../engine/quarantine.ts';
import { aborted, retrying, untilAborted } from '../../runtime/process/retry.ts';

/** Fetches once, and not again before that is taken. */
const READ_AHEAD_BYTES = 1;
/** Pause after each batch of a load, in multiples of the batch's duration. */
const PAUSE = 1;
/** A batch may have waited for a server that was away. */
const PAUSE_MS_MAX = 2_000;
const POLL_MS = 250;

export interface ReplayOptions<Event extends { readonly type: string }> {
  /** its name is that of the tables to fold into */
  readonly projection: Projection<Event>;
  readonly kafka: Kafka;
  readonly codec: Decoder;
  /** its search_path is those tables */
  readonly pool: Pool;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** never applies records at or beyond the ends; else the last batch may go beyond */
  readonly exact?: boolean;
  /** called with the records of each batch */
  readonly onApplied?: (records: number) => void;
}

export class Replay<Event extends { readonly type: string }> implements LoadExtent {
  readonly #options: ReplayOptions<Event>;
  readonly #reader: LogReader;
  readonly #batches: BatchLookahead<Event>;
  readonly #skips: Skips;
  readonly #applied = new Map<string, bigint>();
  #clusterId = '';
  #ends: Offsets = new Map();
  #isLoading = false;
  /** records at or beyond the ends were read and dropped */
  #hasDropped = false;

  constructor(options: ReplayOptions<Event>) {
    this.#options = options;
    const { projection, codec } = options;
    this.#skips = new Skips(options);
    this.#reader = new LogReader({
      ...options,
      topics: projection.topics,
      retrying: this.#retrying,
      positions: () => this.#positions(),
      ahead_bytes_max: READ_AHEAD_BYTES,
    });
    this.#batches = new BatchLookahead({
      projection,
      codec,
      take: (records, bytes) => this.#take(records, bytes),
      retrying: this.#retrying,
      load: this,
    });
  }

  /** First offset not applied yet, by `partitionKey`. */
  get applied(): Offsets {
    return this.#applied;
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  goesBeyond(topic: string, partition: number, offset: bigint): boolean {
    return this.#endOf(topic, partition) > offset + 1n;
  }

  /** Starts to read. Throws a fault when the signal is aborted. */
  async start(): Promise<void> {
    const { signal } = this.#options;
    if (signal.aborted) throw stopped();
    await this.#reader.start();
  }

  async close(): Promise<void> {
    await this.#reader.close();
  }

  /**
   * Applies everything below the ends; `loading`: the tables have no indexes yet. Throws `LogLost`,
   * a fault without retry, and the last fault when the signal is aborted. One call at a time.
   */
  async advance(ends: Offsets, { loading }: { readonly loading: boolean }): Promise<void> {
    const { signal } = this.#options;
    this.#ends = ends;
    this.#isLoading = loading;
    if (this.#hasDropped) this.#rewind();
    const stop = aborted(signal);
    while (!this.#hasReached(ends)) {
      const begun = performance.now();
      const batch = await Promise.race([this.#batches.next(), stop]);
      if (batch === undefined) throw stopped();
      if (!this.#reader.isStale(batch)) await this.#apply(batch);
      if (this.#isLoading)
        await untilAborted(Math.min(PAUSE_MS_MAX, (performance.now() - begun) * PAUSE), signal);
    }
  }

  /** Reads the checkpoints again: Postgres may have lost the last commits. */
  async refresh(): Promise<void> {
    this.#applied.clear();
    await this.#retrying('reading the checkpoints', () => this.#positions());
    this.#rewind();
  }

  #hasReached(ends: Offsets): boolean {
    return [...ends].every(([key, end]) => (this.#applied.get(key) ?? 0n) >= end);
  }

  #endOf(topic: string, partition: number): bigint {
    return this.#ends.get(partitionKey(topic, partition)) ?? 0n;
  }

  async #take(recordsMax: number, bytesMax: number): Promise<Chunk | undefined> {
    for (;;) {
      const chunk = await this.#reader.take(recordsMax, bytesMax);
      if (chunk === undefined || this.#options.exact !== true) return chunk;
      const end = this.#endOf(chunk.topic, chunk.partition);
      const records = chunk.records.filter(({ offset }) => offset < end);
      if (records.length < chunk.records.length) this.#hasDropped = true;
      const next = chunk.next < end ? chunk.next : end;
      if (next > chunk.from) return { ...chunk, next, records };
    }
  }

  #rewind(): void {
    this.#hasDropped = false;
    this.#reader.rewind();
  }

  async #apply(batch: Batch<Event>): Promise<void> {
    const { topic, partition } = batch;
    if (batch.next > batch.from) {
      const applied = await this.#write(batch);
      if (applied.outcome !== 'applied') return this.#rewind();
      this.#applied.set(partitionKey(topic, partition), applied.next_offset);
      this.#options.onApplied?.(batch.events.length);
      if (applied.broken !== undefined) {
        const { offset, reason } = applied.broken;
        return await this.#skip({ topic, partition, ...poisonAt(batch, offset, reason) }, reason);
      }
    }
    if (batch.poison !== undefined)
      await this.#skip({ topic, partition, ...batch.poison }, batch.poison.reason);
  }

  /** Skips a record that a person had skipped. Throws `LogLost` for any other. */
  async #skip(record: RecordAt, reason: string): Promise<void> {
    const { topic, partition, offset } = record;
    const { pool, projection } = this.#options;
    await this.#retrying('reading the skips', () => this.#skips.refresh());
    if (!this.#skips.has(record)) throw unreadable(record, reason);
    const isMoved = await this.#retrying('skipping a record', () =>
      skipRecord(pool, projection, this.#clusterId, record),
    );
    if (isMoved) this.#applied.set(partitionKey(topic, partition), offset + 1n);
    this.#rewind();
  }

  async #write(batch: Batch<Event>): Promise<Applied | Conflict> {
    const { projection, pool, signal } = this.#options;
    for (;;) {
      const loading = this.#isLoading;
      const to = { pool, projection, cluster_id: this.#clusterId, signal, loading };
      const applied = await this.#retrying('applying a batch', () => applyBatch(to, batch));
      if (applied.outcome === 'applied' || applied.outcome === 'conflict') return applied;
      if (applied.outcome === 'not_indexed') {
        throw new Fault(
          'not_indexed',
          `the tables of ${projection.name} have no indexes, and are not being loaded`,
          { retry: false },
        );
      }
      // another process has built the indexes of these tables, or builds them
      if (applied.phase === 'live') this.#isLoading = false;
      else await untilAborted(POLL_MS, signal);
      if (signal.aborted) throw stopped();
    }
  }

  async #positions(): Promise<Positions> {
    const { kafka, pool, projection } = this.#options;
    const read = await readPositions(kafka, pool, projection);
    for (const [key, { next_offset: next }] of read.positions) this.#applied.set(key, next);
    this.#clusterId = read.cluster_id;
    return read.positions;
  }

  readonly #retrying: Retrying = (what, attempt) => {
    const { log, signal } = this.#options;
    return retrying({ what, log, signal, onFault: throwForPerson }, attempt);
  };
}

/** A person has to mend the registry, and hears of it from the caller. */
function throwForPerson(fault: Fault | undefined): void {
  if (fault?.code === 'another_registry') throw fault;
}

function stopped(): Fault {
  return new Fault('stopped', 'stopped: the next start goes on from here', { retry: true });
}
