/** A topic with chain events, and runners that project it, for the tests of the runner. */
import type { Pool } from 'pg';
import { expect, onTestFinished } from 'vitest';
import type { Projection } from '../../../../projections/contract/projection.ts';
import type { ExplorerEvent } from '../../../../projections/explorer/events.ts';
import type { ChainEvent } from '../../../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS, PROJECTOR_SKIPS } from '../../../../schemas/topics.ts';
import type { Addresses } from '../../../../infra/services/services.ts';
import { toEntries } from '../../../../services/chain-ingester/follower.ts';
import { readCheckpoints } from '../../../../services/projector/engine/checkpoint.ts';
import type { Codec } from '../../../../services/runtime/kafka/codec.ts';
import type { Kafka } from '../../../../services/runtime/kafka/port.ts';
import type { LogEntry } from '../../../../services/runtime/kafka/record.ts';
import { KafkaWriter } from '../../../../services/runtime/kafka/writer.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import { openNotificationPublisher } from '../../../../services/runtime/redis.ts';
import { Runner } from '../../../../services/projector/engine/runner.ts';
import { freshTopic, never, silentLog, testKafka, type TestKafka } from '../../../support/kafka.ts';
import { differences, plainFold, readTables } from '../../../support/plain-fold.ts';
import { sharedCodec } from '../../../support/codec.ts';
import { openTables, ownExplorer, type TableOptions, type Tables } from './projected.ts';

const APPEND_BYTES = 1024 * 1024;

/** A topic like chain.blocks under a name of its own. */
export interface OwnLog {
  readonly stack: Addresses;
  readonly kafka: TestKafka;
  readonly codec: Codec;
  readonly topic: string;
  /** resolves when the broker has them */
  append(events: readonly ChainEvent[]): Promise<void>;
  appendRaw(entries: readonly LogEntry[]): Promise<void>;
}

export async function openOwnLog(stack: Addresses, topic?: string): Promise<OwnLog> {
  const kafka = testKafka(stack);
  const codec = await sharedCodec(stack.registry_url, [CHAIN_BLOCKS, PROJECTOR_SKIPS]);
  const writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
  onTestFinished(() => writer.close());
  const name = topic ?? (await freshTopic(kafka));
  const appendRaw = async (entries: readonly LogEntry[]): Promise<void> =>
    void (await writer.append(name, 0, entries));
  return {
    stack,
    kafka,
    codec,
    topic: name,
    appendRaw,
    async append(events) {
      for (const part of toEntries(codec, events, APPEND_BYTES)) await appendRaw(part.entries);
    },
  };
}

export interface Projected extends Tables {
  readonly log: OwnLog;
}

/** Tables that project the log; their pool is closed when the test has finished. */
export async function openProjected(
  log: OwnLog,
  writerUrl: string,
  options: TableOptions = {},
  change: Partial<Projection<ExplorerEvent>> = {},
): Promise<Projected> {
  const tables = await openTables(writerUrl, { ...ownExplorer(log.topic), ...change }, options);
  onTestFinished(() => tables.pool.end());
  return { ...tables, log };
}

export interface Running {
  readonly runner: Runner<ExplorerEvent>;
  /** of `run` */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
  /** the sum of a counter, over all labels unless one value is named */
  counted(metric: string, value?: string): Promise<number>;
}

export interface RunningOptions {
  readonly projection: Projection<ExplorerEvent>;
  readonly pool: Pool;
  readonly group_id?: string;
  readonly redis_url?: string;
  readonly kafka?: Kafka;
  readonly silence_ms?: number;
}

/** A runner in this process; it is stopped when the test has finished. */
export function startRunner(log: OwnLog, options: RunningOptions): Running {
  const { projection, pool, group_id, silence_ms } = options;
  const stop = new AbortController();
  const metrics = new Metrics('test');
  const notifications = openNotificationPublisher(
    { redis_url: options.redis_url ?? log.stack.redis_url },
    'test',
    silentLog(),
    metrics,
  );
  const runner = new Runner<ExplorerEvent>({
    projection,
    kafka: options.kafka ?? log.kafka,
    codec: log.codec,
    pool,
    notifications,
    metrics,
    log: silentLog(),
    signal: stop.signal,
    ...(group_id === undefined ? {} : { group_id }),
    ...(silence_ms === undefined ? {} : { silence_ms }),
  });
  const ended = runner.run();
  ended.catch(() => undefined);
  const end = async (): Promise<void> => {
    stop.abort();
    await Promise.allSettled([ended]);
    await notifications.close();
  };
  onTestFinished(end);
  return {
    runner,
    ended,
    async stop() {
      await end();
      await ended;
    },
    async counted(metric, value) {
      const { values } = (await metrics.registry.getSingleMetric(metric)?.get()) ?? { values: [] };
      const wanted = values.filter(
        ({ labels }) => value === undefined || Object.values<unknown>(labels).includes(value),
      );
      return wanted.reduce((sum, { value: count }) => sum + count, 0);
    },
  };
}

export async function appliedUpTo({
  pool,
  projection,
}: Pick<RunningOptions, 'pool' | 'projection'>): Promise<bigint> {
  const [checkpoint] = await readCheckpoints(pool, projection);
  return checkpoint?.next_offset ?? 0n;
}

/**
 * Waits until this many records are applied, then compares all tables with a plain fold of the
 * events.
 */
export async function expectProjected(
  options: Pick<RunningOptions, 'pool' | 'projection'>,
  events: readonly ChainEvent[],
  records = events.length,
): Promise<void> {
  await expect.poll(() => appliedUpTo(options)).toBe(BigInt(records));
  expect(
    differences(await readTables(options.pool, options.projection.name), plainFold(events)),
  ).toEqual([]);
}

export async function expectHalted(
  { runner }: Running,
  reason: RegExp,
  remedy: RegExp,
): Promise<void> {
  await expect.poll(() => runner.status).toMatchObject({ status: 'halted' });
  expect(runner.status).toEqual({
    status: 'halted',
    reason: expect.stringMatching(reason),
    remedy: expect.stringMatching(remedy),
  });
}
