import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Pool } from 'pg';
import { afterEach, beforeAll, expect, inject, test } from 'vitest';
import { Bug, Fault } from '../../../../../services/runtime/process/errors.ts';
import { openLog } from '../../../../../services/runtime/process/log.ts';
import {
  faultOf,
  openReader,
  openWriter,
  type ReaderPool,
  type ReaderSettings,
  type Statement,
} from '../../../../../services/runtime/postgres/pool.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { FaultProxy } from '../../../../support/fault-proxy.ts';
import { takePort } from '../../../../support/free-ports.ts';
import { HANG_MS } from '../../../../support/limits.ts';

let urls: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  urls = await freshDatabase(inject('stack'));
});

const logged: string[] = [];
const log = openLog({
  service: 'test',
  level: 'info',
  destination: { write: (line) => void logged.push(line) },
});
const pools: { readonly close: () => Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(pools.splice(0).map(({ close }) => close()));
  logged.length = 0;
});

function reader(settings: Partial<ReaderSettings> = {}, name = 'test-reader'): ReaderPool {
  const pool = openReader(
    {
      postgres_reader_url: urls.reader_url,
      statement_timeout_ms: HANG_MS,
      connections_max: 2,
      ...settings,
    },
    name,
    log,
  );
  pools.push(pool);
  return pool;
}

function writer(settings: { readonly lock_timeout_ms?: number } = {}): Pool {
  const pool = openWriter(
    {
      postgres_url: urls.writer_url,
      application_name: 'test-writer',
      schema: 'public',
      ...settings,
    },
    log,
  );
  pools.push({ close: () => pool.end() });
  return pool;
}

function select(text: string, values: Statement['values'] = []): Statement {
  return { name: text.slice(0, 60), text, values };
}

async function faultFrom(
  attempt: Promise<unknown>,
): Promise<{ readonly code: string; readonly retry: boolean }> {
  try {
    await attempt;
  } catch (error) {
    const fault = faultOf(error);
    if (!(fault instanceof Fault)) throw fault;
    return { code: fault.code, retry: fault.retry };
  }
  throw new Error('it went well');
}

test('a reader returns every column as Postgres writes it, with every digit and in UTC', async () => {
  const rows = await reader().rows(
    select(
      `SELECT 9007199254740993::bigint, 115792089237316195423570985008687907853269984665640564039457584007913129639935::numeric, '\\x00ff'::bytea, true, false,
              '2026-11-21 08:28:00.5+01'::timestamptz, NULL, 7::int4, $1::text || $2::bigint || encode($3::bytea, 'hex') || $4::boolean || $5::int`,
      ["O'Neill % _ \\", 9_007_199_254_740_993n, Buffer.from([0xab]), true, 5],
    ),
  );
  expect(rows).toEqual([
    [
      '9007199254740993',
      '115792089237316195423570985008687907853269984665640564039457584007913129639935',
      '\\x00ff',
      't',
      'f',
      '2026-11-21 07:28:00.5+00',
      null,
      '7',
      "O'Neill % _ \\9007199254740993abtrue5",
    ],
  ]);
});

test('a reader cannot write with any statement', async () => {
  const one = reader();
  expect(await faultFrom(one.rows(select('CREATE TEMPORARY TABLE t (x int)')))).toEqual({
    code: 'storage_refused',
    retry: false,
  });
  expect(await faultFrom(one.rows(select('CREATE SCHEMA mine')))).toEqual({
    code: 'storage_refused',
    retry: false,
  });
});

/** A reader has no right to sleep. */
const ENDLESS = 'SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b';

test('a query that takes too long is a fault, and the next one succeeds', async () => {
  // limit under test
  const one = reader({ statement_timeout_ms: 1_000, connections_max: 1 });
  expect(await faultFrom(one.rows(select(ENDLESS)))).toEqual({
    code: 'storage_timeout',
    retry: true,
  });
  await expect.poll(() => one.rows(select('SELECT 1')).catch(() => undefined)).toEqual([['1']]);
});

test('a server that freezes during a query does not block it for ever', async () => {
  const proxy = await FaultProxy.open({ port: Number(new URL(urls.reader_url).port) });
  const one = reader({
    postgres_reader_url: proxy.url(urls.reader_url),
    // limit under test
    statement_timeout_ms: 1_000,
    connections_max: 1,
  });
  await expect.poll(() => one.rows(select('SELECT 1')).catch(() => undefined)).toEqual([['1']]);
  proxy.next('black_hole');
  expect(await faultFrom(one.rows(select('SELECT 2')))).toEqual({
    code: 'storage_timeout',
    retry: true,
  });
  await expect.poll(() => one.rows(select('SELECT 2')).catch(() => undefined)).toEqual([['2']]);
  await proxy.close();
});

