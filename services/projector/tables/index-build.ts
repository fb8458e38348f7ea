/**
 * Builds the indexes of loaded tables, two at a time, then gathers statistics and warms Postgres'
 * buffers. An index is there whole or not at all: after a kill the next build makes the others.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as after } from 'node:timers/promises';
import type { ClientBase, Pool, PoolClient } from 'pg';
import type { Projection, Table } from '../../../projections/contract/projection.ts';
import { Fault, propertyOf } from '../../runtime/process/errors.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { faultOf } from '../../runtime/postgres/pool.ts';
import { isIndexed, markIndexed, terminateStalledWriters, tryBuildLock } from './live-tables.ts';
import { aborted, untilAborted } from '../../runtime/process/retry.ts';

const LOCK_RETRY_MS = 200;
/** Below the session's `idle_session_timeout`. */
const PING_MS = 2_000;

/** Two at a time take two thirds of the time of one with parallel workers; three take no less. */
const AT_ONCE = 2;

/** Share of the shared buffers that is warmed. */
const WARM_SHARE = 0.95;
/** Read by one statement, 32 MiB. */
const PIECE_BLOCKS = 4_096;

/**
 * No time limit. Sorting in more memory than the processor's caches is slower: an index of 25
 * million rows takes 38 s with 64 MB and 47 s with 256 MB. The backend of a killed process ends
 * within a second; a frozen process loses its session, and with it the lock that others wait for.
 */
const SESSION = `SET statement_timeout = 0; SET maintenance_work_mem = '64MB'; SET max_parallel_maintenance_workers = 0;
  SET client_connection_check_interval = '1s'; SET idle_session_timeout = '10s'`;

/** SQLSTATE of a relation or constraint whose name is taken: an earlier build made it. */
const EXISTS: ReadonlySet<unknown> = new Set(['42P07', '42710']);
/**
 * Violated when two sessions create one name at the same moment: the earlier build is still ending.
 */
const NAME_CONSTRAINT = 'pg_class_relname_nsp_index';

export interface IndexBuild {
  readonly pool: Pool;
  readonly projection: Pick<Projection, 'name' | 'version' | 'index_sql' | 'tables'>;
  readonly log: Logger;
  /** ends the running statements, also in Postgres */
  readonly signal: AbortSignal;
  /** called with each step, such as `index 3 of 9 (blocks_hash)` */
  readonly onStep: (what: string) => void;
  /** indexes, and then tables to analyze, at a time; 2 when not given */
  readonly at_once?: number | undefined;
  /** false: the tables do not displace others in Postgres' buffers */
  readonly warm?: boolean | undefined;
}

/**
 * Builds the missing indexes and marks the tables as indexed; of several calls at once one builds
 * and the others wait for it. Throws a fault; with retry when Postgres is away, and when the signal
 * was aborted.
 */
export async function buildIndexes(build: IndexBuild): Promise<void> {
  const { projection, signal, pool } = build;
  const statements = statementsOf(await readFile(projection.index_sql, 'utf8'));
  const sessions: PoolClient[] = [];
  let isOver = false;
  const open = async (): Promise<ClientBase> => {
    const client = await pool.connect();
    // Postgres may end an idle session
    client.on('error', () => undefined);
    if (isOver) {
      client.release(true);
      throw stopped();
    }
    sessions.push(client);
    await client.query(SESSION);
    return client;
  };
  const stop = async (): Promise<never> => {
    await aborted(signal);
    throw stopped();
  };
  try {
    await Promise.race([run(build, open, statements), stop()]);
  } catch (error) {
    throw signal.aborted ? stopped(error) : faultOf(error);
  } finally {
    isOver = true;
    // a closed session ends its statement within a second, and its lock and settings with it
    for (const client of sessions) client.release(true);
  }
}

async function run(
  build: IndexBuild,
  open: () => Promise<ClientBase>,
  statements: readonly string[],
): Promise<void> {
  const { pool, projection, log, signal, onStep, at_once: atOnce = AT_ONCE } = build;
  const client = await open();
  while (!(await tryBuildLock(client, projection))) {
    onStep('indexes (another projector is at it)');
    await terminateStalledWriters(pool, log);
    await untilAborted(LOCK_RETRY_MS, signal);
    if (signal.aborted) throw stopped();
  }
  if (await isIndexed(client, projection)) return;
  const step = async (what: string, task: () => Promise<unknown>): Promise<void> => {
    if (signal.aborted) throw stopped();
    onStep(what);
    const begun = performance.now();
    await task();
    const seconds = Math.round(performance.now() - begun) / 1_000;
    log.info({ projection: projection.name, step: what, seconds }, 'indexing');
  };
  const others = Array.from({ length: atOnce - 1 }, () => open());
  const clients = [client, ...(await Promise.all(others))];
  const missing = statements.entries();
  await together(clients, async (by) => {
    for (const [at, text] of missing)
      await step(`index ${at + 1} of ${statements.length} (${nameIn(text)})`, () =>
        create(by, text),
      );
  });
  const tables = projection.tables.values();
  await step('statistics', () =>
    together(clients, async (by) => {
      for (const { name } of tables) await by.query(`ANALYZE ${name}`);
    }),
  );
  if (build.warm !== false)
    await step('warming', async () => {
      const blocks = await warmTables(client, projection.tables, { signal }).catch(
        (error: unknown) => {
          if (signal.aborted) throw error;
          log.warn({ err: error }, 'warming failed: the first reads are slow');
          return 0;
        },
      );
      if (blocks === undefined)
        log.warn('the database has no extension pg_prewarm: the first reads are slow');
    });
  await markIndexed(client, projection, projection.tables);
}

