import { Redis } from 'ioredis';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { settled } from '../../../../../projections/chain/chain.ts';
import type { Projection } from '../../../../../projections/contract/projection.ts';
import type { ChainEvent } from '../../../../../schemas/chain.blocks/events.ts';
import { markIndexed, tryBuildLock } from '../../../../../services/projector/tables/live-tables.ts';
import { prepareDatabase } from '../../../../../services/projector/tables/migrations.ts';
import type { RunnerStatus } from '../../../../../services/projector/engine/runner.ts';
import { chainEvents, TestChain } from '../../../../support/chain.ts';
import { freshDatabase } from '../../../../support/database.ts';
import type { FaultMode } from '../../../../support/fault-proxy.ts';
import {
  holdIndexing,
  holdWrites,
  indexesOf,
  indexSql,
  isMarkedIndexed,
  isRunning,
  wantedIndexes,
} from '../../../../services/projector/engine/loading.ts';
import {
  faultAtCommit,
  proxyOf,
  type TableOptions,
  type Tables,
} from '../../../../services/projector/engine/projected.ts';
import {
  appliedUpTo,
  expectHalted,
  expectProjected,
  openOwnLog,
  openProjected,
  startRunner,
  type Projected,
  type Running,
} from '../../../../services/projector/engine/running.ts';

const stack = inject('stack');
let writerUrl: string;

beforeAll(async () => {
  ({ writer_url: writerUrl } = await freshDatabase(stack));
});

async function open(
  options: TableOptions = {},
  change: Partial<Projection<ChainEvent>> = {},
): Promise<Projected> {
  const log = await openOwnLog(stack);
  return openProjected(log, writerUrl, { indexed: false, ...options }, { settled, ...change });
}

async function expectLive(
  { pool, projection }: Tables,
  ...running: readonly Running[]
): Promise<void> {
  for (const { runner } of running)
    await expect.poll(() => runner.status, { interval: 20 }).toEqual({ status: 'running' });
  expect(await indexesOf(pool, projection.name)).toEqual((await wantedIndexes()).toSorted());
  expect(await isMarkedIndexed(pool, projection.name)).toBe(true);
}

function whatOf(status: RunnerStatus): string {
  return status.status === 'building' ? status.what : '';
}

const EVENTS = [
  ...chainEvents({ seed: 61, blocks: 150, transactions_per_block: 5, reorg_probability: 0.15 }),
];

test('the log is loaded, then indexed, then live; loading publishes no notification', async () => {
  const { log, ...tables } = await open();
  const half = EVENTS.length >> 1;
  await log.append(EVENTS.slice(0, half));
  const subscriber = new Redis(stack.redis_url);
  onTestFinished(() => subscriber.disconnect());
  const heard: number[] = [];
  subscriber.on('message', (_, message) =>
    heard.push(Number(JSON.parse(message).position.next_offset)),
  );
  await subscriber.subscribe(`projection:${tables.projection.name}`);
  const running = startRunner(log, tables);
  await expectProjected(tables, EVENTS.slice(0, half));
  await expectLive(tables, running);
  expect(await running.counted('redis_notifications_total')).toBe(0);
  await log.append(EVENTS.slice(half));
  await expectProjected(tables, EVENTS);
  await expect.poll(() => heard.at(-1)).toBe(EVENTS.length);
  expect(Math.min(...heard)).toBeGreaterThan(half);
  expect(await running.counted('projection_records_total')).toBe(EVENTS.length);
});

test('an empty log is live at once', async () => {
  const { log, ...tables } = await open();
  const running = startRunner(log, tables);
  await expectLive(tables, running);
  expect(await running.counted('projection_loading')).toBe(0);
  await log.append(EVENTS.slice(0, 20));
  await expectProjected(tables, EVENTS.slice(0, 20));
  await expect.poll(() => running.counted('redis_notifications_total')).toBeGreaterThan(0);
});

test('a live projector loads again when its tables are new', async () => {
  const { log, ...tables } = await open();
  const half = EVENTS.length >> 1;
  await log.append(EVENTS.slice(0, half));
  const running = startRunner(log, tables);
  await expectProjected(tables, EVENTS.slice(0, half));
  await expectLive(tables, running);
  await tables.pool.query(`DROP SCHEMA ${tables.projection.name} CASCADE`);
  await prepareDatabase(writerUrl, tables.projection);
  expect(await isMarkedIndexed(tables.pool, tables.projection.name)).toBe(false);
  await log.append(EVENTS.slice(half));
  await expectProjected(tables, EVENTS);
  await expectLive(tables, running);
});

