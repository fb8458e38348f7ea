/** The tables that are not derived from the log: checkpoints, and who may read. Projections' own tables are never migrated: they are rebuilt. */
import { readFile } from 'node:fs/promises';
import knex, { type Knex } from 'knex';
import type { Projection } from '../../../projections/contract/projection.ts';
import { anotherVersion } from './live-tables.ts';
import { autovacuum } from '../tables/live-tables.ts';
import { faultOf } from '../../runtime/postgres/pool.ts';

/** Key of the advisory lock under which everything here happens: projectors start together. */
const LOCK = 7_301_977;

const MIGRATIONS: Readonly<Record<string, Knex.Migration>> = {
  '001_checkpoints': {
    async up(db) {
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
    async down(db) {
      await db.raw('DROP TABLE projector.projections, projector.checkpoints');
    },
  },
  '002_readers': {
    async up(db) {
      await db.raw('GRANT USAGE ON SCHEMA projector TO clt_reader');
      await db.raw('GRANT SELECT ON ALL TABLES IN SCHEMA projector TO clt_reader');
      await db.raw('ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO clt_reader');
      await db.raw('ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO clt_reader');
    },
    async down(db) {
      await db.raw('ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM clt_reader');
      await db.raw('ALTER DEFAULT PRIVILEGES REVOKE USAGE ON SCHEMAS FROM clt_reader');
    },
  },
  '003_indexed': {
    async up(db) {
      // null while the tables are loaded and have no indexes; those that were there before always had them
      await db.raw('ALTER TABLE projector.projections ADD COLUMN indexed_at timestamptz');
      await db.raw('UPDATE projector.projections SET indexed_at = now()');
    },
    async down(db) {
      await db.raw('ALTER TABLE projector.projections DROP COLUMN indexed_at');
    },
  },
  '004_beside': {
    async up(db) {
      // beside which projection's tables these stand, that nobody reads; null: these are what is read
      await db.raw('ALTER TABLE projector.projections ADD COLUMN beside text');
    },
    async down(db) {
      await db.raw('ALTER TABLE projector.projections DROP COLUMN beside');
    },
  },
  '005_quarantine': {
    async up(db) {
      await db.schema.withSchema('projector').createTable('quarantine', (table) => {
        table.text('projection').notNullable();
        table.text('topic').notNullable();
        table.integer('partition').notNullable();
        table.bigInteger('record_offset').notNullable();
        table.binary('fingerprint').notNullable();
        table.text('error').notNullable();
        table.timestamp('found_at', { useTz: true }).notNullable().defaultTo(db.fn.now());
        // passed over, as a person had it
        table.timestamp('skipped_at', { useTz: true });
        table.primary(['projection', 'topic', 'partition', 'record_offset']);
      });
    },
    async down(db) {
      await db.raw('DROP TABLE projector.quarantine');
    },
  },
};

const SOURCE: Knex.MigrationSource<string> = {
  getMigrations: () => Promise.resolve(Object.keys(MIGRATIONS)),
  getMigrationName: (name) => name,
  getMigration(name) {
    const migration = MIGRATIONS[name];
    return migration === undefined
      ? Promise.reject(new Error(`no migration ${name}`))
      : Promise.resolve(migration);
  },
};

/** What a projector waits for another that is doing the same, and how long it may itself stand still before the server ends it. */
const PATIENCE = '-c lock_timeout=20000 -c idle_in_transaction_session_timeout=60000';

type Prepared = Pick<Projection, 'name' | 'version' | 'tables' | 'table_sql' | 'index_sql'>;

export interface PrepareOptions {
  /** new tables get their indexes at once, and so are never loaded but live from the first row on */
  readonly indexed?: boolean;
  /** beside which projection's tables these are to stand */
  readonly beside?: string;
}

/** older: they are of an earlier version than this software writes, to be read until others are built beside them */
export type Tables = 'ready' | 'older';

/**
 * Migrates, and creates the projection's schema and tables where they are missing, without indexes: whoever runs the projection loads them first. Safe from
 * several processes at once and after a kill at any point. Throws `projection_version` (retry) where the tables are of a later version than this software writes.
 */
export async function prepareDatabase(
  postgresUrl: string,
  projection: Prepared,
  options: PrepareOptions = {},
): Promise<Tables> {
  const db = knex({
    client: 'pg',
    connection: {
      connectionString: postgresUrl,
      application_name: 'migrations',
      connectionTimeoutMillis: 2_000,
      options: PATIENCE,
    },
    pool: { min: 0, max: 2 },
    // what it would print comes out as an error anyway
    log: { warn: silent, error: silent, deprecate: silent, debug: silent },
    migrations: { migrationSource: SOURCE, tableName: 'knex_migrations', schemaName: 'projector' },
  });
  try {
    return await db.transaction(async (transaction) => {
      await transaction.raw('SELECT pg_advisory_xact_lock(?)', [LOCK]);
      await migrate(db);
      return await createTables(transaction, projection, options);
    });
  } catch (error) {
    throw faultOf(error);
  } finally {
    await db.destroy();
  }
}

function silent(): void {}

/** On connections of their own, while the caller's transaction holds the lock. */
async function migrate(db: Knex): Promise<void> {
  await db.raw('CREATE SCHEMA IF NOT EXISTS projector');
  // a process killed while migrating leaves knex' own lock behind; ours has gone with its connection
  await db.migrate.forceFreeMigrationsLock();
  await db.migrate.latest();
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
  // without its tables a projection is at the beginning, whatever its checkpoints say: dropping the schema is how it is built anew
  if (live === undefined || schema === undefined) {
    await db('projector.checkpoints').where({ projection: name }).delete();
    await db('projector.projections').where({ projection: name }).delete();
    await db.raw('CREATE SCHEMA ??', [name]);
    await db.raw('SET LOCAL search_path TO ??', [name]);
    await db.raw(await readFile(projection.table_sql, 'utf8'));
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
  if (live.version > version) throw anotherVersion({ projection: name, version }, live);
  return live.version === version ? 'ready' : 'older';
}
