/**
 * The baseline of Postgres itself at its best: the projection's rows by COPY BINARY over two
 * connections into tables without indexes, each made in the transaction that fills it, so that its
 * rows are frozen at once and stay out of the write-ahead log; then the indexes, then ANALYZE.
 */
import { createReadStream, createWriteStream, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Pool } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { explorer } from '../../projections/explorer/explorer.ts';
import { statementsOf } from '../../services/projector/tables/index-build.ts';
import type { Stack } from '../support/stack.ts';
import { dropDatabase, emptyDatabase, withPool, type BenchDatabase } from './databases.ts';
import { treeProcessorSeconds } from './process-figures.ts';

const PIECE_BYTES = 1 << 20;
/** As much as the projector gives its own: with more it takes longer. */
const SORTING = '-c maintenance_work_mem=64MB';

export interface Dump {
  /** the largest first */
  readonly tables: readonly {
    readonly table: string;
    readonly file: string;
    readonly bytes: number;
  }[];
  /** of all tables */
  readonly rows: number;
}

/** Every table of a loaded database in a file each, in the stack's own folder. */
export async function dumpTables(stack: Stack, database: BenchDatabase): Promise<Dump> {
  return await withPool(database, async (pool) => {
    const client = await pool.connect();
    const tables: { table: string; file: string; bytes: number }[] = [];
    let rows = 0;
    for (const { name: table } of explorer.tables) {
      const file = join(stack.folder.scratch, `${table}.copy`);
      const copy = client.query(copyTo(`COPY ${table} TO STDOUT BINARY`));
      await pipeline(copy, createWriteStream(file));
      tables.push({ table, file, bytes: statSync(file).size });
      rows += copy.rowCount;
    }
    client.release();
    return { tables: tables.toSorted((one, other) => other.bytes - one.bytes), rows };
  });
}

export interface RawSeconds {
  readonly copy: number;
  /** one after the other, each with Postgres' own workers */
  readonly index: number;
  /** two at a time, as the projector builds them */
  readonly index_as_here: number;
  readonly analyze: number;
  /** seconds of processor time of the copy, the indexes two at a time, and ANALYZE */
  readonly processor: { readonly client: number; readonly postgres: number };
}

/** Into a database of its own. */
export async function rawCopy(stack: Stack, { tables }: Dump): Promise<RawSeconds> {
  const [tableSql, indexSql] = await Promise.all([
    readFile(explorer.table_sql, 'utf8'),
    readFile(explorer.index_sql, 'utf8'),
  ]);
  const database = await emptyDatabase(stack);
  const pool = new Pool({
    connectionString: database.writer_url,
    max: 2,
    options: `-c search_path=${explorer.name} ${SORTING}`,
  });
  await pool.query(`CREATE SCHEMA ${explorer.name}`);
  const waiting = tables.values();
  const fill = async (): Promise<void> => {
    const client = await pool.connect();
    // an end of the server follows a failure, and must not hide it
    client.on('error', () => undefined);
    for (const { table, file } of waiting) {
      await client.query(
        `BEGIN; ${creationOf(table, tableSql)} ALTER TABLE ${table} SET (autovacuum_enabled = false)`,
      );
      await pipeline(
        createReadStream(file, { highWaterMark: PIECE_BYTES }),
        client.query(copyFrom(`COPY ${table} FROM STDIN (FORMAT binary, FREEZE)`)),
      );
      await client.query('COMMIT');
    }
    client.release();
  };
  const { pid: postgres = 0 } = stack.servers.postgres;
  const used = (): number => treeProcessorSeconds(postgres);
  const [clientBefore, before] = [process.cpuUsage(), used()];
  const copy = await secondsOf(() => Promise.all([fill(), fill()]));
  const client = process.cpuUsage(clientBefore);
  const copied = used();
  const index = await secondsOf(() => pool.query(indexSql));
  const indexed = used();
  const analyze = await secondsOf(() =>
    pool.query(`ANALYZE ${tables.map(({ table }) => table).join(', ')}`),
  );
  const analyzed = used();
  const statements = statementsOf(indexSql);
  for (const text of statements)
    await pool.query(`DROP INDEX ${/INDEX (\w+)/.exec(text)?.[1] ?? ''}`);
  const left = statements.values();
  const build = async (): Promise<void> => {
    for (const text of left) await pool.query(`SET max_parallel_maintenance_workers = 0; ${text}`);
  };
  const again = used();
  const indexAsHere = await secondsOf(() => Promise.all([build(), build()]));
  const processor = {
    client: (client.user + client.system) / 1e6,
    postgres: copied - before + (analyzed - indexed) + (used() - again),
  };
  await pool.end();
  await dropDatabase(stack, database);
  return { copy, index, index_as_here: indexAsHere, analyze, processor };
}

function creationOf(table: string, tableSql: string): string {
  const [creation] =
    new RegExp(`^CREATE TABLE ${table} \\([^]*?^\\)[^;]*;`, 'm').exec(tableSql) ?? [];
  if (creation === undefined) throw new Error(`table.sql of the explorer makes no table ${table}`);
  return creation;
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return (performance.now() - begun) / 1_000;
}
