/**
 * Migrates the projector's own tables, such as checkpoints, and creates the tables of a projection.
 * Those are never migrated: another version of a projection builds new ones.
 */
import { readFile } from 'node:fs/promises';
import knex, { type Knex } from 'knex';
import type { Projection } from '../../../projections/contract/projection.ts';
import { ANALYTICS, settleAnalytics } from './analytics.ts';
import { commentsOf } from './comments.ts';
import { anotherVersion, autovacuum } from './live-tables.ts';
import { guardWriters } from './readers.ts';
import { connectionTo, WORK_CONNECT_MS } from '../../runtime/postgres/host-client.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { faultOf } from '../../runtime/postgres/pool.ts';

/** Key of the advisory lock of all migrations: projectors start together. */
const LOCK = 7_301_977;

/**
 * Base58Check, as schemas/tron-address.ts. No migration, which would keep earlier versions from
 * starting, and apart from the views that use it: an index needs it, and views are made anew.
 */
const TRON_ADDRESS = String.raw`
  CREATE OR REPLACE FUNCTION projector.tron_address(bytea) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
  DECLARE
    payload bytea := '\x41'::bytea || $1;
    bytes bytea := payload || substr(sha256(sha256(payload)), 1, 4);
    rest numeric := 0;
    digits text := '';
  BEGIN
    FOR at IN 0 .. length(bytes) - 1 LOOP
      rest := rest * 256 + get_byte(bytes, at);
    END LOOP;
    WHILE rest > 0 LOOP
      digits := substr('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', (rest % 58)::integer + 1, 1) || digits;
      rest := div(rest, 58);
    END LOOP;
    RETURN digits;
  END
  $$;`;

/** Migrations up; none is ever reverted. */
const MIGRATIONS: Readonly<Record<string, Knex.Migration['up']>> = {
  async '001_checkpoints'(db) {
    await db.schema.withSchema('projector').createTable('projections', (table) => {
      table.text('projection').primary();
      table.integer('version').notNullable();
      table.timestamp('created_at', { useTz: true }).notNullable().defaultTo(db.fn.now());
    });
    await db.schema.withSchema('projector').createTable('checkpoints', (table) => {
      table.text('projection').notNullable();
      table.integer('version').notNullable();
      table.text('topic').notNullable();
      table.integer('partition').notNullable();
      table.text('cluster_id').notNullable();
      table.bigInteger('next_offset').notNullable();
      table.binary('last_record');
      table.binary('digest').notNullable();
      table.timestamp('updated_at', { useTz: true }).notNullable().defaultTo(db.fn.now());
      table.primary(['projection', 'version', 'topic', 'partition']);
    });
  },
  // earlier versions granted rights to a role here; now every start does, if it lacks them
  '002_readers': () => Promise.resolve(),
  async '003_indexed'(db) {
    // null while the tables are loaded and have no indexes
    await db.raw('ALTER TABLE projector.projections ADD COLUMN indexed_at timestamptz');
    await db.raw('UPDATE projector.projections SET indexed_at = now()');
  },
  async '004_beside'(db) {
    // the projection for which these tables are staged; null: they are live
    await db.raw('ALTER TABLE projector.projections ADD COLUMN beside text');
  },
  async '005_quarantine'(db) {
    await db.schema.withSchema('projector').createTable('quarantine', (table) => {
      table.text('projection').notNullable();
      table.text('topic').notNullable();
      table.integer('partition').notNullable();
      table.bigInteger('record_offset').notNullable();
      table.binary('fingerprint').notNullable();
      table.text('error').notNullable();
      table.timestamp('found_at', { useTz: true }).notNullable().defaultTo(db.fn.now());
      // by a person
      table.timestamp('skipped_at', { useTz: true });
      table.primary(['projection', 'topic', 'partition', 'record_offset']);
    });
  },
};

const SOURCE: Knex.MigrationSource<string> = {
  getMigrations: () => Promise.resolve(Object.keys(MIGRATIONS)),
  getMigrationName: (name) => name,
  getMigration(name) {
    const up = MIGRATIONS[name];
    const down = (): Promise<void> => Promise.reject(new Error(`${name} cannot be reverted`));
    return up === undefined
      ? Promise.reject(new Error(`no migration ${name}`))
      : Promise.resolve({ up, down });
  },
};

/** Another projector's migration is waited for; a frozen one is ended by Postgres. */
const TIMEOUTS = '-c lock_timeout=20000 -c idle_in_transaction_session_timeout=60000';
const READER_ROLE = 'clt_reader';

type Prepared = Pick<Projection, 'name' | 'version' | 'tables' | 'table_sql' | 'index_sql'>;

