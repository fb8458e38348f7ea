import type { Pool, PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { CopyRows } from '../../../../../services/runtime/postgres/copy-rows.ts';
import type { Table } from '../../../../../projections/contract/projection.ts';
import { copyIn, type Statement } from '../../../../../services/runtime/postgres/copy-in.ts';
import { openWriter } from '../../../../../services/runtime/postgres/pool.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { silentLog } from '../../../../support/kafka.ts';

let pool: Pool;

beforeAll(async () => {
  const { writer_url: writerUrl } = await freshDatabase(inject('stack'));
  pool = openWriter(
    { postgres_url: writerUrl, application_name: 'test', schema: 'own' },
    silentLog(),
  );
  await pool.query(
    'CREATE SCHEMA own; CREATE TABLE one (number int8, name text); CREATE TABLE other (LIKE one)',
  );
});

afterAll(async () => {
  await pool.end();
});

beforeEach(async () => {
  await pool.query('TRUNCATE one, other');
});

function rows(name: string, count: number, text = 'a name'): Statement {
  const table: Table = { name, columns: { number: 'int8', name: 'text' }, key: ['number'] };
  const encoded = CopyRows.of(
    table,
    Array.from({ length: count }, (_, number) => [number, text]),
  );
  return { text: `COPY ${name} FROM STDIN BINARY`, pieces: encoded.pieces() };
}

async function counted(client: Pick<PoolClient, 'query'>): Promise<unknown> {
  return (
    await client.query(
      'SELECT (SELECT count(*)::int FROM one) AS one, (SELECT count(*)::int FROM other) AS other',
    )
  ).rows[0];
}

test('COPYs and other statements run in order', async () => {
  const client = await pool.connect();
  // more than any socket holds at once
  await copyIn(client, [
    rows('one', 100_000, 'x'.repeat(200)),
    { text: 'DELETE FROM one WHERE number >= 7' },
    rows('other', 3),
    rows('one', 2),
  ]);
  await copyIn(client, []);
  expect(await counted(client)).toEqual({ one: 9, other: 3 });
  client.release();
});

test('a failing statement throws its error, later ones do not run, and the session stays usable', async () => {
  const client = await pool.connect();
  await client.query('BEGIN');
  const statements = [
    rows('one', 5),
    { text: 'SELECT 1 / 0' },
    rows('other', 50_000, 'x'.repeat(200)),
    { text: 'DROP TABLE one' },
  ];
  await expect(copyIn(client, statements)).rejects.toMatchObject({ code: '22012' });
  await client.query('ROLLBACK');
  expect(await counted(client)).toEqual({ one: 0, other: 0 });
  await expect(copyIn(client, [rows('nowhere', 5), rows('one', 5)])).rejects.toMatchObject({
    code: '42P01',
  });
  expect(await counted(client)).toEqual({ one: 0, other: 0 });
  client.release();
});

test('a connection that ends in the middle is an error', async () => {
  const client = await pool.connect();
  client.on('error', () => undefined);
  const { rows: asked } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const copying = copyIn(client, [
    rows('one', 5),
    { text: 'SELECT pg_sleep(600)' },
    rows('other', 5),
  ]);
  const ended = expect(copying).rejects.toThrow();
  await pool.query('SELECT pg_terminate_backend($1)', [asked[0]?.pid]);
  await ended;
  client.release(true);
  expect(await counted(pool)).toEqual({ one: 0, other: 0 });
});
