/** Databases of a bench: empty ones, gone when done with, on a server that has nothing left to write. */
import { Client, Pool } from 'pg';
import { postgresUrl } from '../../infra/postgres/databases.ts';
import { superuser } from '../../infra/postgres/settings.ts';
import { freshDatabase } from '../support/database.ts';
import type { Stack } from '../support/stack.ts';

export interface BenchDatabase {
  readonly name: string;
  readonly writer_url: string;
  readonly reader_url: string;
}

async function asSuperuser(stack: Stack, database: string, statement: string): Promise<void> {
  const { host } = new URL(stack.addresses.postgres_url);
  const client = new Client({ connectionString: postgresUrl(superuser, host, database) });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** An empty database; what was written before is on the disk when this resolves, so that nobody else pays for it. */
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
 * Uses all of Postgres' memory once, as a server that has been up for a while has: the kernel gives it page by page, which takes 1.5 s of a gigabyte, so that whoever loads
 * into memory that was never used is slower by a tenth.
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

/** What the autovacuum of a server at rest comes to do sooner or later: done now, it does not fall into a measurement. */
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
    options: '-c search_path=explorer -c work_mem=256MB -c TimeZone=UTC',
  });
  try {
    return await use(pool);
  } finally {
    await pool.end();
  }
}
