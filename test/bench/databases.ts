/** Empty databases for a bench, dropped afterwards, on a server without pending writes. */
import { Pool } from 'pg';
import { postgresUrl } from '../../infra/postgres/databases.ts';
import { superuser } from '../../infra/postgres/settings.ts';
import { freshDatabase, rowsOf } from '../support/database.ts';
import type { Stack } from '../support/stack.ts';

export interface BenchDatabase {
  readonly name: string;
  readonly writer_url: string;
  readonly reader_url: string;
}

async function asSuperuser(stack: Stack, database: string, statement: string): Promise<void> {
  const { host } = new URL(stack.addresses.postgres_url);
  await rowsOf(postgresUrl(superuser, host, database), statement);
}

/**
 * An empty database. Earlier writes are flushed first, so that they do not slow the measurement.
 */
export async function emptyDatabase(stack: Stack): Promise<BenchDatabase> {
  const { writer_url, reader_url } = await freshDatabase(stack.addresses);
  await settle(stack);
  return { name: new URL(writer_url).pathname.slice(1), writer_url, reader_url };
}

/** Writes out what the server still holds back. */
export function settle(stack: Stack): Promise<void> {
  return asSuperuser(stack, 'postgres', 'CHECKPOINT');
}

/**
 * Touches all of Postgres' memory once: the kernel assigns it page by page, 1.5 s a gigabyte, which
 * would slow a load on a fresh server by a tenth.
 */
export async function useMemory(stack: Stack): Promise<void> {
  const database = await emptyDatabase(stack);
  await asSuperuser(
    stack,
    database.name,
    `CREATE UNLOGGED TABLE filler (page text); ALTER TABLE filler ALTER page SET STORAGE PLAIN;
     INSERT INTO filler SELECT repeat('x', 8000) FROM pg_settings, generate_series(1, setting::int) WHERE name = 'shared_buffers'`,
  );
  await dropDatabase(stack, database);
}

/** Does now what autovacuum would do later, so that it does not fall into a measurement. */
export function vacuum(stack: Stack, { name }: BenchDatabase): Promise<void> {
  return asSuperuser(stack, name, 'VACUUM (ANALYZE)');
}

export function dropDatabase(stack: Stack, { name }: BenchDatabase): Promise<void> {
  return asSuperuser(stack, 'postgres', `DROP DATABASE "${name}" WITH (FORCE)`);
}

/** Runs with a pool of the writer's, ended afterwards. */
export async function withPool<Result>(
  { writer_url }: BenchDatabase,
  use: (pool: Pool) => Promise<Result>,
): Promise<Result> {
  const pool = new Pool({
    connectionString: writer_url,
    max: 2,
    // commits as those of a projector
    options: '-c search_path=explorer -c work_mem=256MB -c TimeZone=UTC -c synchronous_commit=off',
  });
  try {
    return await use(pool);
  } finally {
    await pool.end();
  }
}