test('queries on missing tables are faults, and succeed once the tables exist', async () => {
  const one = reader();
  const question = select('SELECT x FROM later.things');
  expect(await faultFrom(one.rows(question))).toEqual({ code: 'storage_missing', retry: false });
  const owner = writer();
  await owner.query(
    'CREATE SCHEMA later; CREATE TABLE later.things (x int); INSERT INTO later.things VALUES (5)',
  );
  expect(await one.rows(question)).toEqual([['5']]);
  // a rebuild puts another table under the same name, here even with another type
  await owner.query(
    'DROP TABLE later.things; CREATE TABLE later.things (x text); INSERT INTO later.things VALUES (6)',
  );
  const code = await one.rows(question).then(
    (rows) => rows[0]?.[0],
    (error: unknown) => (error instanceof Fault ? error.code : 'unknown'),
  );
  expect(['6', 'storage_conflict']).toContain(code);
  expect(await one.rows(question)).toEqual([['6']]);
});

test('a missing server, a silent server and a refused login are distinct faults', async () => {
  const [taken, free] = [await takePort(), await takePort()];
  const silent = createServer().listen(taken.port, '127.0.0.1');
  await once(silent, 'listening');
  const codes = await Promise.all(
    [
      `postgres://clt_reader:x@127.0.0.1:${free.port}/clt`,
      `postgres://clt_reader:x@127.0.0.1:${taken.port}/clt`,
      urls.reader_url.replace('clt_reader:clt_reader', 'clt_reader:wrong'),
      `${urls.reader_url}_missing`,
    ].map((url) => faultFrom(reader({ postgres_reader_url: url }).rows(select('SELECT 1')))),
  );
  expect(codes).toEqual([
    { code: 'storage_unreachable', retry: true },
    { code: 'storage_unreachable', retry: true },
    { code: 'storage_denied', retry: false },
    { code: 'storage_missing', retry: false },
  ]);
  silent.close();
  taken.release();
  free.release();
});

test('a fault of a connection never shows its password', async () => {
  const url = urls.reader_url.replace('clt_reader:clt_reader', 'clt_reader:hunter2');
  const error = await reader({ postgres_reader_url: url })
    .rows(select('SELECT 1'))
    .catch((caught: unknown) => caught);
  log.error({ err: error }, 'failed');
  expect(logged).toHaveLength(1);
  expect(logged.join()).not.toContain('hunter2');
});

