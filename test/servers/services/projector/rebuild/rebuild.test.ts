import { Client } from 'pg';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { explorer } from '../../../../../projections/explorer/explorer.ts';
import { beginWriting } from '../../../../../services/projector/tables/live-tables.ts';
import { prepareDatabase } from '../../../../../services/projector/tables/migrations.ts';
import { openReader } from '../../../../../services/runtime/postgres/pool.ts';
import { nextName, previousName } from '../../../../../services/projector/rebuild/switch.ts';
import { rebuild, rollback } from '../../../../../services/projector/rebuild/rebuild.ts';
import { chainEvents } from '../../../../support/chain.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { silentLog } from '../../../../support/kafka.ts';
import { differences, plainFold, readTables } from '../../../../support/plain-fold.ts';
import { hold, holdIndexing, holdWrites } from '../../../../services/projector/engine/loading.ts';
import {
  appliedUpTo,
  expectProjected,
  startRunner,
} from '../../../../services/projector/engine/running.ts';
import {
  appendOn,
  openWorld,
  optionsOf,
  spawnRebuild,
  type World,
} from '../../../../services/projector/rebuild/rebuilding.ts';
import { HANG_MS } from '../../../../support/limits.ts';

const VERSION = explorer.version;

const stack = inject('stack');
let urls: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  urls = await freshDatabase(stack);
});

async function open(): Promise<World> {
  return await openWorld(stack, urls.writer_url);
}

async function isThere({ pool }: World, schema: string): Promise<boolean> {
  return (
    (await pool.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).rows.length > 0
  );
}

/** Reads several tables a statement without a pause; fails at an error or impossible state. */
function readOn({ projection: { name } }: World): { stop(): Promise<number> } {
  const reader = openReader(
    {
      postgres_reader_url: urls.reader_url,
      postgres_connect_ms: HANG_MS,
      statement_timeout_ms: HANG_MS,
      connections_max: 3,
    },
    'test',
    silentLog(),
  );
  const over = new AbortController();
  const text = `SELECT h.height, (SELECT max(height) FROM ${name}.blocks), h.transactions, (SELECT max(seq) + 1 FROM ${name}.transactions) FROM ${name}.head h`;
  const read = async (): Promise<number> => {
    let heads = 0;
    for (let sequence = -1n; !over.signal.aborted; heads++) {
      const [[height, newest, transactions, next] = []] = await reader.rows({
        name: 'all',
        text,
        values: [],
      });
      expect([newest, next]).toEqual([height, transactions]);
      const [[now] = []] = await reader.rows({
        name: 'sequence',
        text: `SELECT sequence FROM ${name}.head`,
        values: [],
      });
      expect(BigInt(now ?? '-1')).toBeGreaterThanOrEqual(sequence);
      sequence = BigInt(now ?? '-1');
    }
    return heads;
  };
  const reading = Promise.all([read(), read()]);
  reading.catch(() => undefined);
  onTestFinished(async () => {
    over.abort();
    await Promise.allSettled([reading]);
    await reader.close();
  });
  return {
    async stop() {
      over.abort();
      return (await reading).reduce((sum, count) => sum + count, 0);
    },
  };
}

test('a rebuild and its rollback switch tables under load: no read fails, and each read sees one state', async () => {
  const world = await open();
  // more than are written while the slowest machine rebuilds
  const events = [
    ...chainEvents({
      seed: 301,
      blocks: 3_000,
      transactions_per_block: 2,
      reorg_probability: 0.08,
    }),
  ];
  await world.log.append(events.slice(0, 120));
  const running = startRunner(world.log, world);
  await expectProjected(world, events.slice(0, 120));
  // the projector has cached the wrong rows too
  const { name } = world.projection;
  await world.pool.query(`UPDATE ${name}.accounts SET balance = balance + 1`);
  const reading = readOn(world);
  const appending = appendOn(world, events, 120);

  expect(await rebuild(optionsOf(world))).toEqual({
    version: VERSION,
    kept_version: VERSION,
    records: expect.any(Number),
  });
  const replaced = await appliedUpTo(world);
  await expect.poll(() => appliedUpTo(world)).toBeGreaterThan(replaced + 10n);
  const written = await appending.stop();
  await expectProjected(world, events.slice(0, written));
  expect(await isThere(world, nextName(name))).toBe(false);

  const again = appendOn(world, events, written);
  expect(await rollback(optionsOf(world))).toMatchObject({
    version: VERSION,
    kept_version: VERSION,
  });
  const all = await again.stop();
  expect(await reading.stop()).toBeGreaterThan(50);
  await expect.poll(() => appliedUpTo(world)).toBe(BigInt(all));
  const wrong = differences(
    await readTables(world.pool, name),
    plainFold(events.slice(0, all)),
    10_000,
  );
  expect(wrong.length).toBeGreaterThan(2);
  expect(
    wrong.filter((each) => !each.startsWith('accounts: ') && !each.startsWith('activity: ')),
  ).toEqual([]);
  expect(running.runner.status).toEqual({ status: 'running' });

  // those that the first rebuild had made were kept in turn
  await rollback(optionsOf(world));
  await expectProjected(world, events.slice(0, all));
});

