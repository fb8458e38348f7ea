/** The end of a transaction whose client froze inside a statement, such as a COPY that gets no more data: no time-out of Postgres ends those. */
import type { Pool } from 'pg';
import type { Logger } from '../../runtime/process/log.ts';

/**
 * Ends every session of our own name and database whose statement has waited for its client for longer than we wait for a lock. Its process, should it wake,
 * finds the connection gone and its batch applied by somebody else. Never rejects.
 */
export async function endStalledWriters(pool: Pick<Pool, 'query'>, log: Logger): Promise<void> {
  try {
    const { rows } = await pool.query<{ pid: number; query: string }>(
      `SELECT pid, left(query, 100) AS query, pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND usename = current_user AND application_name = current_setting('application_name')
          AND pid <> pg_backend_pid() AND state = 'active' AND wait_event_type = 'Client'
          AND query_start < now() - current_setting('lock_timeout')::interval`,
    );
    for (const { pid, query } of rows)
      log.warn({ pid, query }, 'ended the session of a writer that no longer answers');
  } catch (error) {
    log.warn({ err: error }, 'the sessions of other writers could not be looked at');
  }
}
