/**
 * The tables under a projection's name, as Postgres knows them: their version, and whether they
 * have their indexes yet. Two advisory locks protect them:
 *
 * - writing: a transaction that writes shares it and then reads which tables it writes to; a switch
 *   of tables holds it exclusively.
 * - loading: a transaction that writes tables without indexes shares it; an index build holds it
 *   exclusively.
 */
import { createHash } from 'node:crypto';
import type { ClientBase, Pool } from 'pg';
import type { Table } from '../../../projections/contract/projection.ts';
import type { ProjectionId } from '../engine/checkpoint.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { Logger } from '../../runtime/process/log.ts';

type Client = Pick<ClientBase, 'query'>;

export interface TableVersion {
  readonly version: number;
  /** false while the tables are loaded and have no indexes */
  readonly indexed: boolean;
  /** differs between two builds of the same version */
  readonly build: string;
}

/** loading: without indexes; building: somebody builds the indexes; live: with all indexes */
export type LoadPhase = 'loading' | 'building' | 'live';

/** First key of the advisory locks: their purpose. The second is `lockKeyOf` the projection. */
const WRITE_LOCK = 7_301_979;
const LOAD_LOCK = 7_301_978;

/** Timeout of a transaction that loads, ms: to undo stored rows it reads whole tables. */
export const LOAD_TIMEOUT_MS = 600_000;

/** Second key of an advisory lock, from the name of what it protects. */
export function lockKeyOf(name: string): number {
  return createHash('sha256').update(name).digest().readInt32BE(0);
}

/**
 * Begins a transaction during which the tables of that name are not replaced. Waits no longer than
 * the session's `lock_timeout`.
 */
export async function beginWriting(client: Client, projection: string): Promise<void> {
  // one message, to save a round trip
  await client.query(
    `BEGIN; SELECT pg_advisory_xact_lock_shared(${WRITE_LOCK}, ${lockKeyOf(projection)})`,
  );
}

/**
 * Blocks all writers until `resumeWriting`, or until the session ends. Throws after the session's
 * `lock_timeout`.
 */
export async function suspendWriting(client: Client, projection: string): Promise<void> {
  await client.query('SELECT pg_advisory_lock($1, $2)', [WRITE_LOCK, lockKeyOf(projection)]);
}

export async function resumeWriting(client: Client, projection: string): Promise<void> {
  await client.query('SELECT pg_advisory_unlock($1, $2)', [WRITE_LOCK, lockKeyOf(projection)]);
}

/** Undefined: there are no tables of that name. */
export async function readTableVersion(
  client: Client,
  projection: string,
): Promise<TableVersion | undefined> {
  const { rows } = await client.query<{ version: number; indexed: boolean; build: string }>({
    name: 'table_version',
    text: `SELECT version, indexed_at IS NOT NULL AS indexed, extract(epoch FROM created_at)::text AS build
             FROM projector.projections WHERE projection = $1`,
    values: [projection],
  });
  return rows[0];
}

/** Temporary: a rebuild or its rollback switches to tables of the wanted version. */
export function anotherVersion(
  { name, version }: ProjectionId,
  found: Pick<TableVersion, 'version'> | undefined,
): Fault {
  const [problem, remedy] =
    found === undefined
      ? [`there are no tables of ${name}`, `a projector of ${name} creates them when it starts`]
      : [
          `the tables of ${name} are of version ${found.version}, this software writes version ${version}`,
          `run the software of version ${found.version}; or, with this one, ops rebuild ${name}, or ops rebuild --rollback ${name} where version ${version} was kept`,
        ];
  return new Fault(
    'projection_version',
    `${problem}, so nothing is written: ${remedy}. Writing goes on by itself once they are there`,
    { retry: true },
  );
}

/** True for a projection without tables: it has nothing to load. */
export async function isIndexed(client: Client, { name, version }: ProjectionId): Promise<boolean> {
  const tables = await readTableVersion(client, name);
  return tables?.version === version ? tables.indexed : true;
}

/**
 * At the beginning of a transaction that loads. After the answer `loading` nobody builds indexes
 * before the transaction ends.
 */
export async function enterLoad(client: Client, id: ProjectionId): Promise<LoadPhase> {
  const { rows } = await client.query<{ entered: boolean }>({
    name: 'load_enter',
    // the backend of a killed process notices within a second, ends and drops its locks
    text: `SELECT pg_try_advisory_xact_lock_shared($1, $2) AS entered, set_config('statement_timeout', $3, true),
                  set_config('client_connection_check_interval', '1s', true)`,
    values: [LOAD_LOCK, lockKeyOf(id.name), String(LOAD_TIMEOUT_MS)],
  });
  if (rows[0]?.entered !== true) return 'building';
  // read under the lock: the exclusive holder before has committed
  return (await isIndexed(client, id)) ? 'live' : 'loading';
}

/** Takes the lock for the session, to build indexes; false while others load or build. */
export async function tryBuildLock(client: Client, { name }: ProjectionId): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>({
    text: 'SELECT pg_try_advisory_lock($1, $2) AS locked',
    values: [LOAD_LOCK, lockKeyOf(name)],
  });
  return rows[0]?.locked === true;
}

/** In a transaction of its own. From then on the tables are vacuumed like any other. */
export async function markIndexed(
  client: Client,
  { name, version }: ProjectionId,
  tables: readonly Table[],
): Promise<void> {
  await client.query(`BEGIN; ${autovacuum(tables, 'on')}`);
  await client.query(
    'UPDATE projector.projections SET indexed_at = now() WHERE projection = $1 AND version = $2',
    [name, version],
  );
  await client.query('COMMIT');
}

/**
 * DDL. Off during a load: it would scan growing tables again and again for next to no dead rows.
 */
export function autovacuum(tables: readonly Table[], to: 'on' | 'off'): string {
  return tables
    .map(({ name }) => `ALTER TABLE ${name} SET (autovacuum_enabled = ${to})`)
    .join('; ');
}

/**
 * Terminates the sessions of our own name and database whose statement has waited for its client
 * for longer than `lock_timeout`: a frozen process in a COPY, which no timeout of Postgres ends.
 * Should it wake, its connection is gone and its batch applied by another. Never rejects.
 */
export async function terminateStalledWriters(
  pool: Pick<Pool, 'query'>,
  log: Logger,
): Promise<void> {
  try {
    const { rows } = await pool.query<{ pid: number; query: string }>(
      `SELECT pid, left(query, 100) AS query, pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND usename = current_user AND application_name = current_setting('application_name')
          AND pid <> pg_backend_pid() AND state = 'active' AND wait_event_type = 'Client'
          AND query_start < now() - current_setting('lock_timeout')::interval`,
    );
    for (const { pid, query } of rows)
      log.warn({ pid, query }, 'terminated the session of a stalled writer');
  } catch (error) {
    log.warn({ err: error }, 'the sessions of stalled writers cannot be read');
  }
}
