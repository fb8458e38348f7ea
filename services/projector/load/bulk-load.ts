/**
 * How a projection begins. It is loaded, without the indexes that would make that three times as slow, up to where the log ended when the load began; then it is
 * indexed; then it is live. Each of these can be killed at any moment and goes on with the next start, and several at once do no harm.
 */
import type { Kafka } from 'kafkajs';
import type { Pool } from 'pg';
import type { Projection } from '../../../projections/contract/projection.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { buildIndexes } from '../tables/index-build.ts';
import { withAdmin } from '../../runtime/kafka/client.ts';
import type { Retrying } from '../../runtime/kafka/ends.ts';
import { isIndexed, type LoadPhase } from './load-state.ts';
import { partitionKey } from '../../runtime/kafka/position.ts';
import type { Logger } from '../../runtime/process/log.ts';
import type { Metrics } from '../../runtime/process/metrics.ts';
import { withFaults } from '../../runtime/postgres/pool.ts';
import { Rate } from '../engine/rate.ts';
import { untilAborted } from '../../runtime/process/retry.ts';

const LOOK_EVERY_MS = 250;
const REPORT_EVERY_MS = 5_000;

export type LoadStatus =
  /** not known yet */
  | { readonly status: 'starting' }
  | {
      readonly status: 'loading';
      /** of those that were in the log when the load began */
      readonly records_behind: bigint;
      readonly records_per_second: number | undefined;
      readonly seconds_left: number | undefined;
    }
  | { readonly status: 'building'; readonly what: string };

export interface BulkLoadOptions {
  readonly projection: Pick<Projection, 'name' | 'version' | 'topics' | 'tables' | 'index_sql'>;
  readonly pool: Pool;
  readonly kafka: Kafka;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly retrying: Retrying;
  /** first offset not applied yet, by `partitionKey`, by whomever it was applied */
  readonly applied: ReadonlyMap<string, bigint>;
}

export class BulkLoad {
  readonly #options: BulkLoadOptions;
  readonly #rate = new Rate();
  #over = new AbortController();
  readonly #gauge;
  #phase: LoadPhase | 'starting' = 'starting';
  #building = 'indexes';
  /** where the log ended when the load began, by `partitionKey` */
  #ends: ReadonlyMap<string, bigint> = new Map();
  #completed: Promise<'completed' | undefined> = Promise.resolve(undefined);

  constructor(options: BulkLoadOptions) {
    this.#options = options;
    this.#gauge = options.metrics.gauge(
      'projection_loading',
      '1 while the tables are loaded or indexed',
      [],
      () => {
        this.#gauge.set(this.#phase === 'loading' || this.#phase === 'building' ? 1 : 0);
      },
    );
  }

  /** Finds out whether there is anything to be loaded, and how far; again where the tables turn out to be new ones. */
  async begin(): Promise<void> {
    const { projection, pool, kafka, log, signal, retrying } = this.#options;
    const id = { projection: projection.name, version: projection.version };
    const asked = (): Promise<boolean> => withFaults(isIndexed(pool, id));
    if (await retrying('asking whether the tables have their indexes', asked)) {
      this.#phase = 'live';
      return;
    }
    this.#ends = await retrying('looking where the log ends', () =>
      readEnds(kafka, projection.topics),
    );
    this.#phase = 'loading';
    log.info(
      { projection: projection.name, ends: Object.fromEntries(this.#ends) },
      'loading without indexes',
    );
    this.#over = new AbortController();
    const over = AbortSignal.any([signal, this.#over.signal]);
    this.#completed = this.#complete(over);
    void this.#report(over);
  }

  get isOn(): boolean {
    return this.#phase !== 'live';
  }

  /** Undefined when live. */
  get status(): LoadStatus | undefined {
    if (this.#phase === 'live') return undefined;
    if (this.#phase === 'starting') return { status: 'starting' };
    if (this.#phase === 'building') return { status: 'building', what: this.#building };
    const behind = this.#behind();
    const rate = this.#rate.perSecond;
    return {
      status: 'loading',
      records_behind: behind,
      records_per_second: rate === undefined ? undefined : Math.round(rate),
      seconds_left: rate === undefined ? undefined : Math.ceil(Number(behind) / rate),
    };
  }

  /** Whether records that come after this offset are of the load. */
  goesBeyond(topic: string, partition: number, offset: bigint): boolean {
    return (this.#ends.get(partitionKey(topic, partition)) ?? 0n) > offset + 1n;
  }

  /** Everything that was in the log when the load began is applied. */
  get isComplete(): boolean {
    return this.#phase === 'loading' && this.#behind() === 0n;
  }

  /** Resolves when all of it is applied, perhaps by another projector; with undefined when the signal is aborted before. */
  get completed(): Promise<'completed' | undefined> {
    return this.#completed;
  }

  /** So many records were applied here. */
  count(records: number): void {
    this.#rate.count(records);
  }

  /** Somebody else is further than this: goes on with them, or waits a moment while they build. Throws a fault when the signal is aborted meanwhile. */
  async follow(phase: Exclude<LoadPhase, 'loading'>): Promise<void> {
    if (phase === 'live') return this.#live();
    const { signal } = this.#options;
    this.#building = 'indexes (another projector is at it)';
    this.#phase = 'building';
    await untilAborted(LOOK_EVERY_MS, signal);
    this.#phase = 'loading';
    if (signal.aborted)
      throw new Fault('stopped', 'told to stop while another projector built the indexes', {
        retry: true,
      });
  }

  /** The indexes, then live. */
  async finish(): Promise<void> {
    const { retrying } = this.#options;
    this.#phase = 'building';
    const onStep = (what: string): void => {
      this.#building = what;
    };
    await retrying('building the indexes', () => buildIndexes({ ...this.#options, onStep }));
    this.#live();
  }

  #live(): void {
    this.#phase = 'live';
    this.#over.abort();
    this.#options.log.info(
      { projection: this.#options.projection.name },
      'loaded and indexed: live',
    );
  }

  #behind(): bigint {
    let behind = 0n;
    for (const [key, end] of this.#ends) {
      const left = end - (this.#options.applied.get(key) ?? 0n);
      if (left > 0n) behind += left;
    }
    return behind;
  }

  async #complete(over: AbortSignal): Promise<'completed' | undefined> {
    while (!over.aborted) {
      if (this.isComplete) return 'completed';
      await untilAborted(LOOK_EVERY_MS, over);
    }
    return undefined;
  }

  async #report(over: AbortSignal): Promise<void> {
    const { projection, log } = this.#options;
    for (;;) {
      await untilAborted(REPORT_EVERY_MS, over);
      if (over.aborted) return;
      const status = this.status;
      const behind =
        status?.status === 'loading' ? { records_behind: status.records_behind.toString() } : {};
      log.info({ projection: projection.name, ...status, ...behind }, 'not live yet');
    }
  }
}

/** Where each partition ends, by `partitionKey`. Throws a fault with retry. */
export function readEnds(
  kafka: Kafka,
  topics: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  return withAdmin(kafka, async (admin) => {
    const ends = new Map<string, bigint>();
    for (const topic of topics) {
      for (const { partition, high } of await admin.fetchTopicOffsets(topic))
        ends.set(partitionKey(topic, partition), BigInt(high));
    }
    return ends;
  });
}
