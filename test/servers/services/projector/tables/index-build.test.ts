import { Client } from 'pg';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import {
  buildIndexes,
  statementsOf,
} from '../../../../../services/projector/tables/index-build.ts';
import { enterLoad, tryBuildLock } from '../../../../../services/projector/tables/live-tables.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { silentLog } from '../../../../support/kafka.ts';
import {
  holdIndexing,
  indexesOf,
  indexSql,
  isMarkedIndexed,
  isRunning,
  wantedIndexes,
} from '../../../../services/projector/engine/loading.ts';
import {
  openTables,
  ownExplorer,
  proxyOf,
  type TableOptions,
  type Tables,
} from '../../../../services/projector/engine/projected.ts';

let writerUrl: string;

beforeAll(async () => {
  ({ writer_url: writerUrl } = await freshDatabase(inject('stack')));
});

async function open(options: TableOptions = {}): Promise<Tables> {
  const tables = await openTables(writerUrl, ownExplorer(), { indexed: false, ...options });
  onTestFinished(() => tables.pool.end());
  return tables;
}

interface Build {
  readonly steps: string[];
  readonly ended: Promise<void>;
  readonly stop: () => void;
}

function build({ pool, projection }: Tables, options: { readonly at_once?: number } = {}): Build {
  const stopping = new AbortController();
  const steps: string[] = [];
  const onStep = (what: string): void => void (steps.at(-1) === what || steps.push(what));
  const ended = buildIndexes({
    pool,
    projection,
    log: silentLog(),
    signal: stopping.signal,
    onStep,
    ...options,
  });
  ended.catch(() => undefined);
  return { steps, ended, stop: () => stopping.abort() };
}

async function expectBuilt({ pool, projection }: Tables): Promise<void> {
  expect(await indexesOf(pool, projection.name)).toEqual((await wantedIndexes()).toSorted());
  expect(await isMarkedIndexed(pool, projection.name)).toBe(true);
}

test('a statement ends with a semicolon at the end of a line', () => {
  const sql = `-- about a
CREATE INDEX a ON t (x);  -- the first
CREATE UNIQUE INDEX b ON t
  (y); \r
CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1; SELECT 2';

-- nothing more;
`;
  expect(statementsOf(sql)).toEqual([
    '-- about a\nCREATE INDEX a ON t (x)',
    'CREATE UNIQUE INDEX b ON t\n  (y)',
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1; SELECT 2'",
  ]);
  expect(statementsOf('')).toEqual([]);
  expect(statementsOf('CREATE INDEX a ON t (x)')).toEqual(['CREATE INDEX a ON t (x)']);
});

test('indexes are built in order, then statistics, and each step is reported', async () => {
  const tables = await open();
  await tables.pool.query(
    "INSERT INTO transaction_types SELECT 'type ' || n, n FROM generate_series(1, 321) n",
  );
  const { steps, ended } = build(tables);
  await ended;
  await expectBuilt(tables);
  const names = await wantedIndexes();
  expect(steps).toEqual([
    ...names.map((name, at) => `index ${at + 1} of ${names.length} (${name})`),
    'statistics',
    'warming',
  ]);
  const { rows } = await tables.pool.query(
    "SELECT reltuples::int AS count FROM pg_class WHERE oid = 'transaction_types'::regclass",
  );
  expect(rows).toEqual([{ count: 321 }]);
  const again = build(tables);
  await again.ended;
  expect(again.steps).toEqual([]);
});

test('a stopped build keeps finished indexes, and the next build makes the others', async () => {
  const tables = await open();
  const names = await wantedIndexes();
  const held = await holdIndexing(writerUrl, tables.projection.name, 'transactions');
  const first = build(tables, { at_once: 1 });
  await expect.poll(() => isRunning(tables.pool, 'CREATE%transactions_type %')).toBe(true);
  const at = names.indexOf('transactions_type');
  expect(first.steps.at(-1)).toBe(`index ${at + 1} of ${names.length} (transactions_type)`);
  first.stop();
  await expect(first.ended).rejects.toMatchObject({ code: 'stopped', retry: true });
  await expect.poll(() => isRunning(tables.pool, 'CREATE%transactions_type %')).toBe(false);
  expect(await indexesOf(tables.pool, tables.projection.name)).toEqual(
    names.slice(0, at).toSorted(),
  );
  expect(await isMarkedIndexed(tables.pool, tables.projection.name)).toBe(false);
  await held.letGo();
  await build(tables).ended;
  await expectBuilt(tables);
});

