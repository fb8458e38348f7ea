/**
 * Shared by tests of the load: tables without indexes, a lock on one of them, and the list of
 * indexes.
 */
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client, type Pool } from 'pg';
import { onTestFinished } from 'vitest';
import { explorer } from '../../../../projections/explorer/explorer.ts';

/** Names of the indexes in the explorer's index_sql, in its order. */
export async function wantedIndexes(): Promise<readonly string[]> {
  const sql = await readFile(explorer.index_sql, 'utf8');
  return [...sql.matchAll(/^CREATE (?:UNIQUE )?INDEX (\w+)/gm)].map(([, name]) => name ?? '');
}

/** Sorted names of the indexes in a schema, without those of primary keys. */
export async function indexesOf(
  pool: Pick<Pool, 'query'>,
  schema: string,
): Promise<readonly string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT indexname AS name FROM pg_indexes WHERE schemaname = $1 AND indexname NOT LIKE '%_pkey' ORDER BY 1`,
    [schema],
  );
  return rows.map(({ name }) => name);
}

export async function isMarkedIndexed(
  pool: Pick<Pool, 'query'>,
  projection: string,
): Promise<boolean | undefined> {
  const text =
    'SELECT indexed_at IS NOT NULL AS indexed FROM projector.projections WHERE projection = $1';
  return (await pool.query<{ indexed: boolean }>(text, [projection])).rows[0]?.indexed;
}

/** A session that holds a lock until it is released, at the latest at the end of the test. */
export async function hold(url: string, lock: string): Promise<{ letGo(): Promise<void> }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  let isHeld = true;
  const letGo = async (): Promise<void> => {
    if (isHeld) await client.end();
    isHeld = false;
  };
  onTestFinished(letGo);
  await client.query('BEGIN');
  await client.query(lock);
  return { letGo };
}

/** Blocks writes to the table, so that a load waits. */
export function holdWrites(url: string, schema: string, table: string): ReturnType<typeof hold> {
  return hold(url, `LOCK TABLE ${schema}.${table} IN EXCLUSIVE MODE`);
}

/** Rows can be written to the table, but it gets no index. */
export function holdIndexing(url: string, schema: string, table: string): ReturnType<typeof hold> {
  return hold(url, `LOCK TABLE ${schema}.${table} IN ROW EXCLUSIVE MODE`);
}

/** A file with other DDL for the indexes. */
export async function indexSql(text: string): Promise<URL> {
  const file = join(tmpdir(), `indexes-${randomUUID()}.sql`);
  await writeFile(file, text);
  onTestFinished(() => rmSync(file));
  return pathToFileURL(file);
}

/** Whether a session of that name runs a statement like that. */
export async function isRunning(pool: Pick<Pool, 'query'>, like: string): Promise<boolean> {
  const text = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid() AND query LIKE $1`;
  return (await pool.query(text, [like])).rows.length > 0;
}
