import { Client } from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { postgresUrl } from '../../../infra/local/postgres.ts';
import { superuser } from '../../../infra/postgres/settings.ts';
import type { Table } from '../../../projections/projection.ts';
import { Warming, type Bringing } from '../../../services/runtime/warm-tables.ts';
import { freshDatabase } from '../../support/database.ts';

const ONE: Table = { name: 'one', columns: { n: 'int8', words: 'text' }, key: ['n'] };
const OTHER: Table = { ...ONE, name: 'other' };
const signal = new AbortController().signal;

async function warmed(client: Client, tables: readonly Table[], bringing: Partial<Bringing> = {}): Promise<Warming> {
  const warming = await Warming.open(client, tables);
  if (warming === undefined) return expect.unreachable('there is no pg_prewarm');
  await warming.bring(client, { signal, ...bringing });
  return warming;
}

/** Two tables with an index each, nothing of them in memory; the writer's session and the superuser's. */
async function coldTables(): Promise<{ readonly writer: Client; readonly superior: Client }> {
  const { writer_url: url } = await freshDatabase(inject('stack'));
  const { host, pathname } = new URL(url);
  const [writer, superior] = [new Client(url), new Client(postgresUrl(superuser, host, pathname.slice(1)))];
  for (const client of [writer, superior]) await client.connect();
  onTestFinished(async () => {
    await Promise.all([writer.end(), superior.end()]);
  });
  for (const { name } of [ONE, OTHER]) {
    await writer.query(`CREATE TABLE ${name} (n bigint PRIMARY KEY, words text) WITH (autovacuum_enabled = off)`);
    await writer.query(`INSERT INTO ${name} SELECT n, repeat('x', 500) FROM generate_series(1, 5000) n`);
  }
  await superior.query('CREATE EXTENSION pg_buffercache; CHECKPOINT');
  await superior.query("SELECT pg_buffercache_evict_relation(name) FROM unnest('{one,one_pkey,other,other_pkey}'::regclass[]) name");
  return { writer, superior };
}

interface Memory {
  readonly name: string;
  readonly blocks: number;
  readonly in_memory: number;
}

async function memoryOf(superior: Client): Promise<readonly Memory[]> {
  const { rows } = await superior.query<Memory>(
    `SELECT c.relname AS name, (pg_relation_size(c.oid) / 8192)::int AS blocks,
            (SELECT count(*)::int FROM pg_buffercache b
              WHERE b.relfilenode = pg_relation_filenode(c.oid) AND b.relforknumber = 0
                AND b.reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())) AS in_memory
       FROM pg_class c WHERE c.relname IN ('one', 'one_pkey', 'other', 'other_pkey') ORDER BY 1`,
  );
  return rows;
}

test('the tables that are named are in memory afterwards, their indexes too, and no others', async () => {
  const { writer, superior } = await coldTables();
  expect((await memoryOf(superior)).map(({ in_memory: count }) => count)).toEqual([0, 0, 0, 0]);
  const { blocks } = await warmed(writer, [ONE]);
  const [one, pkey, ...others] = await memoryOf(superior);
  expect(blocks).toBe((one?.blocks ?? 0) + (pkey?.blocks ?? 0));
  expect(one?.blocks).toBeGreaterThan(300);
  for (const each of [one, pkey]) expect(each?.in_memory).toBe(each?.blocks);
  expect(others.map(({ in_memory: count }) => count)).toEqual([0, 0]);
});

test('of a table that an index holds whole the index is enough', async () => {
  const { writer, superior } = await coldTables();
  await writer.query('CREATE UNIQUE INDEX whole ON one (n) INCLUDE (words)');
  await superior.query("CHECKPOINT; SELECT pg_buffercache_evict_relation(name) FROM unnest('{one,one_pkey}'::regclass[]) name");
  await warmed(writer, [ONE]);
  const [one, pkey] = await memoryOf(superior);
  expect(one?.in_memory).toBeLessThan(one?.blocks ?? 0);
  expect(pkey?.in_memory).toBe(pkey?.blocks);
});

test('what was brought is not brought again, and what is there by then comes later', async () => {
  const { writer, superior } = await coldTables();
  const warming = await warmed(writer, [ONE], { only: ({ is_index }) => !is_index });
  const [one, pkey] = await memoryOf(superior);
  expect([warming.blocks, pkey?.in_memory]).toEqual([one?.blocks, 0]);
  await writer.query('CREATE INDEX later ON one (n)');
  await superior.query("CHECKPOINT; SELECT pg_buffercache_evict_relation('one')");
  await warming.bring(writer, { signal });
  expect((await memoryOf(superior)).slice(0, 2).map(({ in_memory: count }) => count)).toEqual([0, pkey?.blocks]);
  const { rows } = await writer.query<{ blocks: number }>("SELECT (pg_relation_size('later') / 8192)::int AS blocks");
  expect(warming.blocks).toBe((one?.blocks ?? 0) + (pkey?.blocks ?? 0) + (rows[0]?.blocks ?? 0));
});

test('told to stop it reads no further, and where the server has no such extension nothing is done', async () => {
  const { writer, superior } = await coldTables();
  expect((await warmed(writer, [ONE, OTHER], { signal: AbortSignal.abort() })).blocks).toBe(0);
  await superior.query('DROP EXTENSION pg_prewarm');
  expect(await Warming.open(writer, [ONE, OTHER])).toBeUndefined();
  expect((await memoryOf(superior)).map(({ in_memory: count }) => count)).toEqual([0, 0, 0, 0]);
});
