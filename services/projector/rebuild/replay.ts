/**
 * Folds a log into tables that nobody reads: no hint, no figure, nothing but rows and checkpoints. It goes from where its own checkpoints stand to given ends and
 * waits there to be told how to go on. One thing is done after the other, here or at the server, so that it takes one processor and no more, and half the time
 * none: a load takes twice as long as it could, and whoever reads does not notice.
 */
import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import type { Pool } from 'pg';
import type { Projection } from '../../../projections/contract/projection.ts';
import { applyBatch, type Applied } from '../engine/apply-batch.ts';
import { Batches } from '../engine/batches.ts';
import { readCheckpoints } from '../engine/checkpoint.ts';
import type { Chunk } from '../../runtime/kafka/chunk-queue.ts';
import type { Codec } from '../../runtime/kafka/codec.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { withAdmin } from '../../runtime/kafka/client.ts';
import {
  anotherCluster,
  partitionKey,
  unreadable,
  type Position,
  type Positions,
} from '../../runtime/kafka/position.ts';
import { LogReader } from '../../runtime/kafka/reader.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { withFaults } from '../../runtime/postgres/pool.ts';
import type { Prepared } from '../engine/prepare.ts';
import { skipRecord } from '../engine/quarantine.ts';
import { memoryFor } from '../load/row-memory.ts';
import { skipsOf, type RecordAt, type Skips } from '../engine/skips.ts';
import { aborted, retrying, untilAborted } from '../../runtime/process/retry.ts';

/** One fetch: another one is not asked for before it is taken. */
const AHEAD_BYTES_MAX = 1;
/** How long it rests after each batch while it loads, in times what that took. */
const REST = 1;
/** It may also have waited for a server that was away. */
const REST_MS_MAX = 2_000;
const LOOK_AGAIN_MS = 250;

/** First offset that is not to be applied, by `partitionKey`. */
export type Ends = ReadonlyMap<string, bigint>;

export interface ReplayOptions<Event extends { readonly type: string }> {
  /** under the name of the tables that it is folded into */
  readonly projection: Projection<Event>;
  readonly kafka: Kafka;
  readonly codec: Codec;
  /** finds those tables */
  readonly pool: Pool;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** true: nothing at or beyond the ends is ever applied; else what comes with the last of a batch is */
  readonly exact?: boolean;
  /** told of so many records after each batch */
  readonly onApplied?: (records: number) => void;
}

export class Replay<Event extends { readonly type: string }> {
  readonly #options: ReplayOptions<Event>;
  readonly #reader: LogReader;
  readonly #batches: Batches<Event>;
  readonly #groupId: string;
  readonly #memory;
  readonly #skips: Skips | undefined;
  readonly #applied = new Map<string, bigint>();
  #clusterId = '';
  #ends: Ends = new Map();
  #loading = false;
  /** records at or beyond the ends were read and let go */
  #letGo = false;