test('two indexes are built at a time; a long one does not delay the others', async () => {
  const tables = await open();
  const names = await wantedIndexes();
  const held = await holdIndexing(writerUrl, tables.projection.name, 'account_transactions');
  const { steps, ended } = build(tables);
  await expect
    .poll(() => indexesOf(tables.pool, tables.projection.name))
    .toEqual(names.filter((name) => name !== 'account_transactions_ordinal').toSorted());
  expect(steps).not.toContain('statistics');
  await held.letGo();
  await ended;
  await expectBuilt(tables);
});

test('a stopped build ends its statement in Postgres', async () => {
  const index_sql = await indexSql(
    'CREATE INDEX slowly ON transaction_types (slow(transactions));\n',
  );
  const tables = await open();
  await tables.pool.query(
    `CREATE FUNCTION slow(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(3600); RETURN $1; END'`,
  );
  await tables.pool.query("INSERT INTO transaction_types VALUES ('Mint', 1)");
  const { ended, stop } = build({ ...tables, projection: { ...tables.projection, index_sql } });
  await expect.poll(() => isRunning(tables.pool, 'CREATE INDEX slowly%')).toBe(true);
  stop();
  await expect(ended).rejects.toMatchObject({ code: 'stopped' });
  await expect.poll(() => isRunning(tables.pool, 'CREATE INDEX slowly%')).toBe(false);
  expect(await indexesOf(tables.pool, tables.projection.name)).toEqual([]);
});

test('one of two concurrent index builds works and the other waits for it', async () => {
  const tables = await open();
  const held = await holdIndexing(writerUrl, tables.projection.name, 'activity');
  const both = [build(tables, { at_once: 1 }), build(tables, { at_once: 1 })];
  await expect.poll(() => both.map(({ steps }) => steps.at(-1) ?? '').toSorted()).toEqual([
    expect.stringMatching(/^index 1 of \d+ \(activity_ordinal\)$/),
    'indexes (another projector is at it)',
  ]); // prettier-ignore
  await held.letGo();
  await Promise.all(both.map(({ ended }) => ended));
  expect(both.filter(({ steps }) => steps.includes('statistics'))).toHaveLength(1);
  await expectBuilt(tables);
});

test('a build that waits for another can be stopped', async () => {
  const tables = await open();
  const other = new Client({ connectionString: writerUrl });
  await other.connect();
  onTestFinished(() => other.end());
  expect(await tryBuildLock(other, tables.projection)).toBe(true);
  const { steps, ended, stop } = build(tables);
  await expect.poll(() => steps).toEqual(['indexes (another projector is at it)']);
  stop();
  await expect(ended).rejects.toMatchObject({ code: 'stopped' });
});

test('a broken connection is a fault with retry, and finished indexes stay', async () => {
  const proxy = await proxyOf(writerUrl);
  const tables = await open({ through: proxy });
  const held = await holdIndexing(writerUrl, tables.projection.name, 'activity');
  const { steps, ended } = build(tables);
  await expect.poll(() => steps).toContainEqual(expect.stringMatching(/\(activity_block\)$/));
  proxy.cut();
  await expect(ended).rejects.toMatchObject({ code: 'storage_unreachable', retry: true });
  await held.letGo();
  await build(tables).ended;
  await expectBuilt(tables);
});

test('a unique index over duplicate rows is a fault without retry', async () => {
  const tables = await open();
  const row = `INSERT INTO validators VALUES (1, '\\x00'), (1, '\\x01')`;
  await tables.pool.query(row);
  await expect(build(tables).ended).rejects.toMatchObject({
    code: 'storage_refused',
    retry: false,
  });
  expect(await isMarkedIndexed(tables.pool, tables.projection.name)).toBe(false);
});

test('loading and building indexes exclude each other', async () => {
  const tables = await open();
  const id = tables.projection;
  const [loader, builder] = await Promise.all([tables.pool.connect(), tables.pool.connect()]);
  await loader.query('BEGIN');
  expect(await enterLoad(loader, id)).toBe('loading');
  expect(await tryBuildLock(builder, id)).toBe(false);
  expect(await tryBuildLock(builder, { ...id, name: 'another' })).toBe(true);
  await loader.query('COMMIT');
  expect(await tryBuildLock(builder, id)).toBe(true);
  await loader.query('BEGIN');
  expect(await enterLoad(loader, id)).toBe('building');
  await loader.query('COMMIT');
  builder.release(true);
  loader.release();
  const { ended } = build(tables);
  await ended;
  const later = await tables.pool.connect();
  await later.query('BEGIN');
  expect(await enterLoad(later, id)).toBe('live');
  expect(
    (await later.query("SELECT current_setting('statement_timeout') AS timeout")).rows,
  ).toEqual([{ timeout: '10min' }]);
  await later.query('COMMIT');
  expect(
    (await later.query("SELECT current_setting('statement_timeout') AS timeout")).rows,
  ).toEqual([{ timeout: '1min' }]);
  later.release();
});