test('a query whose connection breaks is asked on another one; an idle one is replaced', async () => {
  const one = reader({}, 'test-breaks');
  const owner = writer();
  await owner.query('CREATE TABLE public.held AS SELECT 5 AS x');
  const holder = await owner.connect();
  await holder.query('BEGIN; LOCK TABLE public.held');
  const asking = one.rows(select('SELECT x FROM public.held'));
  const waiting = async (): Promise<readonly unknown[]> => {
    const { rows } = await owner.query<{ readonly pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'test-breaks' AND wait_event_type = 'Lock'`,
    );
    return rows.map(({ pid }) => pid);
  };
  await expect.poll(waiting).toHaveLength(1);
  const [pid] = await waiting();
  await owner.query('SELECT pg_terminate_backend($1)', [pid]);
  await expect.poll(waiting).toEqual([expect.not.toSatisfy((each) => each === pid)]);
  await holder.query('COMMIT');
  holder.release();
  expect(await asking).toEqual([['5']]);

  const { rowCount } = await owner.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test-breaks'`,
  );
  // the one that was terminated may still be listed
  expect([1, 2]).toContain(rowCount);
  await expect.poll(() => logged.join()).toContain('a Postgres connection broke');
  expect(await one.rows(select('SELECT 1'))).toEqual([['1']]);
});

test('errors of a writer are distinct, and passing ones have retry', async () => {
  const owner = writer();
  await owner.query(
    'CREATE SCHEMA met; CREATE TABLE met.t (x int PRIMARY KEY); INSERT INTO met.t VALUES (1)',
  );
  const raised = (sqlstate: string): Promise<unknown> =>
    owner.query(`DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '${sqlstate}'; END $$`);
  const expected: Readonly<Record<string, readonly [code: string, retry: boolean]>> = {
    '53100': ['storage_full', true],
    '53200': ['storage_full', true],
    '53300': ['storage_full', true],
    '40001': ['storage_conflict', true],
    '40P01': ['storage_conflict', true],
    '55P03': ['storage_conflict', true],
    '25006': ['storage_read_only', true],
    '57014': ['storage_timeout', true],
    '57P01': ['storage_unreachable', true],
    '57P03': ['storage_unreachable', true],
    '08006': ['storage_unreachable', true],
    '42P01': ['storage_missing', false],
    '42501': ['storage_denied', false],
    '28P01': ['storage_denied', false],
    '23505': ['storage_refused', false],
    '22003': ['storage_refused', false],
    '42601': ['storage_refused', false],
    '58030': ['storage_broken', false],
    XX001: ['storage_broken', false],
  };
  for (const [sqlstate, [code, retry]] of Object.entries(expected)) {
    expect({ sqlstate, ...(await faultFrom(raised(sqlstate))) }).toEqual({ sqlstate, code, retry });
  }
  expect(await faultFrom(owner.query('INSERT INTO met.t VALUES (1)'))).toEqual({
    code: 'storage_refused',
    retry: false,
  });
});

test('a writer asks for a connection anew after Postgres took no writes, and goes on', async () => {
  const owner = writer();
  const { rows } = await owner.query<{ name: string }>('SELECT current_database() AS name');
  const setReadOnly = (value: string): Promise<unknown> =>
    owner.query(
      `BEGIN READ WRITE; ALTER ROLE CURRENT_USER IN DATABASE ${rows[0]?.name} SET default_transaction_read_only = ${value}; COMMIT`,
    );
  await owner.query('CREATE SCHEMA full_disk; CREATE TABLE full_disk.t (x int)');
  await setReadOnly('on');
  const other = writer();
  const insert = (): Promise<unknown> => other.query('INSERT INTO full_disk.t VALUES (1)');
  expect(await faultFrom(insert())).toEqual({ code: 'storage_read_only', retry: true });
  await setReadOnly('off');
  await insert();
});

test('one of two deadlocked transactions commits, and the other may be retried', async () => {
  const owner = writer();
  await owner.query(
    'CREATE SCHEMA dead; CREATE TABLE dead.t (x int PRIMARY KEY, y int); INSERT INTO dead.t VALUES (1, 0), (2, 0)',
  );
  const [a, b] = [await owner.connect(), await owner.connect()];
  await a.query('BEGIN; UPDATE dead.t SET y = 1 WHERE x = 1');
  await b.query('BEGIN; UPDATE dead.t SET y = 2 WHERE x = 2');
  const both = await Promise.allSettled([
    a.query('UPDATE dead.t SET y = 1 WHERE x = 2'),
    b.query('UPDATE dead.t SET y = 2 WHERE x = 1'),
  ]);
  const failed = both.flatMap((one) => (one.status === 'rejected' ? [faultOf(one.reason)] : []));
  expect(failed).toMatchObject([{ code: 'storage_conflict', retry: true }]);
  a.release(true);
  b.release(true);
});

test('an idle transaction is ended, so that its lock blocks nobody for ever', async () => {
  // limit under test
  const owner = writer({ lock_timeout_ms: 200 });
  await owner.query(
    'CREATE SCHEMA asleep; CREATE TABLE asleep.t (x int PRIMARY KEY); INSERT INTO asleep.t VALUES (1)',
  );
  const sleeper = await owner.connect();
  await sleeper.query('BEGIN; SELECT * FROM asleep.t FOR UPDATE');
  await expect.poll(() => logged.join()).toContain('a Postgres connection broke');
  expect((await owner.query('SELECT x FROM asleep.t FOR UPDATE NOWAIT')).rows).toEqual([{ x: 1 }]);
  expect(await faultFrom(sleeper.query('COMMIT'))).toEqual({
    code: 'storage_unreachable',
    retry: true,
  });
  sleeper.release(true);
});

test('a writer gets int8 and numeric as text and bytea as bytes', async () => {
  const { rows } = await writer().query(
    `SELECT 9007199254740993::bigint AS i, 1e30::numeric AS n, '\\xff'::bytea AS b`,
  );
  expect(rows).toEqual([
    { i: '9007199254740993', n: '1000000000000000000000000000000', b: Buffer.from([0xff]) },
  ]);
});

test('a writer does not wait for the disk at each commit, since the log still has the records', async () => {
  const { rows } = await writer().query('SHOW synchronous_commit');
  expect(rows).toEqual([{ synchronous_commit: 'off' }]);
});

test('an error that is not from Postgres is returned unchanged', () => {
  const [bug, fault, plain] = [
    new Bug('x'),
    new Fault('kafka', 'y', { retry: true }),
    new TypeError('z'),
  ];
  expect([faultOf(bug), faultOf(fault), faultOf(plain)]).toEqual([bug, fault, plain]);
  expect(faultOf('text')).toEqual(new Error('text'));
});

test('prepared statements still work after their tables are replaced by tables with other columns', async () => {
  const pool = writer();
  await pool.query(
    'CREATE SCHEMA replaced CREATE TABLE replaced.things (id int); INSERT INTO replaced.things VALUES (1)',
  );
  await pool.query(
    'CREATE SCHEMA replaced_next CREATE TABLE replaced_next.things (id text); INSERT INTO replaced_next.things VALUES (2)',
  );
  const asked = reader();
  const both = (): Promise<unknown> =>
    Promise.all([
      asked.rows(select('SELECT id FROM replaced.things')),
      asked.rows(select('SELECT id FROM replaced.things')),
    ]);
  expect(await both()).toEqual([[['1']], [['1']]]);
  await pool.query(
    'ALTER SCHEMA replaced RENAME TO replaced_previous; ALTER SCHEMA replaced_next RENAME TO replaced',
  );
  expect(await both()).toEqual([[['2']], [['2']]]);
  expect(await both()).toEqual([[['2']], [['2']]]);
});