export interface PrepareOptions {
  /** creates new tables with their indexes, so that they are live from the first row on */
  readonly indexed?: boolean;
  /** the projection for which these tables are staged */
  readonly beside?: string;
  /** the role that may read all tables */
  readonly postgres_reader_role?: string | undefined;
  readonly log?: Pick<Logger, 'warn'>;
}

/**
 * older: of an earlier version than this software writes; they are live until new ones are built
 */
export type Tables = 'ready' | 'older';

/**
 * Migrates, and creates missing tables of the projection, without indexes: they are loaded first.
 * Safe for several processes at once and after a kill at any point. Throws `projection_version`
 * (retry) for tables of a later version than this software writes.
 */
export async function prepareDatabase(
  postgresUrl: string,
  projection: Prepared,
  options: PrepareOptions = {},
): Promise<Tables> {
  const db = knex({
    client: 'pg',
    connection: async () => ({
      ...(await connectionTo(postgresUrl, 'read-write', WORK_CONNECT_MS)),
      application_name: 'migrations',
      connectionTimeoutMillis: WORK_CONNECT_MS,
      options: TIMEOUTS,
    }),
    pool: { min: 0, max: 2 },
    // failures are thrown
    log: { warn: silent, error: silent, deprecate: silent, debug: silent },
    migrations: {
      migrationSource: SOURCE,
      tableName: 'knex_migrations',
      schemaName: 'projector',
      // another version's migrations are no fault
      disableMigrationsListValidation: true,
    },
  });
  const { log = { warn: silent } } = options;
  const letGo = guardWriters({ postgres_url: postgresUrl, log });
  try {
    return await db.transaction(async (transaction) => {
      await transaction.raw('SELECT pg_advisory_xact_lock(?)', [LOCK]);
      // on connections of knex, while this transaction holds the lock
      await db.raw('CREATE SCHEMA IF NOT EXISTS projector');
      // a killed process leaves knex' lock behind; ours went with its connection
      await db.migrate.forceFreeMigrationsLock();
      await db.migrate.latest();
      await transaction.raw(TRON_ADDRESS);
      const tables = await createTables(transaction, projection, options);
      await settleAnalytics(transaction);
      for (const schema of ['projector', projection.name, ANALYTICS])
        await grantReading(transaction, schema, options.postgres_reader_role ?? READER_ROLE);
      return tables;
    });
  } catch (error) {
    throw faultOf(error);
  } finally {
    letGo();
    await db.destroy();
  }
}

function silent(): void {}

/** To a role that lacks the rights: also those to tables that are made later. */
async function grantReading(db: Knex.Transaction, schema: string, role: string): Promise<void> {
  const { rows } = await db.raw<{ rows: { granted: boolean }[] }>(
    `SELECT has_schema_privilege(?, oid, 'USAGE') AS granted FROM pg_namespace WHERE nspname = ?`,
    [role, schema],
  );
  if (rows[0]?.granted !== false) return;
  await db.raw('GRANT USAGE ON SCHEMA ?? TO ??', [schema, role]);
  await db.raw('GRANT SELECT ON ALL TABLES IN SCHEMA ?? TO ??', [schema, role]);
  await db.raw('ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO ??', [role]);
  await db.raw('ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO ??', [role]);
}

async function createTables(
  db: Knex.Transaction,
  projection: Prepared,
  { indexed = false, beside }: PrepareOptions,
): Promise<Tables> {
  const { name, version } = projection;
  const live = await db<{ projection: string; version: number }>('projector.projections')
    .where({ projection: name })
    .first();
  const schema = await db('pg_namespace').where({ nspname: name }).first();
  // without its tables a projection starts at offset 0 and ignores its checkpoints
  if (live === undefined || schema === undefined) {
    await db('projector.checkpoints').where({ projection: name }).delete();
    await db('projector.projections').where({ projection: name }).delete();
    await db.raw('CREATE SCHEMA ??', [name]);
    await db.raw('SET LOCAL search_path TO ??', [name]);
    const sql = await readFile(projection.table_sql, 'utf8');
    await db.raw(`${sql}\n${commentsOf(sql)}`);
    await db.raw(
      indexed ? await readFile(projection.index_sql, 'utf8') : autovacuum(projection.tables, 'off'),
    );
    await db('projector.projections').insert({
      projection: name,
      version,
      indexed_at: indexed ? db.fn.now() : null,
      beside: beside ?? null,
    });
    return 'ready';
  }
  if (live.version > version) throw anotherVersion(projection, live);
  return live.version === version ? 'ready' : 'older';
}
