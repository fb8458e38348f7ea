import { createHash } from 'node:crypto';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createDatabase,
  postgresUrl,
  settlePostgres,
  withClient,
} from '../../../../infra/postgres/databases.ts';
import { superuser } from '../../../../infra/postgres/settings.ts';
import { explorer } from '../../../../projections/explorer/explorer.ts';
import { prepareDatabase } from '../../../../services/projector/tables/migrations.ts';
import { freshDatabase, rowsOf } from '../../../support/database.ts';
import { codeOf, openHostile, ROLES, stateOf, TOO_MANY, urlOf, useOwnPostgres } from './hostile.ts';

const stackOf = useOwnPostgres();

function hostOf(): string {
  return new URL(stackOf().postgres_url).host;
}

/** Statements that a role is refused, or that end by themselves; by SQLSTATE. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  // insufficient_privilege
  '42501': [
    'SELECT pg_advisory_lock(1)',
    'SELECT pg_advisory_lock_shared(1, 2)',
    'SELECT pg_advisory_xact_lock(1)',
    'SELECT pg_try_advisory_lock(1, 2)',
    'SELECT pg_try_advisory_xact_lock_shared(1)',
    'SELECT pg_advisory_unlock_all()',
    'SELECT pg_sleep(1)',
    "SELECT pg_sleep_for('1s')",
    "SELECT pg_sleep_until('tomorrow')",
    'SELECT pg_cancel_backend(pg_backend_pid())',
    'SELECT pg_terminate_backend(pg_backend_pid())',
    "SELECT pg_notify('all', 'x')",
    "SELECT pg_logical_emit_message(true, 'x', 'x')",
    'SELECT pg_export_snapshot()',
    'SELECT pg_current_xact_id()',
    'SELECT txid_current()',
    'SELECT lo_create(0)',
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT pg_prewarm('projector.checkpoints')",
    'SELECT autoprewarm_dump_now()',
    "SELECT pg_create_physical_replication_slot('x')",
    'SELECT pg_switch_wal()',
    "SELECT query_to_xml('SELECT 1', true, true, '')",
    'DO $$ BEGIN LOOP END LOOP; END $$',
    'CREATE TEMP TABLE mine (a int)',
    'CREATE TABLE public.mine (a int)',
    'CREATE SCHEMA mine',
    'CREATE EXTENSION dblink',
    'BEGIN; LOCK TABLE projector.checkpoints',
    'BEGIN; LOCK TABLE projector.checkpoints IN ROW SHARE MODE',
    'SELECT FROM projector.checkpoints FOR UPDATE',
    'SELECT FROM projector.checkpoints FOR KEY SHARE',
    'UPDATE projector.checkpoints SET next_offset = 0',
    'TRUNCATE projector.checkpoints',
    "COPY projector.checkpoints TO '/tmp/x'",
    "COPY projector.checkpoints TO PROGRAM 'true'",
    'REINDEX TABLE projector.checkpoints',
    'CHECKPOINT',
    "ALTER SYSTEM SET work_mem = '1GB'",
    'SET temp_file_limit = -1',
    "SET session_replication_role = 'replica'",
    'SET deadlock_timeout = 1',
    'ALTER ROLE clt_analyst CONNECTION LIMIT -1',
    'ALTER ROLE CURRENT_USER RESET temp_file_limit',
    'SET ROLE clt_writer',
    'DROP OWNED BY clt_writer',
  ],
  // object_not_in_prerequisite_state: there are no prepared transactions
  '55000': [`BEGIN; PREPARE TRANSACTION 'x'`],
  // configuration_limit_exceeded: files of a statement and of a cursor
  '53400': [
    `WITH file AS MATERIALIZED (SELECT repeat('x', 100000) AS a FROM generate_series(1, 20000))
     SELECT count(a) FROM file`,
    `BEGIN; DECLARE c CURSOR WITH HOLD FOR
     SELECT repeat('x', 100000) FROM generate_series(1, 20000); COMMIT`,
  ],
};

const HARMLESS = [
  'array_sample',
  'array_shuffle',
  'clock_timestamp',
  'current_query',
  'gen_random_uuid',
  'pg_blocking_pids',
  'pg_current_wal_lsn',
  'pg_database_size',
  'pg_indexes_size',
  'pg_is_in_recovery',
  'pg_last_wal_receive_lsn',
  'pg_last_wal_replay_lsn',
  'pg_last_xact_replay_timestamp',
  'pg_lock_status',
  'pg_partition_ancestors',
  'pg_partition_tree',
  'pg_relation_size',
  'pg_table_size',
  'pg_tablespace_size',
  'pg_total_relation_size',
  'random',
  'random_normal',
  'set_config',
  'setseed',
  'timeofday',
  'uuidv4',
  'uuidv7',
];
/** As in Postgres 18. */
const STABLE = {
  count: 660,
  sha256: 'd9f6ecad52aad8516ad4262d30862c79b8e200d78d9b7c039ec7e8b3c3432a44',
};

