import { Redis } from 'ioredis';
import { from as copyFrom } from 'pg-copy-streams';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { explorer } from '../../../../../projections/explorer/explorer.ts';
import type { ChainEvent } from '../../../../../schemas/chain.blocks/events.ts';
import { propertyOf } from '../../../../../services/runtime/process/errors.ts';
import { ensureTopics } from '../../../../../services/runtime/kafka/topics.ts';
import { bigBlock, chainEvents, TestChain } from '../../../../support/chain.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { FaultProxy, type FaultMode } from '../../../../support/fault-proxy.ts';
import { ownTopic, testKafka } from '../../../../support/kafka.ts';
import { differences, plainFold, readTables } from '../../../../support/plain-fold.ts';
import { Random } from '../../../../support/random.ts';
import {
  faultAtCommit,
  proxyOf,
  type TableOptions,
} from '../../../../services/projector/engine/projected.ts';
import {
  appliedUpTo,
  expectProjected,
  openOwnLog,
  openProjected,
  startRunner,
  type Projected,
} from '../../../../services/projector/engine/running.ts';

const stack = inject('stack');
let writerUrl: string;

beforeAll(async () => {
  ({ writer_url: writerUrl } = await freshDatabase(stack));
});

async function open(options?: TableOptions): Promise<Projected> {
  return openProjected(await openOwnLog(stack), writerUrl, options);
}

test('records from before and during the run become the rows of a plain fold; a restart continues', async () => {
  const { log, ...tables } = await open();
  const events = [
    ...chainEvents({ seed: 21, blocks: 120, transactions_per_block: 6, reorg_probability: 0.1 }),
  ];
  const [third, half] = [Math.floor(events.length / 3), Math.floor(events.length / 2)];
  await log.append(events.slice(0, third));
  const first = startRunner(log, tables);
  await expectProjected(tables, events.slice(0, third));
  for (let at = third; at < half; at++) await log.append(events.slice(at, at + 1));
  await expectProjected(tables, events.slice(0, half));
  expect(first.runner.status).toEqual({ status: 'running' });
  await first.stop();
  expect(first.runner.status).toEqual({ status: 'stopped' });

  await log.append(events.slice(half));
  const second = startRunner(log, tables);
  await expectProjected(tables, events);
  expect(await second.counted('projection_records_total')).toBe(events.length - half);
  expect(await second.counted('projection_conflicts_total')).toBe(0);
  await expect.poll(() => second.counted('projection_lag_records')).toBe(0);
});

test('notifications have the changed keys and the log position, and follow the commit', async () => {
  const { log, ...tables } = await open();
  const events = [...chainEvents({ seed: 22, blocks: 30, reorg_probability: 0.2 })];
  const subscriber = new Redis(stack.redis_url);
  onTestFinished(() => subscriber.disconnect());
  const channel = `projection:${tables.projection.name}`;
  const heard: { position: { next_offset: string }; keys: string[]; applied: bigint }[] = [];
  const checks: Promise<void>[] = [];
  subscriber.on('message', (_, message) => {
    const { position, keys, ...rest } = JSON.parse(message);
    expect(rest).toEqual({ projection: tables.projection.name });
    checks.push(
      appliedUpTo(tables).then((applied) => void heard.push({ position, keys, applied })),
    );
  });
  await subscriber.subscribe(channel);
  startRunner(log, tables);
  await expect.poll(() => subscriber.status).toBe('ready');
  for (const event of events) await log.append([event]);
  await expectProjected(tables, events);
  const changed = events
    .filter(({ type }) => type !== 'BlocksFinalized')
    .map(({ height }) => String(height));
  await expect.poll(() => new Set(heard.flatMap(({ keys }) => keys))).toEqual(new Set(changed));
  await Promise.all(checks);
  for (const { position, applied } of heard) {
    expect(position).toEqual({
      topic: log.topic,
      partition: 0,
      next_offset: expect.stringMatching(/^\d+$/),
    });
    expect(applied).toBeGreaterThanOrEqual(BigInt(position.next_offset));
  }
});

test('a projector continues without Redis', async () => {
  const { log, ...tables } = await open();
  const events = [...chainEvents({ seed: 23, blocks: 10 })];
  const running = startRunner(log, { ...tables, redis_url: 'redis://127.0.0.1:1' });
  await log.append(events);
  await expectProjected(tables, events);
  await expect.poll(() => running.runner.status).toEqual({ status: 'running' });
  expect(await running.counted('redis_notifications_total', 'dropped')).toBeGreaterThan(0);
});

