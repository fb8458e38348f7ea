/** Gives loaded tables their indexes, some at a time. Each is there whole or not at all, so that a build that was killed goes on where it was. */
import { readFile } from 'node:fs/promises';
import { setTimeout as after } from 'node:timers/promises';
import type { ClientBase, Pool, PoolClient } from 'pg';
import type { Projection } from '../../../projections/contract/projection.ts';
import { Fault, propertyOf } from '../../runtime/process/errors.ts';
import { isIndexed, markIndexed, tryBuildLock } from '../tables/live-tables.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { faultOf } from '../../runtime/postgres/pool.ts';
import { terminateStalledWriters } from './live-tables.ts';
import { aborted, untilAborted } from '../../runtime/process/retry.ts';
import { warmTables } from './warm-tables.ts';

const LOCK_EVERY_MS = 200;
/** Less than what its server lets a session be silent. */
const PING_EVERY_MS = 2_000;
const WITHDRAW_MS = 3_000;
const WITHDRAW_EVERY_MS = 100;

/** Sorting and writing take turns in each: two at a time take two thirds of the time of one with parallel workers, and three no less. */
const AT_ONCE = 2;

/** Of Postgres' memory, for tables while their indexes are not there yet: the indexes need room too. */
const TABLES_SHARE = 0.55;

/**
 * No limit of time, and no more memory to sort in than the processor's caches bear: of 25 million rows the largest index took 38 s with 64 MB, 47 with 256 and longer
 * with 2 GB. Should this process be killed, its backend finds that out and stops building; should it be frozen between two statements, its session ends and with it the
 * lock that others wait for.
 */
const SESSION = `SET statement_timeout = 0; SET maintenance_work_mem = '64MB'; SET max_parallel_maintenance_workers = 0;
  SET client_connection_check_interval = '1s'; SET idle_session_timeout = '10s'`;

/** Of two sessions that make one name at the same moment the second is told so: the builder before may have been cut off from its lock. */
const NAME_CONSTRAINT = 'pg_class_relname_nsp_index';

/** SQLSTATE of a relation or constraint whose name is taken: an earlier build had come so far. */
const THERE_ALREADY: ReadonlySet<unknown> = new Set(['42P07', '42710']);

export interface IndexBuild {
  readonly pool: Pool;
  readonly projection: Pick<Projection, 'name' | 'version' | 'index_sql' | 'tables'>;
  readonly log: Logger;
  /** ends the statement in hand, also at the server */
  readonly signal: AbortSignal;
  /** told what is begun next, such as `index 3 of 9 (blocks_hash)` */
  readonly onStep: (what: string) => void;
  /** how many indexes, and then tables' statistics, at a time: 2 when not given */
  readonly at_once?: number;
  /** false: they are not brought into memory, where they would take the place of what is read there */
  readonly warm?: boolean;
}

interface Session {
  readonly client: PoolClient;
  readonly pid: number;
}

/** A build under way: whoever began it ends its sessions. */
interface Under {
  readonly sessions: Session[];
  readonly finished: AbortSignal;
}

/**
 * Builds what is missing and marks the projection as indexed; of several at once one builds and the others wait for it. Throws a fault; one with retry when the
 * server is away, and when the signal was aborted.
 */
export async function buildIndexes(build: IndexBuild): Promise<void> {
  const { projection, signal } = build;
  const statements = statementsOf(await readFile(projection.index_sql, 'utf8'));
  const finished = new AbortController();
  const sessions: Session[] = [];
  try {
    const under = { sessions, finished: finished.signal };
    await Promise.race([work(build, under, statements), withdrawn(build, under)]);
  } catch (error) {
    throw signal.aborted ? stopped(error) : faultOf(error);
  } finally {
    finished.abort();
    // with the sessions go their settings and the lock
    for (const { client } of sessions) client.release(true);
  }
}

async function work(build: IndexBuild, under: Under, statements: readonly string[]): Promise<void> {
  const { pool, projection, log, signal, onStep } = build;
  const id = { projection: projection.name, version: projection.version };
  const client = await openSession(pool, under);
  while (!(await tryBuildLock(client, id))) {
    onStep('indexes (another projector is at it)');
    await terminateStalledWriters(pool, log);
    await untilAborted(LOCK_EVERY_MS, signal);
    if (signal.aborted) throw stopped();
  }
  if (await isIndexed(client, id)) return;
  const step = async (what: string, doIt: () => Promise<string>): Promise<void> => {
    if (signal.aborted) throw stopped();
    onStep(what);
    const begun = performance.now();
    const outcome = await doIt();
    log.info(
      { projection: projection.name, step: what, outcome, seconds: secondsSince(begun) },
      'indexing',
    );
  };
  const others = Array.from({ length: (build.at_once ?? AT_ONCE) - 1 }, () =>
    openSession(pool, under),
  );
  const clients = [client, ...(await Promise.all(others))];
  const left = statements.entries();
  let built = Promise.withResolvers<void>();
  const buildLeft = async (by: ClientBase): Promise<void> => {
    for (const [at, text] of left) {
      await step(`index ${at + 1} of ${statements.length} (${nameIn(text)})`, () => run(by, text));
      built.resolve();
      built = Promise.withResolvers();
    }
  };
  const all = together(clients, buildLeft);
  const warming =
    build.warm === false
      ? undefined
      : warm(build, under, { statements, built: () => built.promise, all });
  // whatever ends the build has ended it already
  warming?.catch(() => undefined);
  await all;
  // meanwhile the rest is brought in
  const tables = projection.tables.values();
  const analyzeLeft = async (by: ClientBase): Promise<void> => {
    for (const { name } of tables) await run(by, `ANALYZE ${name}`);
  };
  await step('statistics', () => together(clients, analyzeLeft).then(() => 'done'));
  if (warming !== undefined) await step('warming', () => awake(client, warming));
  await markIndexed(client, id, projection.tables);
}