  constructor(options: ReplayOptions<Event>) {
    this.#options = options;
    const { projection, codec } = options;
    this.#groupId = `replay-${projection.name}-${randomUUID()}`;
    this.#memory = memoryFor(projection);
    this.#skips = skipsOf(projection, options);
    const tryAgain = <Result>(what: string, attempt: () => Promise<Result>): Promise<Result> =>
      this.#retrying(what, attempt);
    this.#reader = new LogReader({
      ...options,
      group_id: this.#groupId,
      topics: projection.topics,
      retrying: tryAgain,
      positions: () => this.#positions(),
      ahead_bytes_max: AHEAD_BYTES_MAX,
    });
    const isOn = (): boolean => this.#loading;
    this.#batches = new Batches({
      projection,
      codec,
      skips: this.#skips,
      take: (records, bytes) => this.#take(records, bytes),
      retrying: tryAgain,
      load: {
        get isOn() {
          return isOn();
        },
        goesBeyond: (topic, partition, offset) => this.#endOf(topic, partition) > offset + 1n,
      },
    });
  }

  /** First offset not applied yet, by `partitionKey`. */
  get applied(): Ends {
    return this.#applied;
  }

  /** Begins to read. Throws a fault when the signal is aborted. */
  async start(): Promise<void> {
    const { signal } = this.#options;
    await this.#retrying('reading what is passed over', async () => this.#skips?.refresh());
    if (signal.aborted) throw stopped();
    await this.#reader.start();
  }

  async close(): Promise<void> {
    await this.#reader.close();
    await withAdmin(this.#options.kafka, (admin) => admin.deleteGroups([this.#groupId])).catch(
      (error: unknown) => {
        this.#options.log.debug({ err: error }, 'the consumer group was not deleted');
      },
    );
  }

  /**
   * Goes on until everything below the ends is applied; `loading`: into tables that have no indexes yet. Throws `LogLost`, a fault without retry, and the last
   * fault when the signal is aborted. One call at a time.
   */
  async advance(ends: Ends, { loading }: { readonly loading: boolean }): Promise<void> {
    const { signal } = this.#options;
    this.#ends = ends;
    this.#loading = loading;
    if (this.#letGo) this.#rewind();
    const stop = aborted(signal);
    while (!this.#hasReached(ends)) {
      const begun = performance.now();
      const batch = await Promise.race([this.#batches.next(), stop]);
      if (batch === undefined) throw stopped();
      if (!this.#reader.isStale(batch)) await this.#apply(batch.prepared);
      if (this.#loading)
        await untilAborted(Math.min(REST_MS_MAX, (performance.now() - begun) * REST), signal);
    }
  }

  /** Has what is applied asked for anew: Postgres may have lost the last commits, rows and checkpoint. */
  async refresh(): Promise<void> {
    this.#applied.clear();
    await this.#retrying('reading the checkpoints', () => this.#positions());
    this.#rewind();
  }

  #hasReached(ends: Ends): boolean {
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
      if (records.length < chunk.records.length) this.#letGo = true;
      if (records.length > 0) return { ...chunk, records };
    }
  }

  #rewind(): void {
    this.#letGo = false;
    this.#reader.rewind();
  }

  async #apply(batch: Prepared<Event>): Promise<void> {
    const { topic, partition } = batch;
    if (batch.events.length > 0) {
      const applied = await this.#write(batch);
      if (applied.outcome !== 'applied') return this.#rewind();
      this.#applied.set(partitionKey(topic, partition), applied.next_offset);
      this.#options.onApplied?.(batch.events.length);
      if (applied.broken !== undefined)
        throw unreadable(topic, partition, applied.broken.offset, applied.broken.reason);
    }
    if (batch.poison !== undefined)
      await this.#pass({ topic, partition, ...batch.poison }, batch.poison.reason);
  }

  /** Passes over a record that a person has decided on. */
  async #pass(record: RecordAt, reason: string): Promise<void> {
    const { topic, partition, offset } = record;
    const { pool, projection } = this.#options;
    if (this.#skips?.has(record) !== true) throw unreadable(topic, partition, offset, reason);
    const id = { projection: projection.name, version: projection.version };
    const isMoved = await this.#retrying('passing over a record', () =>
      skipRecord(pool, id, this.#clusterId, record),
    );
    if (isMoved) this.#applied.set(partitionKey(topic, partition), offset + 1n);
    this.#rewind();
  }

  async #write(
    batch: Prepared<Event>,
  ): Promise<Extract<Applied, { readonly outcome: 'applied' | 'conflict' }>> {
    const { projection, pool, signal } = this.#options;
    for (;;) {
      const to = {
        pool,
        projection,
        cluster_id: this.#clusterId,
        signal,
        ...(this.#memory === undefined ? {} : { memory: this.#memory }),
        ...(this.#loading ? { loading: true } : {}),
      };
      const applied = await this.#retrying('applying a batch', () => applyBatch(to, batch));
      if (applied.outcome === 'applied' || applied.outcome === 'conflict') return applied;
      if (applied.outcome === 'not_indexed') {
        throw new Fault(
          'not_indexed',
          `the tables of ${projection.name} have no indexes, and are not being loaded`,
          { retry: false },
        );
      }
      // another process is further with these same tables
      if (applied.phase === 'live') this.#loading = false;
      else await untilAborted(LOOK_AGAIN_MS, signal);
      if (signal.aborted) throw stopped();
    }
  }

  /** The checkpoints of these tables, held against the cluster they were written for. */
  async #positions(): Promise<Positions> {
    const { kafka, pool, projection } = this.#options;
    const { clusterId } = await withAdmin(kafka, (admin) => admin.describeCluster());
    const id = { projection: projection.name, version: projection.version };
    const checkpoints = await withFaults(readCheckpoints(pool, id));
    const positions = new Map<string, Position>();
    for (const { topic, partition, cluster_id: was, next_offset, last_record } of checkpoints) {
      if (was !== clusterId) throw anotherCluster(topic, partition, was, clusterId);
      positions.set(partitionKey(topic, partition), { next_offset, last_record });
      this.#applied.set(partitionKey(topic, partition), next_offset);
    }
    this.#clusterId = clusterId;
    return positions;
  }

  #retrying<Result>(what: string, attempt: () => Promise<Result>): Promise<Result> {
    const { log, signal } = this.#options;
    return retrying({ what, log, signal }, attempt);
  }
}

function stopped(): Fault {
  return new Fault('stopped', 'told to stop: the next start goes on where this one was', {
    retry: true,
  });
}