test('the status of a load has its progress', async () => {
  const { log, ...tables } = await open();
  await log.append(EVENTS);
  const { name } = tables.projection;
  const [writing, indexing] = [
    await holdWrites(writerUrl, name, 'head'),
    await holdIndexing(writerUrl, name, 'validators'),
  ];
  const running = startRunner(log, tables);
  const loading = {
    status: 'loading',
    records_behind: BigInt(EVENTS.length),
    records_per_second: undefined,
    seconds_left: undefined,
  };
  await expect.poll(() => running.runner.status).toEqual(loading);
  expect(await running.counted('projection_loading')).toBe(1);
  await writing.letGo();
  await expectProjected(tables, EVENTS);
  const names = await wantedIndexes();
  const at = names.indexOf('validators_ordinal');
  const what = `index ${at + 1} of ${names.length} (validators_ordinal)`;
  await expect.poll(() => running.runner.status).toEqual({ status: 'building', what });
  expect(await running.counted('projection_loading')).toBe(1);
  expect(await isMarkedIndexed(tables.pool, name)).toBe(false);
  await indexing.letGo();
  await expectLive(tables, running);
});

test('a stop while loading aborts the transaction in flight and keeps earlier ones; the next projector goes on', async () => {
  const { log, ...tables } = await open();
  await log.append(EVENTS.slice(0, 100));
  const before = await holdIndexing(writerUrl, tables.projection.name, 'blocks');
  const first = startRunner(log, tables);
  await expect.poll(() => first.runner.status).toMatchObject({ status: 'building' });
  await first.stop();
  await before.letGo();

  await log.append(EVENTS.slice(100));
  const held = await holdWrites(writerUrl, tables.projection.name, 'accounts');
  const second = startRunner(log, tables);
  await expect.poll(() => isRunning(tables.pool, '%COPY staged_head %')).toBe(true);
  await second.stop();
  await expect.poll(() => isRunning(tables.pool, '%COPY staged_head %')).toBe(false);
  await held.letGo();
  expect(await appliedUpTo(tables)).toBe(100n);
  expect(await isMarkedIndexed(tables.pool, tables.projection.name)).toBe(false);

  const third = startRunner(log, tables);
  await expectProjected(tables, EVENTS);
  await expectLive(tables, third);
  expect(await third.counted('projection_records_total')).toBe(EVENTS.length - 100);
});

test('after a stop between two indexes the next projector loads new records and builds the rest', async () => {
  const { log, ...tables } = await open();
  await log.append(EVENTS.slice(0, 200));
  const held = await holdIndexing(writerUrl, tables.projection.name, 'activity');
  const first = startRunner(log, tables);
  await expect
    .poll(() => first.runner.status)
    .toMatchObject({ what: expect.stringContaining('activity_block') });
  await first.stop();
  expect(first.runner.status).toEqual({ status: 'stopped' });
  const built = await indexesOf(tables.pool, tables.projection.name);
  expect(built).toContain('transactions_hash');
  expect(built).not.toContain('activity_ordinal');
  await log.append(EVENTS.slice(200));
  await held.letGo();
  const second = startRunner(log, tables);
  await expectProjected(tables, EVENTS);
  await expectLive(tables, second);
});

test('two projectors that read everything load each batch once, and one builds the indexes', async () => {
  const { log, ...tables } = await open();
  const events = [
    ...chainEvents({ seed: 62, blocks: 500, transactions_per_block: 3, reorg_probability: 0.1 }),
  ];
  const loading = (async (): Promise<void> => {
    for (let at = 0; at < events.length; at += 25) await log.append(events.slice(at, at + 25));
  })();
  const both = ['a', 'b'].map((group) =>
    startRunner(log, { ...tables, group_id: `${tables.projection.name}-${group}` }),
  );
  await loading;
  await expectProjected(tables, events);
  await expectLive(tables, ...both);
  const applied = await Promise.all(
    both.map((running) => running.counted('projection_records_total')),
  );
  expect(applied.reduce((sum, count) => sum + count, 0)).toBe(events.length);
});