interface Progress {
  readonly statements: readonly string[];
  /** the next index */
  readonly built: () => Promise<void>;
  /** there are no more to come */
  readonly all: Promise<unknown>;
}

/**
 * Over a session of its own, beside the build: first the tables of which several indexes are made, so that all but the first need not read them from the disk,
 * whenever an index is there these and all indexes, in the end all else. Only speed depends on it.
 */
async function warm(
  { pool, projection: { tables }, signal }: IndexBuild,
  under: Under,
  { statements, built, all }: Progress,
): Promise<string> {
  try {
    const client = await openSession(pool, under);
    const hasSeveralIndexes = (table: string): boolean =>
      statements.filter((text) => tableIn(text) === table).length > 1;
    await warmTables(client, tables, {
      signal,
      only: ({ table }) => hasSeveralIndexes(table),
      share: TABLES_SHARE,
    });
    const end = all.then(() => true);
    const whetherEnd = (): Promise<boolean> => {
      const next = Promise.race([end, built().then(() => false)]);
      // should the build fail meanwhile, it says so itself
      next.catch(() => undefined);
      return next;
    };
    let isEnd = whetherEnd();
    while (!(await awake(client, isEnd))) {
      isEnd = whetherEnd();
      await warmTables(client, tables, {
        signal,
        only: ({ table, is_index }) => is_index || hasSeveralIndexes(table),
      });
    }
    const blocks = await warmTables(client, tables, { signal });
    return blocks === undefined
      ? 'left: the database has no extension pg_prewarm, so what is read first is slow'
      : `${blocks} blocks`;
  } catch (error) {
    const fault = faultOf(error);
    if (!(fault instanceof Fault)) throw fault;
    return `left: ${fault.message}`;
  }
}

/** Each does its part, and then waits for the others: the session that holds the lock must not be silent, nor must one that is wanted again. */
async function together(
  clients: readonly ClientBase[],
  doPart: (by: ClientBase) => Promise<void>,
): Promise<void> {
  const parts = clients.map(async (by) => ({ by, done: await doPart(by) }));
  const all = Promise.all(parts);
  // of a part that fails each of those below tells as well
  all.catch(() => undefined);
  await Promise.all(parts.map(async (part) => awake((await part).by, all)));
}

/** Waits; meanwhile the session says that it is there still. */
async function awake<Result>(client: ClientBase, what: Promise<Result>): Promise<Result> {
  const done = what.then((result) => ({ result }));
  for (;;) {
    const now = await Promise.race([done, after(PING_EVERY_MS, undefined)]);
    if (now !== undefined) return now.result;
    await client.query('SELECT 1');
  }
}

async function openSession(pool: Pool, { sessions, finished }: Under): Promise<ClientBase> {
  const client = await pool.connect();
  // one that has nothing left to build may be ended by the server
  client.on('error', () => undefined);
  try {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await client.query(SESSION);
    if (finished.aborted) throw stopped();
    sessions.push({ client, pid: rows[0]?.pid ?? 0 });
    return client;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

async function run(client: ClientBase, text: string): Promise<'done' | 'was there'> {
  try {
    await client.query(text);
    return 'done';
  } catch (error) {
    if (
      THERE_ALREADY.has(propertyOf(error, 'code')) ||
      propertyOf(error, 'constraint') === NAME_CONSTRAINT
    )
      return 'was there';
    throw error;
  }
}

/** When told to stop: has the server cancel what runs, until that has ended or patience has. */
async function withdrawn(
  { pool, signal, log }: IndexBuild,
  { sessions, finished }: Under,
): Promise<never> {
  await aborted(signal);
  const begun = performance.now();
  // repeated, since one that comes between two statements is lost
  while (!finished.aborted && performance.now() - begun < WITHDRAW_MS) {
    const cancelling = pool
      .query('SELECT pg_cancel_backend(pid) FROM unnest($1::int[]) AS pid', [
        sessions.map(({ pid }) => pid),
      ])
      .catch((error: unknown) => {
        log.debug({ err: error }, 'the index build was not cancelled');
      });
    await Promise.race([cancelling, after(WITHDRAW_EVERY_MS)]);
    await untilAborted(WITHDRAW_EVERY_MS, finished);
  }
  throw stopped();
}

function stopped(cause?: unknown): Fault {
  return new Fault(
    'stopped',
    'told to stop while the indexes were built: the next start goes on with the one in hand',
    {
      retry: true,
      cause,
    },
  );
}

function secondsSince(begun: number): number {
  return Math.round(performance.now() - begun) / 1_000;
}

/** The statements of a file, each of which ends with a semicolon at the end of a line. */
export function statementsOf(sql: string): readonly string[] {
  return sql
    .split(/;[ \t]*(?:--[^\n]*)?(?:\r?\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement.replaceAll(/--[^\n]*/g, '').trim() !== '');
}

function nameIn(statement: string): string {
  return /\bINDEX\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)/i.exec(statement)?.[1] ?? statement.slice(0, 40);
}

function tableIn(statement: string): string | undefined {
  return /\bON\s+(\w+)/i.exec(statement)?.[1];
}
