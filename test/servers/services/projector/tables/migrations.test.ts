import { once } from 'node:events';
import { execFileSync, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { beforeEach, expect, inject, onTestFinished, test } from 'vitest';
import { explorer } from '../../../../../projections/explorer/explorer.ts';
import { markIndexed } from '../../../../../services/projector/tables/live-tables.ts';
import { prepareDatabase } from '../../../../../services/projector/tables/migrations.ts';
import { freshDatabase } from '../../../../support/database.ts';

let urls: Awaited<ReturnType<typeof freshDatabase>>;

beforeEach(async () => {
  urls = await freshDatabase(inject('stack'));
});

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

async function tables(client: Client): Promise<unknown[]> {
  const { rows } = await client.query({
    text: `SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname IN ('projector', 'explorer', 'public') ORDER BY 1`,
    rowMode: 'array',
  });
  return rows.flat();
}

const ALL_TABLES = [
  'explorer.account_transactions',
  'explorer.accounts',
  'explorer.activity',
  'explorer.blocks',
  'explorer.head',
  'explorer.transaction_types',
  'explorer.transactions',
  'explorer.validators',
  'projector.checkpoints',
  'projector.knex_migrations',
  'projector.knex_migrations_lock',
  'projector.projections',
  'projector.quarantine',
];

test('a projection without its schema is built again from offset 0', async () => {
  await prepareDatabase(urls.writer_url, explorer);
  const client = await connect(urls.writer_url);
  await client.query(
    `INSERT INTO projector.checkpoints (projection, version, topic, partition, cluster_id, next_offset, digest)
     VALUES ('explorer', 1, 'chain.blocks', 0, 'c', 7, ''), ('another', 1, 'chain.blocks', 0, 'c', 7, '')`,
  );
  await client.query('DROP SCHEMA explorer CASCADE');
  await prepareDatabase(urls.writer_url, explorer);
  expect(await tables(client)).toEqual(ALL_TABLES);
  expect((await client.query('SELECT projection FROM projector.checkpoints')).rows).toEqual([
    { projection: 'another' },
  ]);
});

/** Another one keeps every earlier version from starting: `ops rebuild --rollback` needs that. */
const FOR_ALL_VERSIONS = [
  '001_checkpoints',
  '002_readers',
  '003_indexed',
  '004_beside',
  '005_quarantine',
];

test('tables are created once, and a second start changes nothing', async () => {
  await prepareDatabase(urls.writer_url, explorer);
  const client = await connect(urls.writer_url);
  expect(await tables(client)).toEqual(ALL_TABLES);
  const migrated =
    'SELECT id, name, batch, migration_time FROM projector.knex_migrations ORDER BY id';
  const { rows: before } = await client.query(migrated);
  expect(before.map(({ name }) => name)).toEqual(FOR_ALL_VERSIONS);
  await client.query("INSERT INTO explorer.transaction_types VALUES ('Mint', 1)");
  await prepareDatabase(urls.writer_url, explorer);
  expect((await client.query(migrated)).rows).toEqual(before);
  expect((await client.query('SELECT * FROM explorer.transaction_types')).rows).toHaveLength(1);
});

test('a migration of a later version keeps no projector from starting', async () => {
  await prepareDatabase(urls.writer_url, explorer);
  const client = await connect(urls.writer_url);
  await client.query(
    `INSERT INTO projector.knex_migrations (name, batch, migration_time) VALUES ('999_later', 2, now())`,
  );
  expect(await prepareDatabase(urls.writer_url, explorer)).toBe('ready');
});

async function state(client: Client): Promise<unknown> {
  const { rows: indexes } = await client.query(
    "SELECT 1 FROM pg_indexes WHERE schemaname = 'explorer' AND indexname NOT LIKE '%_pkey'",
  );
  const { rows } = await client.query<{ at: Date | null }>(
    "SELECT indexed_at AS at FROM projector.projections WHERE projection = 'explorer'",
  );
  return { indexes: indexes.length, indexed: rows.map(({ at }) => at !== null) };
}

test('new tables have no indexes and are not marked as indexed, unless created so', async () => {
  await prepareDatabase(urls.writer_url, explorer);
  const client = await connect(urls.writer_url);
  expect(await state(client)).toEqual({ indexes: 0, indexed: [false] });
  await prepareDatabase(urls.writer_url, explorer, { indexed: true });
  expect(await state(client)).toEqual({ indexes: 0, indexed: [false] });
  await client.query('DROP SCHEMA explorer CASCADE');
  await prepareDatabase(urls.writer_url, explorer, { indexed: true });
  const wanted = (await readFile(explorer.index_sql, 'utf8')).match(/^CREATE .*INDEX/gm) ?? [];
  expect(wanted.length).toBeGreaterThan(5);
  expect(await state(client)).toEqual({ indexes: wanted.length, indexed: [true] });
});

test('autovacuum is off during a load and on after the index build', async () => {
  await prepareDatabase(urls.writer_url, explorer);
  const client = await connect(urls.writer_url);
  const settings = async (): Promise<readonly unknown[]> => {
    const text =
      "SELECT DISTINCT reloptions[array_upper(reloptions, 1)] AS set FROM pg_class WHERE relkind = 'r' AND relnamespace = 'explorer'::regnamespace";
    return (await client.query<{ set: string | null }>(text)).rows.map(({ set }) => set);
  };
  expect(await settings()).toEqual(['autovacuum_enabled=off']);
  await client.query('SET search_path TO explorer');
  await markIndexed(client, explorer, explorer.tables);
  expect(await settings()).toEqual(['autovacuum_enabled=on']);
  expect(await state(client)).toMatchObject({ indexed: [true] });
});

test('tables of older software have their indexes and are marked as indexed', async () => {
  await prepareDatabase(urls.writer_url, explorer, { indexed: true });
  const client = await connect(urls.writer_url);
  await client.query('ALTER TABLE projector.projections DROP COLUMN indexed_at');
  await client.query("DELETE FROM projector.knex_migrations WHERE name = '003_indexed'");
  const before = await state(client).catch(String);
  expect(before).toMatch(/indexed_at/);
  await prepareDatabase(urls.writer_url, explorer);
  expect(await state(client)).toMatchObject({ indexed: [true] });
});

test('several projectors that start at once on an empty database all succeed', async () => {
  await Promise.all(Array.from({ length: 4 }, () => prepareDatabase(urls.writer_url, explorer)));
  expect(await tables(await connect(urls.writer_url))).toEqual(ALL_TABLES);
});

test("the reader's role can read every table, also those created later, and can write none", async () => {
  await prepareDatabase(urls.writer_url, explorer);
  const writer = await connect(urls.writer_url);
  await writer.query('CREATE SCHEMA later CREATE TABLE later.things (id int)');
  const reader = await connect(urls.reader_url);
  for (const table of [...ALL_TABLES, 'later.things'])
    expect((await reader.query(`SELECT count(*) FROM ${table}`)).rows).toHaveLength(1);
  await reader.query('SET default_transaction_read_only = off');
  const writes = [
    'DELETE FROM explorer.blocks',
    'INSERT INTO later.things VALUES (1)',
    'UPDATE projector.checkpoints SET next_offset = 0',
  ];
  for (const write of [
    ...writes,
    'TRUNCATE explorer.head',
    'CREATE TABLE explorer.own (id int)',
    'CREATE SCHEMA own',
    'DROP TABLE later.things',
  ]) {
    await expect(reader.query(write), write).rejects.toMatchObject({ code: '42501' });
  }
});

test('another reader gets the rights at the next start', async () => {
  await prepareDatabase(urls.writer_url, explorer);
  const client = await connect(urls.writer_url);
  const mayRead = async (): Promise<unknown> =>
    (
      await client.query(
        `SELECT has_schema_privilege('pg_monitor', 'explorer', 'USAGE') AND has_table_privilege('pg_monitor', 'explorer.blocks', 'SELECT') AND has_table_privilege('pg_monitor', 'projector.checkpoints', 'SELECT') AS may`,
      )
    ).rows;
  expect(await mayRead()).toEqual([{ may: false }]);
  await prepareDatabase(urls.writer_url, explorer, { postgres_reader_role: 'pg_monitor' });
  expect(await mayRead()).toEqual([{ may: true }]);
});

test('tables of an earlier version are reported as older; a later version is a fault with retry', async () => {
  await prepareDatabase(urls.writer_url, explorer);
  const client = await connect(urls.writer_url);
  expect(await prepareDatabase(urls.writer_url, { ...explorer, version: 7 })).toBe('older');
  expect(await tables(client)).toEqual(ALL_TABLES);
  expect((await client.query('SELECT version FROM projector.projections')).rows).toEqual([
    { version: explorer.version },
  ]);

  await client.query('UPDATE projector.projections SET version = 7');
  await expect(prepareDatabase(urls.writer_url, explorer)).rejects.toMatchObject({
    code: 'projection_version',
    retry: true,
    message: expect.stringMatching(
      /explorer are of version 7, this software writes version \d+, so nothing is written: run the software of version 7; or/,
    ),
  });
  expect(await prepareDatabase(urls.writer_url, { ...explorer, version: 7 })).toBe('ready');
  await client.query('DROP SCHEMA explorer CASCADE');
  expect(await prepareDatabase(urls.writer_url, explorer)).toBe('ready');
  expect((await client.query('SELECT version, beside FROM projector.projections')).rows).toEqual([
    { version: explorer.version, beside: null },
  ]);
});

test.each([
  ['of the tables', 'table_sql', {}],
  ['of the indexes, when they are wanted at once', 'index_sql', { indexed: true }],
] as const)('DDL %s that fails leaves no half of a schema', async (_, which, options) => {
  const broken = {
    ...explorer,
    [which]: pathToFileURL(join(tmpdir(), `broken-${process.pid}.sql`)),
  };
  await writeFile(
    broken[which],
    'CREATE TABLE half (id int);\nCREATE INDEX nothing ON no_such_table (id);',
  );
  onTestFinished(() => rmSync(broken[which]));
  await expect(prepareDatabase(urls.writer_url, broken, options)).rejects.toMatchObject({
    code: 'storage_missing',
  });
  expect(await tables(await connect(urls.writer_url))).toEqual(
    ALL_TABLES.filter((table) => table.startsWith('projector.')),
  );
  await prepareDatabase(urls.writer_url, explorer);
  expect(await tables(await connect(urls.writer_url))).toEqual(ALL_TABLES);
});

test('a process killed with all locks does not block the next one', async () => {
  // its reading of the DDL never ends, so it hangs after making the schema, before the commit
  const endless = join(tmpdir(), `endless-${process.pid}.sql`);
  execFileSync('mkfifo', [endless]);
  onTestFinished(() => rmSync(endless));
  const script = `
    import { prepareDatabase } from ${JSON.stringify(new URL('../../../../../services/projector/tables/migrations.ts', import.meta.url).href)};
    import { explorer } from ${JSON.stringify(new URL('../../../../../projections/explorer/explorer.ts', import.meta.url).href)};
    await prepareDatabase(process.argv[1], { ...explorer, table_sql: new URL(process.argv[2]) });`;
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', script, urls.writer_url, pathToFileURL(endless).href],
    {
      stdio: 'inherit',
    },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  const client = await connect(urls.writer_url);
  const stopped = `SELECT state, query FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'migrations' AND query LIKE 'SET LOCAL%'`;
  await expect
    .poll(async () => (await client.query(stopped)).rows)
    .toMatchObject([{ state: 'idle in transaction' }]);
  // as if it had been killed a little earlier: knex' own lock says that somebody is migrating
  await client.query('UPDATE projector.knex_migrations_lock SET is_locked = 1');
  const waiting = `SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database
                    WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted`;
  const second = prepareDatabase(urls.writer_url, explorer);
  await expect.poll(async () => (await client.query(waiting)).rows.length).toBe(1);
  child.kill('SIGKILL');
  await second;
  expect(await tables(client)).toEqual(ALL_TABLES);
  expect((await client.query('SELECT is_locked FROM projector.knex_migrations_lock')).rows).toEqual(
    [{ is_locked: 0 }],
  );
});

test('a database that cannot be reached or takes no writes is a fault with retry, a refused role one without', async () => {
  await expect(
    prepareDatabase('postgres://clt_writer:clt_writer@127.0.0.1:1/clt', explorer),
  ).rejects.toMatchObject({
    code: 'storage_unreachable',
    retry: true,
  });
  const wrong = urls.writer_url.replace('clt_writer:clt_writer', 'clt_writer:wrong');
  await expect(prepareDatabase(wrong, explorer)).rejects.toMatchObject({
    code: 'storage_denied',
    retry: false,
  });
  await expect(prepareDatabase(urls.reader_url, explorer)).rejects.toMatchObject({
    code: 'storage_denied',
    retry: false,
  });
  const owner = await connect(urls.writer_url);
  const name = new URL(urls.writer_url).pathname.slice(1);
  await owner.query(
    `ALTER ROLE CURRENT_USER IN DATABASE ${name} SET default_transaction_read_only = on`,
  );
  await expect(prepareDatabase(urls.writer_url, explorer)).rejects.toMatchObject({
    code: 'storage_read_only',
    retry: true,
  });
});

test('a Postgres that accepts a connection and says nothing is a fault that is tried again', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const { port } = Object(silent.address());
  await expect(
    prepareDatabase(`postgresql://u:p@127.0.0.1:${port}/clt`, explorer),
  ).rejects.toMatchObject({ code: 'storage_unreachable', retry: true });
});