describe.each(ROLES)('$name', (role) => {
  test.each(Object.entries(REFUSED))(
    'gets %s for what it may not do',
    async (state, statements) => {
      const urls = await freshDatabase(stackOf());
      await prepareDatabase(urls.writer_url, explorer);
      const client = await openHostile(urlOf(urls, role));
      for (const sql of statements) expect([sql, await stateOf(client, sql)]).toEqual([sql, state]);
    },
  );

  test('may call no function with an effect', async () => {
    const urls = await freshDatabase(stackOf());
    const rows = await rowsOf(
      urlOf(urls, role),
      `SELECT DISTINCT proname AS name FROM pg_proc
        WHERE provolatile = 'v' AND has_function_privilege(oid, 'EXECUTE')
          AND proname NOT LIKE 'pg\\_stat\\_get\\_%' ORDER BY 1`,
    );
    expect(rows.map(({ name }) => name)).toEqual(HARMLESS);
    // A function that says of itself that it is stable may have an effect too, as these two had.
    // After an upgrade of Postgres look at the new ones before you change this.
    const stable = await rowsOf(
      urlOf(urls, role),
      `SELECT oid::regprocedure::text AS name FROM pg_proc
        WHERE provolatile = 's' AND pronamespace = 'pg_catalog'::regnamespace
          AND has_function_privilege(oid, 'EXECUTE') ORDER BY 1`,
    );
    const names = stable.map(({ name }) => String(name));
    expect(names.filter((name) => /^(?:pg_current_xact_id|txid_current)\(/.test(name))).toEqual([]);
    expect([names.length, createHash('sha256').update(names.join()).digest('hex')]).toEqual([
      STABLE.count,
      STABLE.sha256,
    ]);
  });

  test('has a limit of connections, time and files', async () => {
    const urls = await freshDatabase(stackOf());
    const url = urlOf(urls, role);
    const { rows: settings } = await withClient(url, (client) =>
      client.query<{ name: string; setting: string }>(
        `SELECT name, setting FROM pg_settings
          WHERE name = 'temp_file_limit' OR name ~ '_timeout$' AND source = 'user' ORDER BY name`,
      ),
    );
    expect(settings.map(({ name }) => name)).toEqual([
      'idle_in_transaction_session_timeout',
      'idle_session_timeout',
      'lock_timeout',
      'statement_timeout',
      'temp_file_limit',
      'transaction_timeout',
    ]);
    for (const { name, setting } of settings) expect(Number(setting), name).toBeGreaterThan(0);
  });
});

test('readers and analysts leave connections to the writer', async () => {
  const [row] = await rowsOf(
    postgresUrl(superuser, hostOf(), 'postgres'),
    `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
            - sum(rolconnlimit)::int AS left, min(rolconnlimit) > 0 AS limited
       FROM pg_roles WHERE rolname IN ('clt_reader', 'clt_analyst')`,
  );
  expect(row).toEqual({ left: expect.any(Number), limited: true });
  // each of two instances of six projectors has seven, and there are rebuilds and commands
  expect(row?.['left']).toBeGreaterThan(2 * 6 * 7 + 40);
  const urls = await freshDatabase(stackOf());
  const clients: Client[] = [];
  onTestFinished(async () => void (await Promise.all(clients.map((client) => client.end()))));
  let refused: unknown;
  while (refused === undefined) {
    const client = new Client({ connectionString: urls.analyst_url });
    refused = await codeOf(client.connect());
    if (refused === undefined) clients.push(client);
  }
  expect([refused, clients.length]).toEqual([TOO_MANY, 8]);
  expect(await rowsOf(urls.writer_url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('a statement of an analyst works on one processor', async () => {
  const { analyst_url } = await freshDatabase(stackOf());
  expect(await rowsOf(analyst_url, 'SHOW max_parallel_workers_per_gather')).toEqual([
    { max_parallel_workers_per_gather: '0' },
  ]);
});

test('a start takes from a database of an earlier version what readers could do there', async () => {
  const urls = await freshDatabase(stackOf());
  const { pathname } = new URL(urls.writer_url);
  const name = pathname.slice(1);
  await rowsOf(
    postgresUrl(superuser, hostOf(), name),
    'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pg_catalog TO PUBLIC',
  );
  await rowsOf(urls.analyst_url, 'SELECT pg_advisory_lock(1)');
  await createDatabase(hostOf(), name);
  for (const role of ROLES)
    await expect(rowsOf(urlOf(urls, role), 'SELECT pg_advisory_lock(1)')).rejects.toMatchObject({
      code: '42501',
    });
  await rowsOf(urls.writer_url, 'SELECT pg_advisory_lock(1)');
});

test('DROP OWNED by readers and analysts leaves all rights', async () => {
  const urls = await freshDatabase(stackOf());
  await prepareDatabase(urls.writer_url, explorer);
  for (const role of ROLES) {
    const client = await openHostile(urlOf(urls, role));
    await client.query('DROP OWNED BY clt_reader, CURRENT_USER');
  }
  for (const role of ROLES)
    expect(await rowsOf(urlOf(urls, role), 'SELECT FROM explorer.blocks')).toEqual([]);
});

test('a start undoes what a role has set for itself, and gives it its password again', async () => {
  const urls = await freshDatabase(stackOf());
  const settingOf = async (): Promise<unknown> =>
    (await rowsOf(urls.analyst_url, 'SHOW statement_timeout'))[0]?.['statement_timeout'];
  await withClient(urls.analyst_url, async (client) => {
    await client.query('SET default_transaction_read_only = off');
    await client.query(`ALTER ROLE clt_analyst SET statement_timeout = 0`);
    await client.query(`ALTER ROLE clt_analyst PASSWORD 'stolen'`);
  });
  await expect(settingOf()).rejects.toMatchObject({ code: '28P01' });
  await settlePostgres(hostOf());
  expect(await settingOf()).toBe('10min');
});

test.each(['postgres', 'template1'])('a reader can do nothing in the database %s', async (name) => {
  for (const { name: user, password } of ROLES)
    await expect(
      withClient(postgresUrl({ name: user, password }, hostOf(), name), async (client) => {
        await client.query('SET default_transaction_read_only = off');
        await client.query('SELECT pg_advisory_lock(1)');
      }),
    ).rejects.toMatchObject({ code: '42501' });
});
