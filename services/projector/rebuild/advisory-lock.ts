/**
 * An advisory lock of Postgres, for a task that only one process may run at a time, on any machine.
 * It belongs to a session: Postgres releases it when the process ends.
 */
import { Client, type ClientConfig } from 'pg';
import { lockKeyOf } from '../tables/live-tables.ts';
import { faultOf } from '../../runtime/postgres/pool.ts';

/** First key of the lock: its purpose. The second is `lockKeyOf` the task. */
const LOCK = 7_301_980;

/** A session that is idle in a transaction for so long is terminated. */
const SILENCE_MS = 30_000;
const LOCK_MS = 10_000;
/** Postgres truncates names to this. */
const NAME_BYTES_MAX = 63;

export interface AdvisoryLockOptions {
  readonly postgres_url: string;
  /** only one holder at a time */
  readonly task: string;
  /** shown to others as the holder */
  readonly holder: string;
}

export class AdvisoryLock {
  /** the session of the lock; throws errors of pg */
  readonly client: Client;
  readonly #lost = new AbortController();

  private constructor(client: Client) {
    this.client = client;
    client.on('error', () => this.#lost.abort());
    client.on('end', () => this.#lost.abort());
  }

  /** Takes the lock, or returns its holder. Throws a fault, with retry while Postgres is away. */
  static async take({
    postgres_url: url,
    task,
    holder,
  }: AdvisoryLockOptions): Promise<AdvisoryLock | { readonly held_by: string }> {
    const client = new Client(configOf(url, holder));
    // thrown by the query in flight too
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ locked: boolean }>(
        'SELECT pg_try_advisory_lock($1, $2) AS locked',
        [LOCK, lockKeyOf(task)],
      );
      if (rows[0]?.locked === true) return new AdvisoryLock(client);
      const heldBy = await holderOf(client, task);
      await client.end();
      return { held_by: heldBy };
    } catch (error) {
      await client.end().catch(() => undefined);
      throw faultOf(error);
    }
  }

  /** Aborted when the session has ended: another process may hold the lock. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async close(): Promise<void> {
    await this.client.end().catch(() => undefined);
  }
}

function configOf(url: string, holder: string): ClientConfig {
  return {
    connectionString: url,
    application_name: Buffer.from(holder).subarray(0, NAME_BYTES_MAX).toString(),
    connectionTimeoutMillis: 2_000,
    keepAlive: true,
    statement_timeout: SILENCE_MS,
    lock_timeout: LOCK_MS,
    idle_in_transaction_session_timeout: SILENCE_MS,
    options: `-c client_connection_check_interval=1s -c TimeZone=UTC`,
  };
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
