/**
 * Puts staged tables in place of a projection's, in one short transaction that renames two schemas
 * and their checkpoints. No reader waits or fails: statements in flight end on the old tables,
 * later ones find the new tables by name. The projector pauses for that moment and goes on from the
 * new tables' checkpoints, which are never below those of the old ones.
 */
import { setTimeout as after } from 'node:timers/promises';
import { escapeIdentifier, type ClientBase } from 'pg';
import { offsetsOf, readCheckpoints } from '../engine/checkpoint.ts';
import { Fault, propertyOf } from '../../runtime/process/errors.ts';
import { readTableVersion, resumeWriting, suspendWriting } from '../tables/live-tables.ts';
import { faultOf } from '../../runtime/postgres/pool.ts';
import type { Offsets } from '../engine/progress.ts';

/** How long the projector's batch in flight is waited for. */
const LOCK_MS = 2_000;
/** How long the projector then waits for the staged tables to catch up. */
const CATCH_UP_MS = 5_000;
const FROZEN_MS = 15_000;
/**
 * A statement parsed during the switch may read one old and one new table: for so long both have
 * the same rows.
 */
const SETTLE_MS = 100;

type Client = Pick<ClientBase, 'query'>;

/** Schema of the tables that are built to take a projection's place. */
export function nextName(projection: string): string {
  return `${projection}_next`;
}

/** Schema of the tables that were replaced last, kept until the next switch. */
export function previousName(projection: string): string {
  return `${projection}_previous`;
}

/** Schema of the tables that are built to be compared. */
export function verifyName(projection: string): string {
  return `${projection}_verify`;
}

interface Switching {
  /** holds the advisory lock of the rebuild */
  readonly session: Client;
  readonly projection: string;
  /** name of the tables that take the projection's place */
  readonly staged: string;
  /** the name that the replaced tables get */
  readonly keep: string;
  /** the live tables were made of another log: their checkpoints mean nothing */
  readonly of_another_log: boolean;
  /** applies everything below these offsets to the staged tables */
  readonly catchUp: (ends: Offsets) => Promise<void>;
}

/**
 * False: a lock took too long, or the staged tables did not catch up; nothing has changed, and the
 * projector goes on. Throws faults.
 */
export async function switchTables(switching: Switching): Promise<boolean> {
  const { session, projection, staged, keep, catchUp } = switching;
  try {
    // should this process freeze, the server ends its session, and the projector goes on
    await session.query(`SET lock_timeout = ${LOCK_MS}; SET idle_session_timeout = ${FROZEN_MS}`);
    await suspendWriting(session, projection);
    const ends = switching.of_another_log
      ? new Map<string, bigint>()
      : await readOffsets(session, projection);
    if (!(await inTime(catchUp(ends)))) return false;
    await suspendWriting(session, staged);
    if (!(await isBeyond(session, staged, ends))) return false;
    await session.query('BEGIN');
    // `staged` and `keep` may be the same name
    const aside = `${projection}_aside`;
    await rename(session, projection, aside);
    await rename(session, staged, projection);
    await rename(session, aside, keep);
    await session.query(
      'UPDATE projector.projections SET beside = NULLIF($2, projection) WHERE projection IN ($1, $2)',
      [keep, projection],
    );
    await session.query('COMMIT');
    await after(SETTLE_MS);
    return true;
  } catch (error) {
    await session.query('ROLLBACK').catch(() => undefined);
    const fault = faultOf(error);
    if (propertyOf(fault, 'code') === 'storage_conflict') return false;
    throw fault;
  } finally {
    // a lost session has released its locks already
    for (const name of [projection, staged])
      await resumeWriting(session, name).catch(() => undefined);
    await session.query('SET idle_session_timeout = 0').catch(() => undefined);
  }
}

async function rename(session: Client, from: string, to: string): Promise<void> {
  await session.query(`ALTER SCHEMA ${escapeIdentifier(from)} RENAME TO ${escapeIdentifier(to)}`);
  for (const table of ['projector.projections', 'projector.checkpoints'])
    await session.query(`UPDATE ${table} SET projection = $2 WHERE projection = $1`, [from, to]);
}

/**
 * Drops tables that nobody reads, with their checkpoints. Throws a fault that names the sessions
 * that still read them.
 */
export async function dropTables(session: Client, name: string): Promise<void> {
  await session.query('BEGIN');
  try {
    await session.query(`DROP SCHEMA IF EXISTS ${escapeIdentifier(name)} CASCADE`);
    await session.query('DELETE FROM projector.checkpoints WHERE projection = $1', [name]);
    await session.query('DELETE FROM projector.projections WHERE projection = $1', [name]);
    await session.query('COMMIT');
  } catch (error) {
    await session.query('ROLLBACK').catch(() => undefined);
    if (propertyOf(faultOf(error), 'code') !== 'storage_conflict') throw error;
    const blocking = await sessionsThatRead(session, name);
    if (blocking.length === 0) throw error;
    throw new Fault(
      'storage_conflict',
      `the earlier tables ${name} cannot be dropped while a transaction reads them: ${blocking.join('; ')}. Have it end, or end the session, and call again`,
      { retry: true, cause: error },
    );
  }
}

/** Query and times are shown to a role with the rights of `pg_read_all_stats`. */
async function sessionsThatRead(session: Client, name: string): Promise<readonly string[]> {
  const { rows } = await session.query<{ readonly who: string }>(
    `SELECT DISTINCT format('session %s of %s (application %s), transaction since %s, query since %s: %s',
                   a.pid, a.usename, coalesce(nullif(a.application_name, ''), 'without a name'),
                   coalesce(to_char(a.xact_start, 'YYYY-MM-DD HH24:MI:SS "UTC"'), 'unknown'),
                   coalesce(to_char(a.query_start, 'YYYY-MM-DD HH24:MI:SS "UTC"'), 'unknown'),
                   left(a.query, 100)) AS who
       FROM pg_locks l
       JOIN pg_class c ON c.oid = l.relation AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
       JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE c.relnamespace = to_regnamespace($1) AND l.granted AND l.pid <> pg_backend_pid()
      ORDER BY who`,
    [escapeIdentifier(name)],
  );
  return rows.map(({ who }) => who);
}

/** The checkpoints of the tables of that name, of any version. */
export async function readOffsets(session: Client, name: string): Promise<Offsets> {
  const tables = await readTableVersion(session, name);
  if (tables === undefined) return new Map();
  return offsetsOf(await readCheckpoints(session, { name, version: tables.version }));
}

async function isBeyond(session: Client, name: string, ends: Offsets): Promise<boolean> {
  const reached = await readOffsets(session, name);
  return [...ends].every(([key, end]) => (reached.get(key) ?? 0n) >= end);
}

async function inTime(working: Promise<void>): Promise<boolean> {
  const over = new AbortController();
  const late = after(CATCH_UP_MS, false, { signal: over.signal }).catch(() => false);
  working.catch(() => undefined);
  try {
    return await Promise.race([working.then(() => true), late]);
  } finally {
    over.abort();
  }
}