test('a rebuild killed in its load, index build or switch continues when restarted; a second one at once is refused', async () => {
  const world = await open();
  const { name } = world.projection;
  const events = [
    ...chainEvents({ seed: 302, blocks: 60, transactions_per_block: 4, reorg_probability: 0.1 }),
  ];
  await world.log.append(events);
  startRunner(world.log, world);
  await expectProjected(world, events);
  await prepareDatabase(
    urls.writer_url,
    { ...world.projection, name: nextName(name) },
    { beside: name },
  );

  const writing = await holdWrites(urls.writer_url, nextName(name), 'head');
  const first = spawnRebuild(world);
  await expect.poll(() => first.printed()).toMatch(new RegExp(`loading  ${events.length}`));
  expect(await rebuild(optionsOf(world))).toEqual({
    refused: 'busy',
    message: expect.stringMatching(
      `there is a rebuild of ${name} already: pid \\d+ on .*, since .* UTC`,
    ),
  });
  await first.kill();
  await writing.letGo();

  const indexing = await holdIndexing(urls.writer_url, nextName(name), 'activity');
  const second = spawnRebuild(world);
  await expect
    .poll(() => second.printed())
    .toMatch(/indexing index \d+ of \d+ \(activity_ordinal\)/);
  await second.kill();
  await indexing.letGo();

  const writer = new Client({ connectionString: urls.writer_url });
  await writer.connect();
  onTestFinished(() => writer.end());
  await beginWriting(writer, name);
  const third = spawnRebuild(world);
  await expect.poll(() => third.printed()).toMatch(/switching/);
  expect(third.printed()).not.toMatch(/loading  [1-9]/);
  await third.kill();
  await writer.query('ROLLBACK');

  const last = spawnRebuild(world);
  expect([await last.ended(), last.printed()]).toEqual([
    0,
    expect.stringContaining(`"kept_version":${VERSION},"records":0`),
  ]);
  await expectProjected(world, events);
  expect([await isThere(world, nextName(name)), await isThere(world, previousName(name))]).toEqual([
    false,
    true,
  ]);
});

test('a rebuild that a transaction of a reader blocks ends its session', async () => {
  const world = await open();
  const events = [...chainEvents({ seed: 304, blocks: 20, transactions_per_block: 1 })];
  await world.log.append(events);
  expect(await rebuild(optionsOf(world))).toMatchObject({ version: VERSION });
  const reader = new Client({ connectionString: urls.reader_url });
  const ended = new Promise((resolve) => void reader.on('error', resolve));
  await reader.connect();
  onTestFinished(() => reader.end());
  await reader.query(`BEGIN; SELECT FROM ${previousName(world.projection.name)}.blocks`);
  expect(await rebuild(optionsOf(world))).toMatchObject({ kept_version: VERSION });
  expect(await ended).toMatchObject({ code: '57P01' });
});

