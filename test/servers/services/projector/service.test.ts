import { setTimeout as after } from 'node:timers/promises';
import type { Kafka } from 'kafkajs';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { explorer } from '../../../../projections/explorer/explorer.ts';
import type { ChainEvent } from '../../../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../../../schemas/topics.ts';
import { toEntries } from '../../../../services/chain-ingester/records.ts';
import { openCodec, type Codec } from '../../../../services/runtime/kafka/codec.ts';
import { ensureTopics } from '../../../../services/runtime/kafka/topics.ts';
import { KafkaWriter } from '../../../../services/runtime/kafka/writer.ts';
import { prepareDatabase } from '../../../../services/projector/tables/migrations.ts';
import { openWriter } from '../../../../services/runtime/postgres/pool.ts';
import { spawnOps } from '../../../faults/ops-run.ts';
import { chainEvents } from '../../../support/chain.ts';
import { never, silentLog, testKafka } from '../../../support/kafka.ts';
import { differences, plainFold, readTables } from '../../../support/plain-fold.ts';
import {
  holdIndexing,
  holdWrites,
  indexesOf,
  isMarkedIndexed,
  isRunning,
  wantedIndexes,
} from '../../../services/projector/load/loading.ts';
import { startStack, type ServiceHandle, type Stack } from '../../../support/stack.ts';

/** Processes that are killed and frozen, on servers of their own; the tests go on from one another, since topic and schema have fixed names. */
let stack: Stack;
let kafka: Kafka;
let codec: Codec;
let writer: KafkaWriter;
let pool: Pool;
const log: ChainEvent[] = [];
const source = chainEvents({
  seed: 41,
  blocks: Number.POSITIVE_INFINITY,
  transactions_per_block: 4,
  reorg_probability: 0.08,
});

beforeAll(async () => {
  stack = await startStack();
  kafka = testKafka(stack.addresses);
  await ensureTopics(kafka, [CHAIN_BLOCKS]);
  codec = await openCodec(stack.addresses.registry_url, [CHAIN_BLOCKS]);
  writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
  pool = openWriter(
    { postgres_url: stack.addresses.postgres_url, application_name: 'test', schema: 'explorer' },
    silentLog(),
  );
});

afterAll(async () => {
  await writer?.close();
  await pool?.end();
  await stack?.stop();
});

async function append(count: number): Promise<void> {
  const events = Array.from({ length: count }, () => source.next().value).filter(
    (event) => event !== undefined,
  );
  for (const { entries } of toEntries(codec, events, 1 << 20))
    await writer.append(CHAIN_BLOCKS.name, 0, entries);
  log.push(...events);
}

/** Appends, a few events at a time, until `use` is done: a load, not a flood, since every row is compared afterwards. */
async function underLoad<Result>(use: () => Promise<Result>): Promise<Result> {
  const over = new AbortController();
  const loading = (async (): Promise<void> => {
    while (!over.signal.aborted) {
      await append(3);
      await after(15);
    }
  })();
  try {
    return await use();
  } finally {
    over.abort();
    await loading;
  }
}

async function appliedUpTo(): Promise<number> {
  const { rows } = await pool.query<{ next_offset: string }>(
    "SELECT next_offset FROM projector.checkpoints WHERE projection = 'explorer'",
  );
  return Number(rows[0]?.next_offset ?? 0);
}

async function further(records: number): Promise<void> {
  const from = await appliedUpTo();
  await expect.poll(appliedUpTo).toBeGreaterThanOrEqual(from + records);
}

async function expectProjected(): Promise<void> {
  await expect.poll(appliedUpTo).toBe(log.length);
  expect(differences(await readTables(pool, 'explorer'), plainFold(log))).toEqual([]);
}

async function isReady({ url }: ServiceHandle): Promise<readonly [number, string]> {
  const answer = await fetch(`${url}/ready`);
  return [answer.status, await answer.text()];
}

