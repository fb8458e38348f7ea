/**
 * An advisory lock of Postgres, for a task that only one process may run at a time, on any machine.
 * It belongs to a session: Postgres releases it when the process ends.
 */
import type { Client } from 'pg';
import { HostClient, WORK_CONNECT_MS } from '../../runtime/postgres/host-client.ts';
import { lockKeyOf } from '../tables/live-tables.ts';
import { faultOf } from '../../runtime/postgres/pool.ts';

/** First key of the lock: its purpose. The second is `lockKeyOf` the task. */
const LOCK = 7_301_980;

/** A session that is idle in a transaction for so long is terminated. */
const SILENCE_MS = 30_000;
const LOCK_MS = 10_000;
/** Postgres truncates names to this. */
const NAME_BYTES_MAX = 63;

export interface AdvisoryLock {
  /** the session of the lock; throws errors of pg */
  readonly client: Client;
  /** aborted when the session has ended: another process may hold the lock */
  readonly lost: AbortSignal;
}

/**
 * Takes the lock of a task until the session is closed, or returns its holder. `holder`: shown to
 * others. Throws a fault, with retry while Postgres is away.
 */
export async function takeAdvisoryLock(
  postgresUrl: string,
  task: string,
  holder: string,
): Promise<AdvisoryLock | { readonly held_by: string }> {
  const client = new HostClient(postgresUrl, 'read-write', {
    application_name: Buffer.from(holder).subarray(0, NAME_BYTES_MAX).toString(),
    connectionTimeoutMillis: WORK_CONNECT_MS,
    keepAlive: true,
    statement_timeout: SILENCE_MS,
    lock_timeout: LOCK_MS,
    idle_in_transaction_session_timeout: SILENCE_MS,
    options: `-c client_connection_check_interval=1s -c TimeZone=UTC`,
  });
  const lost = new AbortController();
  // an error is thrown by the query in flight too
  client.on('error', () => lost.abort());
  client.on('end', () => lost.abort());
  try {
    await client.connect();
    const { rows } = await client.query<{ locked: boolean }>(
      'SELECT pg_try_advisory_lock($1, $2) AS locked',
      [LOCK, lockKeyOf(task)],
    );
    if (rows[0]?.locked === true) return { client, lost: lost.signal };
    const heldBy = await holderOf(client, task);
    await client.end();
    return { held_by: heldBy };
  } catch (error) {
    await client.end().catch(() => undefined);
    throw faultOf(error);
  }
}

async function holderOf(client: Client, task: string): Promise<string> {
  const { rows } = await client.query<{ who: string; since: string }>(
    `SELECT application_name AS who, to_char(backend_start, 'YYYY-MM-DD HH24:MI:SS') AS since FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'advisory' AND granted AND classid = $1::oid AND objid = ($2::bigint & 4294967295)::oid
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [LOCK, lockKeyOf(task)],
  );
  const [holder] = rows;
  return holder === undefined
    ? 'a process that has just ended'
    : `${holder.who}, since ${holder.since} UTC`;
}