test('a rebuild that a transaction of a superuser blocks names its session, and goes on after it', async () => {
  const world = await open();
  const events = [...chainEvents({ seed: 305, blocks: 20, transactions_per_block: 1 })];
  await world.log.append(events);
  expect(await rebuild(optionsOf(world))).toMatchObject({ version: VERSION });
  const connectionString = urls.writer_url.replace('clt_writer:clt_writer', 'postgres:postgres');
  const forgotten = new Client({ connectionString, application_name: 'forgotten' });
  await forgotten.connect();
  onTestFinished(() => forgotten.end());
  await forgotten.query(`BEGIN; SELECT FROM ${previousName(world.projection.name)}.blocks`);
  await expect(rebuild(optionsOf(world))).rejects.toMatchObject({
    code: 'storage_conflict',
    message: expect.stringMatching(
      /_previous cannot be dropped .*: session \d+ of postgres \(application forgotten\), transaction since [-\d]+ [:\d]+ UTC, query since [-\d]+ [:\d]+ UTC: BEGIN; SELECT FROM/,
    ) as unknown,
  });
  await forgotten.query('COMMIT');
  expect(await rebuild(optionsOf(world))).toMatchObject({ records: 0 });
});

test('software of another version writes nothing after the switch and continues after the rollback', async () => {
  const world = await open();
  const { name } = world.projection;
  const events = [...chainEvents({ seed: 303, blocks: 40, reorg_probability: 0.1 })];
  await world.log.append(events.slice(0, 20));
  const older = startRunner(world.log, world);
  await expectProjected(world, events.slice(0, 20));

  const raised = { ...world.projection, version: VERSION + 1 };
  expect(await rebuild(optionsOf(world, { projection: raised }))).toMatchObject({
    version: VERSION + 1,
    kept_version: VERSION,
  });
  expect(await rollback(optionsOf(world, { projection: raised }))).toMatchObject({
    refused: 'another_version',
  });
  expect(await rebuild(optionsOf(world))).toMatchObject({ refused: 'newer_tables' });
  await world.log.append(events.slice(20, 30));
  await expect
    .poll(() => older.runner.status)
    .toMatchObject({ status: 'waiting', fault: { code: 'projection_version', retry: true } });
  expect(differences(await readTables(world.pool, name), plainFold(events.slice(0, 20)))).toEqual(
    [],
  );
  const newer = startRunner(world.log, { ...world, projection: raised, group_id: `${name}-newer` });
  await expectProjected({ ...world, projection: raised }, events.slice(0, 30));

  expect(await rollback(optionsOf(world))).toMatchObject({
    version: VERSION,
    kept_version: VERSION + 1,
  });
  await world.log.append(events.slice(30));
  await expectProjected(world, events);
  await expect.poll(() => older.runner.status).toEqual({ status: 'running' });
  await expect
    .poll(() => newer.runner.status)
    .toMatchObject({ status: 'waiting', fault: { code: 'projection_version' } });
});

test('a rebuild without tables, of unloaded tables or a rollback without kept tables is refused; a broken log ends it with a remedy', async () => {
  const world = await openWorld(stack, urls.writer_url, false);
  const { name } = world.projection;
  expect(await rebuild(optionsOf(world))).toMatchObject({ refused: 'not_loaded' });
  expect(await rollback(optionsOf(world))).toMatchObject({ refused: 'nothing_kept' });
  expect(
    await rebuild(optionsOf(world, { projection: { ...world.projection, name: 'nobody' } })),
  ).toMatchObject({ refused: 'no_tables' });

  await world.pool.query(
    'UPDATE projector.projections SET indexed_at = now() WHERE projection = $1',
    [name],
  );
  const events = [...chainEvents({ seed: 304, blocks: 5 })];
  await world.log.append(events);
  await world.log.appendRaw([
    { key: '0', value: Buffer.from('no avro'), headers: {}, timestamp: 0 },
  ]);
  await expect(rebuild(optionsOf(world))).rejects.toMatchObject({
    message: expect.stringMatching(`record at offset ${events.length} cannot be applied`),
    remedy: expect.any(String),
  });
  // `afresh` drops the tables of the failed rebuild
  const held = await hold(urls.writer_url, `SELECT FROM ${nextName(name)}.head`);
  await held.letGo();
  const before = await world.pool.query(
    'SELECT created_at FROM projector.projections WHERE projection = $1',
    [nextName(name)],
  );
  await expect(rebuild(optionsOf(world, { afresh: true }))).rejects.toMatchObject({
    remedy: expect.any(String),
  });
  const now = await world.pool.query(
    'SELECT created_at FROM projector.projections WHERE projection = $1',
    [nextName(name)],
  );
  expect(now.rows).not.toEqual(before.rows);
});
