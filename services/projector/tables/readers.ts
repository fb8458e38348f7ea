/**
 * Ends sessions of reading roles that hold up the owner of the tables. Two things a role that may
 * only SELECT can still do to it: a lock of its transaction keeps tables from being dropped or
 * altered, behind which all other writers queue, and an old transaction keeps every dead row. The
 * time-outs of a role end what is forgotten, but each session may change its own.
 */
import type { Pool } from 'pg';
import type { Logger } from '../../runtime/process/log.ts';
import { openWriter } from '../../runtime/postgres/pool.ts';
import { urlsOfHosts } from '../../runtime/process/postgres-url.ts';
import { untilAborted } from '../../runtime/process/retry.ts';

/** A writer waits for so long for sessions that end by themselves, as nearly all do. */
const PATIENCE = '250ms';
/** As the `transaction_timeout` of the roles in infra/postgres/roles.sql. */
const TRANSACTION_MAX = '15min';
/** While tables are dropped or altered. */
const LOOK_MS = 250;
/** While rows are written: no lock of a reading role can hold that up. */
export const SELDOM_MS = 10_000;

type Log = Pick<Logger, 'warn'>;

export interface GuardOptions {
  readonly postgres_url: string;
  readonly log: Log;
  /** between two looks */
  readonly every_ms?: number;
  /** an interval of Postgres; `TRANSACTION_MAX` when not given */
  readonly transaction_max?: string;
}

/**
 * Looks for such sessions on each host until the returned function is called. Waits for no answer
 * then. A replica counts too: it asks the primary to keep what its transactions read.
 */
export function guardWriters({
  postgres_url,
  log,
  every_ms: everyMs = LOOK_MS,
  transaction_max,
}: GuardOptions): () => void {
  const over = new AbortController();
  const pools = urlsOfHosts(postgres_url).map((url) =>
    openWriter(
      {
        postgres_url: url,
        use: 'any',
        application_name: 'guard of writers',
        schema: 'projector',
        connections_max: 1,
      },
      log,
    ),
  );
  const look = async (pool: Pool): Promise<void> => {
    let works = true;
    for (;;) {
      await untilAborted(everyMs, over.signal);
      if (over.signal.aborted) return;
      try {
        await endReaders(pool, log, transaction_max);
        works = true;
      } catch (error) {
        if (works) log.warn({ err: error }, 'the sessions of reading roles cannot be looked at');
        works = false;
      }
    }
  };
  for (const pool of pools) void look(pool);
  return () => {
    over.abort();
    for (const pool of pools) void pool.end();
  };
}

/**
 * Terminates the sessions of other roles in this database that our role has waited for, or whose
 * transaction is older than `transaction_max`. Superusers are left alone.
 */
export async function endReaders(
  pool: Pick<Pool, 'query'>,
  log: Log,
  transaction_max = TRANSACTION_MAX,
): Promise<void> {
  const { rows } = await pool.query<{ pid: number; role: string; query: string }>(
    `WITH waited_for AS (
       SELECT unnest(pg_blocking_pids(pid)) AS pid
         FROM pg_locks JOIN pg_stat_activity waiting USING (pid)
        WHERE NOT granted AND waitstart < now() - $1::interval
          AND waiting.datname = current_database() AND waiting.usename = current_user)
     SELECT pid, usename AS role, left(query, 100) AS query, pg_terminate_backend(pid)
       FROM pg_stat_activity JOIN pg_roles ON rolname = usename
      WHERE datname = current_database() AND usename <> current_user AND NOT rolsuper
        AND (xact_start < now() - $2::interval OR pid IN (SELECT pid FROM waited_for))`,
    [PATIENCE, transaction_max],
  );
  for (const { pid, role, query } of rows)
    log.warn({ pid, role, query }, 'ended a session of a reading role that held up writers');
}