test('two projectors that read everything apply each batch once', async () => {
  const { log, ...tables } = await open();
  const events = [
    ...chainEvents({ seed: 24, blocks: 400, transactions_per_block: 3, reorg_probability: 0.1 }),
  ];
  const both = ['a', 'b'].map((group) =>
    startRunner(log, { ...tables, group_id: `${tables.projection.name}-${group}` }),
  );
  for (let at = 0; at < events.length; at += 3) await log.append(events.slice(at, at + 3));
  await expectProjected(tables, events);
  const [applied, conflicts] = await Promise.all(
    ['projection_records_total', 'projection_conflicts_total'].map((metric) =>
      Promise.all(both.map((running) => running.counted(metric))),
    ),
  );
  expect(applied?.reduce((sum, count) => sum + count, 0)).toBe(events.length);
  expect(conflicts?.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
  for (const { runner } of both) expect(runner.status).toEqual({ status: 'running' });
});

test('one of two projectors in a consumer group works; the other takes over when it ends', async () => {
  const { log, ...tables } = await open();
  const events = [...chainEvents({ seed: 25, blocks: 60, reorg_probability: 0.1 })];
  const both = [startRunner(log, tables), startRunner(log, tables)];
  const half = Math.floor(events.length / 2);
  await log.append(events.slice(0, half));
  await expectProjected(tables, events.slice(0, half));
  const counts = await Promise.all(
    both.map((running) => running.counted('projection_records_total')),
  );
  const active = counts[0] === 0 ? 1 : 0;
  await both[active]?.stop();
  await log.append(events.slice(half));
  await expectProjected(tables, events);
  expect(await both[1 - active]?.counted('projection_records_total')).toBeGreaterThan(0);
});

test('connections that break before or after COMMIT neither lose nor double a row', async () => {
  const proxy = await proxyOf(writerUrl);
  // limit under test: a broken connection may leave a lock for so long
  const { log, ...tables } = await open({ through: proxy, lock_timeout_ms: 2_000 });
  const random = new Random(26);
  const modes: FaultMode[] = ['pass', 'reset_after', 'reset_before'];
  faultAtCommit(tables.pool, proxy, () => random.pick(modes));
  const events = [...chainEvents({ seed: 26, blocks: 40, reorg_probability: 0.1 })];
  const running = startRunner(log, tables);
  for (let at = 0; at < events.length; at += 3) {
    await log.append(events.slice(at, at + 3));
    // each part a batch of its own
    await expect.poll(() => appliedUpTo(tables)).toBe(BigInt(Math.min(events.length, at + 3)));
  }
  await expectProjected(tables, events);
  expect(proxy.counts.reset_after).toBeGreaterThan(3);
  expect(proxy.counts.reset_before).toBeGreaterThan(3);
  expect(await running.counted('projection_conflicts_total')).toBeGreaterThan(0);
  await expect.poll(() => running.runner.status).toEqual({ status: 'running' });
});

test('a projector frozen in a COPY is terminated by the one that waits for its checkpoint', async () => {
  // limit under test
  const { log, ...tables } = await open({ lock_timeout_ms: 1_000 });
  const events = [...chainEvents({ seed: 261, blocks: 20 })];
  startRunner(log, tables);
  await log.append(events.slice(0, 5));
  await expectProjected(tables, events.slice(0, 5));
  const frozen = await tables.pool.connect();
  onTestFinished(() => frozen.release(true));
  // else Postgres ends it between two of these statements, when this process is slow
  await frozen.query('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0');
  await frozen.query('SELECT FROM projector.checkpoints WHERE projection = $1 FOR UPDATE', [
    tables.projection.name,
  ]);
  const copying = frozen.query(copyFrom(`COPY ${tables.projection.name}.head FROM STDIN BINARY`));
  const ended = new Promise((resolve) => void copying.on('error', resolve));
  await log.append(events.slice(5));
  await expectProjected(tables, events);
  expect(propertyOf(await ended, 'code')).toBe('57P01');
});

test('a projector reports that it waits for Postgres, and continues when Postgres is back', async () => {
  const proxy = await proxyOf(writerUrl);
  const { log, ...tables } = await open({ through: proxy });
  const events = [...chainEvents({ seed: 27, blocks: 20 })];
  const running = startRunner(log, tables);
  await log.append(events.slice(0, 5));
  await expectProjected(tables, events.slice(0, 5));
  await expect.poll(() => running.runner.status).toEqual({ status: 'running' });
  proxy.mode = 'reset_before';
  proxy.cut();
  await log.append(events.slice(5));
  await expect
    .poll(() => running.runner.status)
    .toMatchObject({ status: 'waiting', fault: { code: 'storage_unreachable', retry: true } });
  proxy.mode = 'pass';
  await expectProjected(tables, events);
  await expect.poll(() => running.runner.status).toEqual({ status: 'running' });
});

test('commits that Postgres has lost are applied again, also without new records', async () => {
  const { log, ...tables } = await open();
  const events = [...chainEvents({ seed: 33, blocks: 20, reorg_probability: 0.1 })];
  startRunner(log, tables);
  await log.append(events.slice(0, 15));
  await expectProjected(tables, events.slice(0, 15));
  await tables.pool.query(`BEGIN;
    TRUNCATE ${tables.projection.tables.map(({ name }) => name).join(', ')};
    DELETE FROM projector.checkpoints WHERE projection = '${tables.projection.name}';
    COMMIT`);
  await expectProjected(tables, events.slice(0, 15));
  await log.append(events.slice(15));
  await expectProjected(tables, events);
});

test('a projector that starts without Postgres waits, and can be stopped', async () => {
  const proxy = await proxyOf(writerUrl);
  const { log, ...tables } = await open({ through: proxy });
  proxy.mode = 'reset_before';
  proxy.cut();
  const running = startRunner(log, tables);
  expect(running.runner.status).toEqual({ status: 'starting' });
  await expect
    .poll(() => running.runner.status)
    .toMatchObject({ status: 'waiting', fault: { code: 'storage_unreachable' } });
  await running.stop();
  expect(running.runner.status).toEqual({ status: 'stopped' });
});

test('a projector reports that it waits for Kafka, and continues when Kafka is back', async () => {
  const { log, ...tables } = await open();
  const proxy = await FaultProxy.open({
    port: Number(stack.kafka_brokers.split(':')[1]),
    requests: 'kafka',
  });
  onTestFinished(() => proxy.close());
  const events = [...chainEvents({ seed: 29, blocks: 20 })];
  const running = startRunner(log, {
    ...tables,
    kafka: testKafka(stack, proxy),
    silence_ms: 4_000,
  });
  await log.append(events.slice(0, 5));
  await expectProjected(tables, events.slice(0, 5));
  await expect.poll(() => running.runner.status).toEqual({ status: 'running' });
  proxy.mode = 'reset_before';
  await log.append(events.slice(5));
  await expect
    .poll(() => running.runner.status)
    .toMatchObject({ status: 'waiting', fault: { code: 'kafka', retry: true } });
  proxy.mode = 'pass';
  await expectProjected(tables, events);
  await expect.poll(() => running.runner.status).toEqual({ status: 'running' });
});

test('a projector that starts without Kafka waits, and can be stopped', async () => {
  const { log, ...tables } = await open();
  const proxy = await FaultProxy.open({
    port: Number(stack.kafka_brokers.split(':')[1]),
    requests: 'kafka',
  });
  onTestFinished(() => proxy.close());
  proxy.mode = 'reset_before';
  const running = startRunner(log, { ...tables, kafka: testKafka(stack, proxy) });
  await expect
    .poll(() => running.runner.status)
    .toMatchObject({ status: 'waiting', fault: { code: 'kafka', retry: true } });
  await running.stop();
  expect(running.runner.status).toEqual({ status: 'stopped' });
});

test('a projector waits for a missing topic', async () => {
  const unborn = ownTopic();
  const log = await openOwnLog(stack, unborn.name);
  const tables = await openProjected(log, writerUrl);
  const running = startRunner(log, tables);
  await expect
    .poll(() => running.runner.status)
    .toMatchObject({ status: 'waiting', fault: { code: 'topic_missing' } });
  await ensureTopics(log.kafka, [unborn]);
  const events = [...chainEvents({ seed: 30, blocks: 5 })];
  await log.append(events);
  await expectProjected(tables, events);
  await expect.poll(() => running.runner.status).toEqual({ status: 'running' });
});

test('a bug in a fold ends the run with its error and applies nothing', async () => {
  const { log, ...tables } = await open();
  const projection = {
    ...tables.projection,
    fold(...parameters: Parameters<typeof explorer.fold>): ReturnType<typeof explorer.fold> {
      const [, batch] = parameters;
      if (batch.some(({ offset }) => offset >= 3n)) throw new RangeError('out of its mind');
      return explorer.fold(...parameters);
    },
  };
  const running = startRunner(log, { ...tables, projection });
  const chain = new TestChain({ seed: 28 });
  const events: ChainEvent[] = [chain.append(1), chain.append(1), chain.append(1)];
  await log.append(events);
  await expectProjected(tables, events);
  await log.append([chain.append(1)]);
  await expect(running.ended).rejects.toThrow(new RangeError('out of its mind'));
  expect(running.runner.status).toEqual({ status: 'stopped' });
  expect(differences(await readTables(tables.pool, projection.name), plainFold(events))).toEqual(
    [],
  );
});

test('a block of 20,000 transactions goes through codec, log and projector to Postgres', async () => {
  const { log, ...tables } = await open();
  const large = bigBlock(20_000);
  const { height, hash, parent_hash } = large;
  const next = {
    ...new TestChain({ seed: 9 }).append(5),
    sequence: 1,
    height: height + 1,
    parent_hash: hash,
  };
  const events: ChainEvent[] = [
    large,
    next,
    {
      type: 'BlockReverted',
      sequence: 2,
      height: next.height,
      hash: next.hash,
      parent_hash: hash,
    },
    { type: 'BlockReverted', sequence: 3, height, hash, parent_hash },
    { ...next, sequence: 4, height, parent_hash },
  ];
  startRunner(log, tables);
  for (const [from, to] of [
    [0, 1],
    [1, 4],
    [4, 5],
  ]) {
    await log.append(events.slice(from, to));
    await expectProjected(tables, events.slice(0, to));
  }
});
