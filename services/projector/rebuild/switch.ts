/**
 * Puts the tables that stand beside a projection's in their place, in one short transaction: two schemas and their checkpoints are renamed. Nobody who reads waits
 * or fails: statements in hand end on the tables they began with, later ones find the others by their name. The projector stands still for that moment and goes
 * on where the other tables stand, which is never before where its own did.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import { readCheckpoints } from '../engine/checkpoint.ts';
import { propertyOf } from '../../runtime/process/errors.ts';
import { readStanding, resumeWriting, suspendWriting } from '../tables/live-tables.ts';
import { partitionKey } from '../../runtime/kafka/position.ts';
import { faultOf } from '../../runtime/postgres/pool.ts';
import type { Ends } from './replay.ts';

/** How long the projector may be kept waiting for a batch of its own to end, and then for the other tables to catch up with it. */
const LOCK_MS = 2_000;
const CATCH_UP_MS = 5_000;
const FROZEN_MS = 15_000;
/**
 * A statement that was being parsed at the moment of the switch may have found one table before and the next one after it: for so long both have the same rows.
 */
const SETTLE_MS = 100;

type Client = Pick<ClientBase, 'query'>;

export interface Switching {
  /** of the only session at this task */
  readonly session: Client;
  readonly projection: string;
  /** name of the tables that take the projection's place */
  readonly beside: string;
  /** the name that those are kept under which stand there now */
  readonly keep: string;
  /** the projection's tables were made of another log than those beside them: where they stand means nothing */
  readonly of_another_log: boolean;
  /** has everything below these ends applied to the tables beside */
  readonly catchUp: (ends: Ends) => Promise<void>;
}

/** false: somebody was in the way for too long, or the tables beside have not come as far; nothing has changed, and the projector goes on. Throws faults. */
export async function switchTables({
  session,
  projection,
  beside,
  keep,
  of_another_log: anywhere,
  catchUp,
}: Switching): Promise<boolean> {
  try {
    // should this process freeze from here on, the server ends its session, and the projector goes on
    await session.query(`SET lock_timeout = ${LOCK_MS}; SET idle_session_timeout = ${FROZEN_MS}`);
    await suspendWriting(session, projection);
    const ends = anywhere ? new Map<string, bigint>() : await endsOf(session, projection);
    if (!(await inTime(catchUp(ends)))) return false;
    await suspendWriting(session, beside);
    if (!(await isBeyond(session, beside, ends))) return false;
    await session.query('BEGIN');
    // three names, since two may have to be exchanged
    const aside = `${projection}_aside`;
    await rename(session, projection, aside);
    await rename(session, beside, projection);
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
    // a session that is gone has let go of them already
    for (const name of [projection, beside])
      await resumeWriting(session, name).catch(() => undefined);
    await session.query('SET idle_session_timeout = 0').catch(() => undefined);
  }
}

async function rename(session: Client, from: string, to: string): Promise<void> {
  await session.query(`ALTER SCHEMA ${quoted(from)} RENAME TO ${quoted(to)}`);
  await session.query('UPDATE projector.projections SET projection = $2 WHERE projection = $1', [
    from,
    to,
  ]);
  await session.query('UPDATE projector.checkpoints SET projection = $2 WHERE projection = $1', [
    from,
    to,
  ]);
}

/** Removes tables that nobody reads, with all that is known of them. */
export async function dropTables(session: Client, name: string): Promise<void> {
  await session.query('BEGIN');
  try {
    await session.query(`DROP SCHEMA IF EXISTS ${quoted(name)} CASCADE`);
    await session.query('DELETE FROM projector.checkpoints WHERE projection = $1', [name]);
    await session.query('DELETE FROM projector.projections WHERE projection = $1', [name]);
    await session.query('COMMIT');
  } catch (error) {
    await session.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** Where the tables of that name stand, whatever version they are of. */
export async function endsOf(session: Client, name: string): Promise<Ends> {
  const standing = await readStanding(session, name);
  if (standing === undefined) return new Map();
  const checkpoints = await readCheckpoints(session, {
    projection: name,
    version: standing.version,
  });
  return new Map(
    checkpoints.map(({ topic, partition, next_offset: next }) => [
      partitionKey(topic, partition),
      next,
    ]),
  );
}

async function isBeyond(session: Client, name: string, ends: Ends): Promise<boolean> {
  const reached = await endsOf(session, name);
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

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