test('a standby is live too once the load is complete', async () => {
  const { log, ...tables } = await open();
  await log.append(EVENTS.slice(0, 100));
  const held = await holdIndexing(writerUrl, tables.projection.name, 'blocks');
  const both = [startRunner(log, tables), startRunner(log, tables)];
  await expect.poll(() => both.map(({ runner }) => whatOf(runner.status)).toSorted()).toEqual([
    expect.stringMatching(/\(blocks_(height|hash)\)$/),
    'indexes (another projector is at it)',
  ]); // prettier-ignore
  await held.letGo();
  await expectLive(tables, ...both);
  await log.append(EVENTS.slice(100));
  await expectProjected(tables, EVENTS);
});

test('a loading projector waits while another builds indexes, and can be stopped meanwhile', async () => {
  const { log, ...tables } = await open();
  await log.append(EVENTS);
  const builder = await tables.pool.connect();
  expect(await tryBuildLock(builder, tables.projection)).toBe(true);
  const first = startRunner(log, tables);
  await expect
    .poll(() => first.runner.status, { interval: 20 })
    .toEqual({ status: 'building', what: 'indexes (another projector is at it)' });
  await first.stop();
  const second = startRunner(log, tables);
  await expect
    .poll(() => second.runner.status, { interval: 20 })
    .toMatchObject({ status: 'building' });
  expect(await appliedUpTo(tables)).toBe(0n);
  builder.release(true);
  await expectProjected(tables, EVENTS);
  await expectLive(tables, second);
});

test('a loading projector goes on live, with notifications, after another built the indexes', async () => {
  const { log, ...tables } = await open();
  await log.append(EVENTS);
  const builder = await tables.pool.connect();
  expect(await tryBuildLock(builder, tables.projection)).toBe(true);
  const running = startRunner(log, tables);
  await expect
    .poll(() => running.runner.status, { interval: 20 })
    .toMatchObject({ status: 'building' });
  await markIndexed(builder, tables.projection, tables.projection.tables);
  builder.release(true);
  await expectProjected(tables, EVENTS);
  expect(running.runner.status).toEqual({ status: 'running' });
  expect(await running.counted('redis_notifications_total')).toBeGreaterThan(0);
  // it has built nothing itself
  expect(await indexesOf(tables.pool, tables.projection.name)).toEqual([]);
});

test('connections that break during a load neither lose nor double a row', async () => {
  const proxy = await proxyOf(writerUrl);
  // limit under test: a broken connection may leave a lock for so long
  const { log, ...tables } = await open({ through: proxy, lock_timeout_ms: 2_000 });
  const modes: FaultMode[] = ['reset_after', 'reset_before', 'reset_before'];
  faultAtCommit(tables.pool, proxy, () => modes.shift() ?? 'pass');
  await log.append(EVENTS);
  const held = await holdIndexing(writerUrl, tables.projection.name, 'transactions');
  const running = startRunner(log, tables);
  await expect
    .poll(() => running.runner.status)
    .toMatchObject({ what: expect.stringMatching(/\(transactions_(type|hash)\)$/) });
  proxy.cut();
  await held.letGo();
  await expectProjected(tables, EVENTS);
  await expectLive(tables, running);
  expect(proxy.counts.reset_after + proxy.counts.reset_before).toBeGreaterThan(0);
});

test('an index that cannot be built ends the run with its error', async () => {
  const index_sql = await indexSql('CREATE INDEX nothing ON no_such_table (id);\n');
  const { log, ...tables } = await open({}, { index_sql });
  const running = startRunner(log, tables);
  await expect(running.ended).rejects.toMatchObject({ code: 'storage_missing', retry: false });
});

test('a record that breaks the chain halts the load, with everything before it applied', async () => {
  const { log, ...tables } = await open();
  const chain = new TestChain({ seed: 63 });
  const sound = [
    chain.append(2),
    chain.append(3),
    chain.finalize(0),
    chain.append(1),
    chain.revert(),
  ];
  chain.append(1);
  await log.append([...sound, { ...chain.append(1), sequence: sound.length }]);
  const running = startRunner(log, tables);
  await expectHalted(
    running,
    /the record at offset 5 cannot be applied/,
    /ops quarantine skip \S+\/0@5 --actor/,
  );
  await expectProjected(tables, sound);
  expect(await isMarkedIndexed(tables.pool, tables.projection.name)).toBe(false);
});
