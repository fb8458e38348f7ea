import { Client } from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { postgresUrl } from '../../../../../infra/postgres/databases.ts';
import { superuser } from '../../../../../infra/postgres/settings.ts';
import type { Table } from '../../../../../projections/contract/projection.ts';
import { warmTables } from '../../../../../services/projector/tables/index-build.ts';
import { freshDatabase } from '../../../../support/database.ts';

const ONE: Table = { name: 'one', columns: { n: 'int8', words: 'text' }, key: ['n'] };
const OTHER: Table = { ...ONE, name: 'other' };
const signal = new AbortController().signal;

/** Two tables with an index each, uncached; the sessions of the writer and of the superuser. */
async function coldTables(): Promise<{ readonly writer: Client; readonly superior: Client }> {
  const { writer_url: writerUrl } = await freshDatabase(inject('stack'));
  const { host, pathname } = new URL(writerUrl);
  const [writer, superior] = [
    new Client(writerUrl),
    new Client(postgresUrl(superuser, host, pathname.slice(1))),
  ];
  for (const client of [writer, superior]) await client.connect();
  onTestFinished(async () => {
    await Promise.all([writer.end(), superior.end()]);
  });
  for (const { name } of [ONE, OTHER]) {
    await writer.query(
      `CREATE TABLE ${name} (n bigint PRIMARY KEY, words text) WITH (autovacuum_enabled = off)`,
    );
    await writer.query(
      `INSERT INTO ${name} SELECT n, repeat('x', 500) FROM generate_series(1, 5000) n`,
    );
  }
  await superior.query('CREATE EXTENSION pg_buffercache');
  await superior.query(
    "SELECT pg_buffercache_evict_relation(name) FROM unnest('{one,one_pkey,other,other_pkey}'::regclass[]) name",
  );
  return { writer, superior };
}

interface Memory {
  readonly name: string;
  readonly blocks: number;
  readonly in_memory: number;
  /** how often each block was, approximately: the least used is evicted */
  readonly used: number;
}

async function memoryOf(superior: Client): Promise<readonly Memory[]> {
  const { rows } = await superior.query<Memory>(
    `SELECT c.relname AS name, (pg_relation_size(c.oid) / 8192)::int AS blocks,
            count(b)::int AS in_memory, coalesce(avg(b.usagecount), 0)::float AS used
       FROM pg_class c
       LEFT JOIN pg_buffercache b ON b.relfilenode = pg_relation_filenode(c.oid) AND b.relforknumber = 0
        AND b.reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
      WHERE c.relname IN ('one', 'one_pkey', 'other', 'other_pkey') GROUP BY c.oid, c.relname ORDER BY 1`,
  );
  return rows;
}

test('the given tables and their indexes are in the shared buffers, no others', async () => {
  const { writer, superior } = await coldTables();
  expect((await memoryOf(superior)).map(({ in_memory: inMemory }) => inMemory)).toEqual([
    0, 0, 0, 0,
  ]);
  const blocks = await warmTables(writer, [ONE], { signal });
  const [one, pkey, ...others] = await memoryOf(superior);
  expect(blocks).toBe((one?.blocks ?? 0) + (pkey?.blocks ?? 0));
  expect(one?.blocks).toBeGreaterThan(300);
  for (const each of [one, pkey]) expect(each?.in_memory).toBe(each?.blocks);
  expect(others.map(({ in_memory: inMemory }) => inMemory)).toEqual([0, 0]);
});

test('warming reads only the index of a table whose columns are all in it', async () => {
  const { writer, superior } = await coldTables();
  await writer.query('CREATE UNIQUE INDEX whole ON one (n) INCLUDE (words)');
  await superior.query(
    "SELECT pg_buffercache_evict_relation(name) FROM unnest('{one,one_pkey}'::regclass[]) name",
  );
  await warmTables(writer, [ONE], { signal });
  const [one, pkey] = await memoryOf(superior);
  expect(one?.in_memory).toBeLessThan(one?.blocks ?? 0);
  expect(pkey?.in_memory).toBe(pkey?.blocks);
});

test('without room for everything the indexes of all tables come first', async () => {
  const { writer, superior } = await coldTables();
  const { rows } = await superior.query<{ share: number }>(
    `SELECT (pg_relation_size('one_pkey') + pg_relation_size('other_pkey') + 8192 * 1.5) / 8192 / setting::int AS share
       FROM pg_settings WHERE name = 'shared_buffers'`,
  );
  await warmTables(writer, [ONE, OTHER], { signal, share: Number(rows[0]?.share) });
  const [one, pkey, other, otherPkey] = await memoryOf(superior);
  expect([one?.in_memory, other?.in_memory]).toEqual([1, 0]);
  for (const each of [pkey, otherPkey]) expect(each?.in_memory).toBe(each?.blocks);
});

test('an aborted signal ends it, and without the extension nothing is read', async () => {
  const { writer, superior } = await coldTables();
  expect(await warmTables(writer, [ONE, OTHER], { signal: AbortSignal.abort() })).toBe(0);
  await superior.query('DROP EXTENSION pg_prewarm');
  expect(await warmTables(writer, [ONE, OTHER], { signal })).toBeUndefined();
  expect((await memoryOf(superior)).map(({ in_memory: inMemory }) => inMemory)).toEqual([
    0, 0, 0, 0,
  ]);
});