async function counted({ url }: ServiceHandle, metric: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** Which of two works, as far as it can be told: the other has not applied a record. */
async function activeOf(
  both: readonly [ServiceHandle, ServiceHandle],
): Promise<readonly [active: ServiceHandle, other: ServiceHandle]> {
  const [first, second] = both;
  const [before, alsoBefore] = await Promise.all(
    both.map((each) => counted(each, 'projection_records_total')),
  );
  await append(20);
  await expectProjected();
  const [now, alsoNow] = await Promise.all(
    both.map((each) => counted(each, 'projection_records_total')),
  );
  expect([now === before, alsoNow === alsoBefore]).toContain(true);
  return now === before ? [second, first] : [first, second];
}

async function expectUnready(projector: ServiceHandle, why: string): Promise<void> {
  await expect
    .poll(() => isReady(projector).catch(() => undefined))
    .toEqual([503, JSON.stringify({ code: 'not_ready', message: `explorer: ${why}` })]);
}

test('killed while it loads, killed between two indexes, told to stop during one: each next one goes on, and nobody is left building', async () => {
  await append(60);
  const url = stack.addresses.postgres_url;
  await prepareDatabase(url, explorer);
  const writing = await holdWrites(url, 'explorer', 'head');
  const first = await stack.spawnService('projector-explorer');
  await expectUnready(first, 'loading: 60 records behind');
  expect(await counted(first, 'projection_loading')).toBe(1);
  await expect.poll(() => isRunning(pool, '%COPY staged_head %')).toBe(true);
  await first.kill();
  await writing.letGo();
  expect(await appliedUpTo()).toBe(0);

  const names = await wantedIndexes();
  // two are built at a time: both indexes of what is held wait for it
  const building = `building index ${names.indexOf('activity_block') + 1} of ${names.length} (activity_block)`;
  const indexing = await holdIndexing(url, 'explorer', 'activity');
  const second = await stack.spawnService('projector-explorer');
  await expectUnready(second, building);
  await second.kill();
  await expect.poll(() => isRunning(pool, 'CREATE%INDEX activity%')).toBe(false);
  const built = names.slice(names.indexOf('activity_ordinal') + 1, names.indexOf('activity_block'));
  expect(await indexesOf(pool, 'explorer')).toEqual(built.toSorted());
  await append(20);

  const third = await stack.spawnService('projector-explorer');
  await expectUnready(third, building);
  expect(await counted(third, 'projection_records_total')).toBe(20);
  await third.kill('SIGTERM');
  expect(await third.waitExit()).toEqual({ code: 0, signal: null });
  expect(await isRunning(pool, 'CREATE%INDEX activity%')).toBe(false);
  expect(await isMarkedIndexed(pool, 'explorer')).toBe(false);
  await indexing.letGo();

  const fourth = await stack.spawnService('projector-explorer');
  await fourth.ready();
  expect(await indexesOf(pool, 'explorer')).toEqual(names.toSorted());
  expect(fourth.log()).toContain('loaded and indexed: live');
  await expectProjected();
  await fourth.kill('SIGTERM');
});

let both: readonly [ServiceHandle, ServiceHandle];

test('of two processes one is killed at work: the other takes over, and no row is lost or doubled', async () => {
  await append(50);
  both = [
    await stack.spawnService('projector-explorer'),
    await stack.spawnService('projector-explorer'),
  ];
  await Promise.all(both.map((each) => each.ready()));
  await expectProjected();
  const [active, other] = await activeOf(both);
  await underLoad(async () => {
    await further(30);
    await active.kill();
    await further(30);
  });
  await expectProjected();
  expect(await isReady(other)).toEqual([200, expect.any(String)]);
  both = [other, await stack.spawnService('projector-explorer')];
  await both[1].ready();
});

test('one frozen at work for longer than its session wakes with a batch that is old news: it changes nothing, and can work again', async () => {
  const [active, other] = await activeOf(both);
  await underLoad(async () => {
    await further(20);
    await active.kill('SIGSTOP');
    const stopped = await counted(other, 'projection_records_total');
    await expect
      .poll(() => counted(other, 'projection_records_total'))
      .toBeGreaterThan(stopped + 20);
    await active.kill('SIGCONT');
    await further(30);
  });
  await expectProjected();
  await other.kill();
  await append(40);
  await expectProjected();
  expect(await isReady(active)).toEqual([200, expect.any(String)]);
  both = [active, other];
});

test('Postgres killed under load: it waits, says so, and goes on when Postgres is back', async () => {
  const [projector] = both;
  await underLoad(async () => {
    await further(10);
    await stack.servers.postgres.kill();
    await expect
      .poll(() => isReady(projector))
      .toEqual([503, expect.stringContaining('waiting: storage_unreachable')]);
    await append(5);
    await stack.servers.postgres.start();
    await further(20);
  });
  await expectProjected();
  await expect.poll(() => isReady(projector)).toEqual([200, expect.any(String)]);
});

test('told to stop under load it ends with 0 after the batch in hand, and the next one goes on', async () => {
  const [projector] = both;
  await underLoad(async () => {
    await further(10);
    await projector.kill('SIGTERM');
  });
  expect(await projector.waitExit()).toEqual({ code: 0, signal: null });
  const next = await stack.spawnService('projector-explorer');
  await next.ready();
  await expectProjected();
  both = [next, projector];
});

test('tables of a later version are not touched: it says what to do, and goes on by itself when its own are back', async () => {
  const [running] = both;
  await pool.query("UPDATE projector.projections SET version = 7 WHERE projection = 'explorer'");
  await append(5);
  const why =
    /^explorer: waiting: the tables of explorer are of version 7, this software writes version \d+, .*rebuild --rollback explorer/;
  await expect
    .poll(async () => JSON.parse((await isReady(running))[1]))
    .toEqual({ code: 'not_ready', message: expect.stringMatching(why) });
  const another = await stack.spawnService('projector-explorer');
  await expect
    .poll(async () => JSON.parse((await isReady(another).catch(() => [0, '{}'] as const))[1]))
    .toEqual({ code: 'not_ready', message: expect.stringMatching(why) });
  await another.kill('SIGTERM');
  expect(await another.waitExit()).toEqual({ code: 0, signal: null });
  await pool.query("UPDATE projector.projections SET version = $1 WHERE projection = 'explorer'", [
    explorer.version,
  ]);
  await expectProjected();
  await running.kill('SIGTERM');
});

test('tables of an earlier version are read until it has built new ones beside them; the earlier ones are kept', async () => {
  await pool.query("UPDATE projector.projections SET version = 1 WHERE projection = 'explorer'");
  await pool.query("UPDATE projector.checkpoints SET version = 1 WHERE projection = 'explorer'");
  await pool.query('UPDATE explorer.accounts SET balance = balance + 1');
  const projector = await stack.spawnService('projector-explorer');
  await projector.ready();
  await expectProjected();
  const { rows } = await pool.query(
    'SELECT projection, version, beside FROM projector.projections ORDER BY projection',
  );
  expect(rows).toEqual([
    { projection: 'explorer', version: explorer.version, beside: null },
    { projection: 'explorer_previous', version: 1, beside: 'explorer' },
  ]);
  await projector.kill('SIGTERM');
  expect(await projector.waitExit()).toEqual({ code: 0, signal: null });
});

test('undecodable bytes halt it: /ready says why and what to do, the process stays, and SIGTERM ends it with 0', async () => {
  const projector = await stack.spawnService('projector-explorer');
  await projector.ready();
  await writer.append(CHAIN_BLOCKS.name, 0, [
    { key: '0', value: Buffer.from('no avro'), headers: {}, timestamp: 0 },
  ]);
  const body = {
    code: 'not_ready',
    message: expect.stringMatching(
      new RegExp(
        `^explorer: halted: chain.blocks/0: the record at offset ${log.length} cannot be applied: .* What to do: look at that record`,
      ),
    ),
  };
  await expect.poll(async () => (await isReady(projector))[0]).toBe(503);
  expect(JSON.parse((await isReady(projector))[1])).toEqual(body);
  expect((await fetch(`${projector.url}/health`)).status).toBe(200);
  expect(await counted(projector, 'projection_halted')).toBe(1);
  await expectProjected();
  await projector.kill('SIGTERM');
  expect(await projector.waitExit()).toEqual({ code: 0, signal: null });
  expect(projector.log()).toContain('"msg":"projection halted"');
});

test(
  'a topic created again while no projector ran is refused, not read, until the tables are rebuilt from it',
  { timeout: 120_000 },
  async () => {
    const admin = kafka.admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [CHAIN_BLOCKS.name] });
    await expect
      .poll(() => ensureTopics(kafka, [CHAIN_BLOCKS]).then(() => 'created', String))
      .toBe('created');
    await admin.disconnect();
    const before = await readTables(pool, 'explorer');
    for (const { entries } of toEntries(codec, log, 1 << 20))
      await writer.append(CHAIN_BLOCKS.name, 0, entries);
    const projector = await stack.spawnService('projector-explorer');
    await expect
      .poll(() => isReady(projector).catch(() => undefined))
      .toEqual([
        503,
        expect.stringMatching(
          /halted: .*deleted and created again.* What to do: .*restore the topic/,
        ),
      ]);
    expect(await readTables(pool, 'explorer')).toEqual(before);
    // if that is to be the log from now on
    const ops = spawnOps(stack.addresses, ['rebuild', 'explorer']);
    expect([await ops.ended(), ops.printed()]).toEqual([
      0,
      expect.stringMatching(/^done .*explorer is read from other tables now/m),
    ]);
    await projector.kill('SIGTERM');
    expect(await projector.waitExit()).toEqual({ code: 0, signal: null });
    await expectProjected();
  },
);
