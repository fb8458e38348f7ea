/**
 * Which tables stand under a projection's name. They may be replaced by others, built beside them, while everybody goes on: whoever writes shares a lock for the
 * length of its transaction, and learns under it what it writes to; whoever replaces them has the lock alone.
 */
import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';
import type { ProjectionId } from '../engine/checkpoint.ts';
import { Fault } from '../../runtime/process/errors.ts';

type Client = Pick<ClientBase, 'query'>;

export interface Standing {
  readonly version: number;
  /** false while they are loaded and have no indexes */
  readonly indexed: boolean;
  /** other tables have another one, though they are of the same version and offset */
  readonly build: string;
}

/** The first of two keys of the lock: what it is for. The second is of the name. */
const LOCK = 7_301_979;

/** The second key of an advisory lock of this projection. */
export function lockKeyOf(projection: string): number {
  return createHash('sha256').update(projection).digest().readInt32BE(0);
}

/** Begins a transaction in which the tables of that name stay what they are. Waits no longer than the session's `lock_timeout`. */
export async function beginWriting(client: Client, projection: string): Promise<void> {
  // in one message: a batch costs no round trip more
  await client.query(
    `BEGIN; SELECT pg_advisory_xact_lock_shared(${LOCK}, ${lockKeyOf(projection)})`,
  );
}

/** Keeps everybody from writing until `resumeWriting`, or until the session ends. Throws after the session's `lock_timeout`. */
export async function suspendWriting(client: Client, projection: string): Promise<void> {
  await client.query('SELECT pg_advisory_lock($1, $2)', [LOCK, lockKeyOf(projection)]);
}

export async function resumeWriting(client: Client, projection: string): Promise<void> {
  await client.query('SELECT pg_advisory_unlock($1, $2)', [LOCK, lockKeyOf(projection)]);
}

/** Undefined: there are none of that name. */
export async function readStanding(
  client: Client,
  projection: string,
): Promise<Standing | undefined> {
  const { rows } = await client.query<{ version: number; indexed: boolean; build: string }>({
    name: 'standing',
    text: `SELECT version, indexed_at IS NOT NULL AS indexed, extract(epoch FROM created_at)::text AS build
             FROM projector.projections WHERE projection = $1`,
    values: [projection],
  });
  return rows[0];
}

/** It passes when tables of the version wanted are put there, as they are in a rebuild and in its rollback. */
export function anotherVersion(
  { projection, version }: ProjectionId,
  standing: Pick<Standing, 'version'> | undefined,
): Fault {
  const [what, remedy] =
    standing === undefined
      ? [
          `there are no tables of ${projection}`,
          `a projector of ${projection} makes them when it starts`,
        ]
      : [
          `the tables of ${projection} are of version ${standing.version}, this software writes version ${version}`,
          `run the software of version ${standing.version}; or, with this one, ops rebuild ${projection}, or ops rebuild --rollback ${projection} where version ${version} was kept`,
        ];
  return new Fault(
    'projection_version',
    `${what}, so nothing is written: ${remedy}. This goes on by itself once they are there`,
    {
      retry: true,
    },
  );
}