/** Runs a part on each client. A client that is done stays awake until all are. */
async function together(
  clients: readonly ClientBase[],
  part: (by: ClientBase) => Promise<void>,
): Promise<void> {
  const parts = clients.map(async (by) => {
    await part(by);
    return by;
  });
  const all = Promise.all(parts);
  // a failure is thrown by each of those below too
  all.catch(() => undefined);
  await Promise.all(parts.map(async (by) => awake(await by, all)));
}

/** Waits; meanwhile pings the server, which would end a silent session. */
async function awake(client: ClientBase, task: Promise<unknown>): Promise<void> {
  const done = task.then(() => true);
  while (!(await Promise.race([done, after(PING_MS, false)]))) await client.query('SELECT 1');
}

async function create(client: ClientBase, text: string): Promise<void> {
  try {
    await client.query(text);
  } catch (error) {
    if (
      !EXISTS.has(propertyOf(error, 'code')) &&
      propertyOf(error, 'constraint') !== NAME_CONSTRAINT
    )
      throw error;
  }
}

function stopped(cause?: unknown): Fault {
  return new Fault('stopped', 'stopped while the indexes were built: the next start goes on', {
    retry: true,
    cause,
  });
}

/** The statements of a file. Each ends with a semicolon at the end of a line. */
export function statementsOf(sql: string): readonly string[] {
  return sql
    .split(/;[ \t]*(?:--[^\n]*)?(?:\r?\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement.replaceAll(/--[^\n]*/g, '').trim() !== '');
}

function nameIn(statement: string): string {
  return /\bINDEX\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)/i.exec(statement)?.[1] ?? statement.slice(0, 40);
}

/**
 * Reads tables into Postgres' shared buffers before their first readers do: all indexes, then all
 * tables, in the given order, while there is room; of the last one the newest part. After a load
 * they are on disk alone, and a page of rows from all over a table would wait for the disk twenty
 * times. `share`: of the shared buffers to fill at most. Returns the number of blocks; undefined
 * without the extension pg_prewarm, when the first reads are slow.
 * Source: PostgreSQL documentation, "pg_prewarm".
 */
export async function warmTables(
  client: Pick<ClientBase, 'query'>,
  tables: readonly Table[],
  { signal, share = WARM_SHARE }: { readonly signal: AbortSignal; readonly share?: number },
): Promise<number | undefined> {
  const { rows } = await client.query<{ prewarm: string; room: number }>(
    `SELECT format('%I.pg_prewarm', n.nspname) AS prewarm, (SELECT setting::int FROM pg_settings WHERE name = 'shared_buffers') AS room
       FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_prewarm'`,
  );
  if (rows[0] === undefined) return undefined;
  const { prewarm, room } = rows[0];
  let warm = 0;
  for (const { oid, blocks } of await relationsOf(client, tables)) {
    for (
      let from = blocks - Math.min(blocks, Math.floor(room * share) - warm);
      from < blocks;
      from += PIECE_BLOCKS
    ) {
      if (signal.aborted) return warm;
      const to = Math.min(from + PIECE_BLOCKS, blocks) - 1;
      await client.query(
        `SELECT ${prewarm}($1::oid::regclass, 'buffer', 'main', $2::bigint, $3::bigint)`,
        [oid, from, to],
      );
      warm += to - from + 1;
    }
  }
  return warm;
}

/** Without tables whose columns are all in one index: they are read there. */
async function relationsOf(
  client: Pick<ClientBase, 'query'>,
  tables: readonly Table[],
): Promise<readonly { readonly oid: number; readonly blocks: number }[]> {
  const { rows } = await client.query<{ oid: number; blocks: number }>(
    `SELECT r.oid, (pg_relation_size(r.oid) / current_setting('block_size')::int)::int AS blocks
       FROM unnest($1::text[]) WITH ORDINALITY AS t (name, place)
      CROSS JOIN LATERAL (SELECT indexrelid AS oid, true AS is_index FROM pg_index WHERE indrelid = t.name::regclass
                          UNION ALL
                          SELECT c.oid, false FROM pg_class c
                           WHERE c.oid = t.name::regclass AND NOT EXISTS (
                             SELECT FROM pg_index WHERE indrelid = c.oid AND indnatts = c.relnatts AND indexprs IS NULL AND indpred IS NULL)) r
      ORDER BY r.is_index DESC, t.place, r.oid`,
    [tables.map(({ name }) => name)],
  );
  return rows;
}
