import { setTimeout as after } from 'node:timers/promises';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test, inject } from 'vitest';
import { explorer } from '../../../../projections/explorer/explorer.ts';
import type { ChainEvent } from '../../../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../../../schemas/topics.ts';
import { toEntries } from '../../../../services/chain-ingester/follower.ts';
import type { Codec } from '../../../../services/runtime/kafka/codec.ts';
import { ensureTopics } from '../../../../services/runtime/kafka/topics.ts';
import { KafkaWriter } from '../../../../services/runtime/kafka/writer.ts';
import { prepareDatabase } from '../../../../services/projector/tables/migrations.ts';
import { openWriter } from '../../../../services/runtime/postgres/pool.ts';
import { spawnOps } from '../../../faults/ops-run.ts';
import { chainEvents } from '../../../support/chain.ts';
import { freshDatabase } from '../../../support/database.ts';
import {
  never,
  silentLog,
  testKafka,
  withRawAdmin,
  type TestKafka,
} from '../../../support/kafka.ts';
import { differences, plainFold, readTables } from '../../../support/plain-fold.ts';
import {
  holdIndexing,
  holdWrites,
  indexesOf,
  isMarkedIndexed,
  isRunning,
  wantedIndexes,
} from '../../../services/projector/engine/loading.ts';
import { startStack, type ServiceHandle, type Stack } from '../../../support/stack.ts';
import { openCodec } from '../../../support/codec.ts';

/** Processes are killed and frozen on their own servers. Each test has its topic and database. */
let stack: Stack;
let kafka: TestKafka;
let codec: Codec;
let writer: KafkaWriter;

beforeAll(async () => {
  const { registry_url } = inject('stack');
  stack = await startStack({ others: { registry_url } });
  kafka = testKafka(stack.addresses);
  codec = await openCodec(stack.addresses.registry_url, [CHAIN_BLOCKS]);
  writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
});

afterAll(async () => {
  await writer?.close();
  await stack?.stop();
});

async function recreateTopic(): Promise<void> {
  await withRawAdmin(kafka, async (admin) => {
    if ((await admin.listTopics()).includes(CHAIN_BLOCKS.name))
      await admin.deleteTopics({ topics: [CHAIN_BLOCKS.name] });
  });
  // refused while the deletion is in progress
  await expect
    .poll(() => ensureTopics(kafka, [CHAIN_BLOCKS]).then(() => 'created', String))
    .toBe('created');
}

/** A log of the explorer and the database of its projectors. */
class World {
  readonly url: string;
  readonly pool: Pool;
  readonly log: ChainEvent[] = [];
  readonly #source = chainEvents({
    seed: 41,
    blocks: Number.POSITIVE_INFINITY,
    transactions_per_block: 4,
    reorg_probability: 0.08,
  });

  private constructor(url: string) {
    this.url = url;
    this.pool = openWriter(
      { postgres_url: url, application_name: 'test', schema: 'explorer' },
      silentLog(),
    );
    onTestFinished(() => this.pool.end());
  }

  static async open(): Promise<World> {
    await recreateTopic();
    return new World((await freshDatabase(stack.addresses)).writer_url);
  }

  /** A projector process, killed when the test has finished. */
  async spawn(): Promise<ServiceHandle> {
    const projector = await stack.spawnService('projector-explorer', {
      APP_POSTGRES_URL: this.url,
    });
    onTestFinished(() => projector.kill());
    return projector;
  }

  async spawnReady(): Promise<ServiceHandle> {
    const projector = await this.spawn();
    await projector.ready();
    return projector;
  }

  async append(count: number): Promise<void> {
    const events = Array.from({ length: count }, () => this.#source.next().value).filter(
      (event) => event !== undefined,
    );
    await this.#write(events);
    this.log.push(...events);
  }

  /** Writes the whole log once more. */
  appendAgain(): Promise<void> {
    return this.#write(this.log);
  }

  /** Appends a few events at a time until `use` is done: every row is compared afterwards. */
  async underLoad<Result>(use: () => Promise<Result>): Promise<Result> {
    const over = new AbortController();
    const loading = (async (): Promise<void> => {
      while (!over.signal.aborted) {
        await this.append(3);
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

  async appliedUpTo(): Promise<number> {
    const { rows } = await this.pool.query<{ next_offset: string }>(
      "SELECT next_offset FROM projector.checkpoints WHERE projection = 'explorer'",
    );
    return Number(rows[0]?.next_offset ?? 0);
  }

  async further(records: number): Promise<void> {
    const from = await this.appliedUpTo();
    await expect.poll(() => this.appliedUpTo()).toBeGreaterThanOrEqual(from + records);
  }

  async expectProjected(): Promise<void> {
    await expect.poll(() => this.appliedUpTo()).toBe(this.log.length);
    expect(differences(await readTables(this.pool, 'explorer'), plainFold(this.log))).toEqual([]);
  }

  /** The one of two projectors that has applied new records comes first. */
  async byWork(
    both: readonly [ServiceHandle, ServiceHandle],
  ): Promise<readonly [active: ServiceHandle, other: ServiceHandle]> {
    const before = await Promise.all(both.map(recordsApplied));
    await this.append(20);
    await this.expectProjected();
    const [first, second] = await Promise.all(both.map(recordsApplied));
    expect([first === before[0], second === before[1]]).toContain(true);
    return first === before[0] ? [both[1], both[0]] : both;
  }

  async #write(events: readonly ChainEvent[]): Promise<void> {
    for (const { entries } of toEntries(codec, events, 1 << 20))
      await writer.append(CHAIN_BLOCKS.name, 0, entries);
  }
}

async function counted({ url }: ServiceHandle, metric: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

function recordsApplied(projector: ServiceHandle): Promise<number> {
  return counted(projector, 'projection_records_total');
}

async function statusOf({ url }: ServiceHandle): Promise<unknown> {
  return await (await fetch(`${url}/status`)).json();
}

/** Waits until `/status` has these fields; `/ready` must agree. */
async function expectStatus(
  projector: ServiceHandle,
  wanted: Readonly<Record<string, unknown>>,
): Promise<void> {
  await expect.poll(() => statusOf(projector).catch(() => undefined)).toMatchObject(wanted);
  const { status } = await fetch(`${projector.url}/ready`);
  expect(status).toBe(wanted['status'] === 'ready' ? 200 : 503);
}

async function expectDrained(projector: ServiceHandle): Promise<void> {
  await projector.kill('SIGTERM');
  expect(await projector.waitExit()).toEqual({ code: 0, signal: null });
}

const LOADING = { status: 'working', phase: 'loading', waits_for: null };
const BUILDING = { status: 'working', phase: 'building_indexes', waits_for: null };
const FOLLOWING = { status: 'ready', phase: 'following', waits_for: null, message: null };

test('a projector killed while it loads leaves no rows of its transaction, and the next one loads', async () => {
  const world = await World.open();
  await world.append(60);
  await prepareDatabase(world.url, explorer);
  const writing = await holdWrites(world.url, 'explorer', 'head');
  const first = await world.spawn();
  await expectStatus(first, LOADING);
  expect(await counted(first, 'projection_loading')).toBe(1);
  await expect.poll(() => isRunning(world.pool, '%COPY staged_head %')).toBe(true);
  await first.kill();
  await writing.letGo();
  expect(await world.appliedUpTo()).toBe(0);

  const second = await world.spawnReady();
  await expectStatus(second, FOLLOWING);
  await world.expectProjected();
});

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'a projector ended by %s while it builds indexes keeps the finished ones, and the next one builds the others',
  async (signal) => {
    const world = await World.open();
    const { pool, url } = world;
    await world.append(60);
    await prepareDatabase(url, explorer);
    const names = await wantedIndexes();
    // two are built at a time: both indexes of the locked table wait
    const locked = names.indexOf('activity_block');
    const indexing = await holdIndexing(url, 'explorer', 'activity');
    const first = await world.spawn();
    await expectStatus(first, BUILDING);
    const built = names.slice(names.indexOf('activity_ordinal') + 1, locked).toSorted();
    await expect.poll(() => indexesOf(pool, 'explorer')).toEqual(built);
    await expect.poll(() => isRunning(pool, '%INDEX activity_block %')).toBe(true);
    await first.kill(signal);
    if (signal === 'SIGTERM') expect(await first.waitExit()).toEqual({ code: 0, signal: null });
    await expect.poll(() => isRunning(pool, 'CREATE%INDEX activity%')).toBe(false);
    expect(await indexesOf(pool, 'explorer')).toEqual(built);
    expect(await isMarkedIndexed(pool, 'explorer')).toBe(false);
    await world.append(20);

    const second = await world.spawn();
    await expectStatus(second, BUILDING);
    expect(await recordsApplied(second)).toBe(20);
    await indexing.letGo();
    await second.ready();
    expect(await indexesOf(pool, 'explorer')).toEqual(names.toSorted());
    await world.expectProjected();
  },
);

test('when one of two projectors is killed the other takes over, and no row is lost or doubled', async () => {
  const world = await World.open();
  await world.append(50);
  const [active, other] = await world.byWork([await world.spawnReady(), await world.spawnReady()]);
  await expectStatus(active, FOLLOWING);
  await expectStatus(other, { status: 'ready', phase: 'standing_by' });
  await world.underLoad(async () => {
    await world.further(30);
    await active.kill();
    await world.further(30);
  });
  await world.expectProjected();
  await expectStatus(other, FOLLOWING);
});

test('a projector frozen for longer than its session changes nothing when it wakes, and can take over again', async () => {
  const world = await World.open();
  const [active, other] = await world.byWork([await world.spawnReady(), await world.spawnReady()]);
  await world.underLoad(async () => {
    await world.further(20);
    await active.kill('SIGSTOP');
    const stopped = await recordsApplied(other);
    await expect.poll(() => recordsApplied(other)).toBeGreaterThan(stopped + 20);
    await active.kill('SIGCONT');
    await world.further(30);
  });
  await world.expectProjected();
  await other.kill();
  await world.append(40);
  await world.expectProjected();
  await expectStatus(active, FOLLOWING);
});

test('a projector waits for a killed Postgres and continues when it is back', async () => {
  const world = await World.open();
  const projector = await world.spawnReady();
  await world.underLoad(async () => {
    await world.further(10);
    await stack.servers.postgres.kill();
    await expectStatus(projector, { status: 'waiting', waits_for: 'postgres' });
    await world.append(5);
    await stack.servers.postgres.start();
    await world.further(20);
  });
  await world.expectProjected();
  await expectStatus(projector, FOLLOWING);
});

test('SIGTERM under load ends a projector with 0 after the batch in flight, and the next one continues', async () => {
  const world = await World.open();
  const projector = await world.spawnReady();
  await world.underLoad(async () => {
    await world.further(10);
    await expectDrained(projector);
  });
  await world.spawnReady();
  await world.expectProjected();
});

test('a projector does not touch tables of a later version, and continues when its own are back', async () => {
  const world = await World.open();
  const { pool } = world;
  await world.append(20);
  const running = await world.spawnReady();
  await world.expectProjected();
  await pool.query("UPDATE projector.projections SET version = 7 WHERE projection = 'explorer'");
  await world.append(5);
  const message = expect.stringMatching(
    /of version 7, this software writes version \d+, .*rebuild --rollback explorer/,
  );
  await expectStatus(running, { status: 'waiting', message });
  const another = await world.spawn();
  await expectStatus(another, { status: 'waiting', message });
  await expectDrained(another);
  await pool.query("UPDATE projector.projections SET version = $1 WHERE projection = 'explorer'", [
    explorer.version,
  ]);
  await world.expectProjected();
});

test('a projector replaces tables of an earlier version by new ones and keeps the old', async () => {
  const world = await World.open();
  const { pool } = world;
  await world.append(60);
  await expectDrained(await world.spawnReady());
  await pool.query("UPDATE projector.projections SET version = 1 WHERE projection = 'explorer'");
  await pool.query("UPDATE projector.checkpoints SET version = 1 WHERE projection = 'explorer'");
  await pool.query('UPDATE explorer.accounts SET balance = balance + 1');
  await world.spawnReady();
  await world.expectProjected();
  const { rows } = await pool.query(
    'SELECT projection, version, beside FROM projector.projections ORDER BY projection',
  );
  expect(rows).toEqual([
    { projection: 'explorer', version: explorer.version, beside: null },
    { projection: 'explorer_previous', version: 1, beside: 'explorer' },
  ]);
});

test('undecodable bytes halt a projector: /status has the remedy, and SIGTERM ends it with 0', async () => {
  const world = await World.open();
  await world.append(20);
  const projector = await world.spawnReady();
  await writer.append(CHAIN_BLOCKS.name, 0, [
    { key: '0', value: Buffer.from('no avro'), headers: {}, timestamp: 0 },
  ]);
  const message = expect.stringMatching(
    new RegExp(`chain.blocks/0: the record at offset ${world.log.length} .*ops quarantine skip`),
  );
  await expectStatus(projector, { status: 'halted', phase: 'halted', message });
  expect((await fetch(`${projector.url}/health`)).status).toBe(200);
  expect(await counted(projector, 'projection_halted')).toBe(1);
  await world.expectProjected();
  await expectDrained(projector);
  expect(projector.log()).toContain('"msg":"projection halted"');
});

test('a projector refuses a topic that was created again until its tables are rebuilt', async () => {
  const world = await World.open();
  await world.append(60);
  await expectDrained(await world.spawnReady());
  const before = await readTables(world.pool, 'explorer');
  await recreateTopic();
  await world.appendAgain();
  const projector = await world.spawn();
  const message = expect.stringMatching(/deleted and created again.* restore the topic/);
  await expectStatus(projector, { status: 'halted', phase: 'halted', message });
  expect(await readTables(world.pool, 'explorer')).toEqual(before);
  const ops = spawnOps({ ...stack.addresses, postgres_url: world.url }, ['rebuild', 'explorer']);
  expect([await ops.ended(), ops.printed()]).toEqual([0, expect.any(String)]);
  await expectDrained(projector);
  await world.expectProjected();
});
