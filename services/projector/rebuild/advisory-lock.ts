/**
 * A connection to Postgres that stands for a task which only one process may do at a time, on whatever machine: the server ends it when its process ends, and
 * then another may take the task over.
 */
import { Client, type ClientConfig } from 'pg';
import { lockKeyOf } from '../tables/live-tables.ts';
import { faultOf } from '../../runtime/postgres/pool.ts';

/** The first of two keys of the lock: what it is for. The second is of the task. */
const LOCK = 7_301_980;

/** A process that says nothing for so long within a transaction is frozen. */
const SILENCE_MS = 30_000;
const LOCK_MS = 10_000;
/** Of what Postgres keeps of a name. */
const NAME_BYTES_MAX = 63;

export interface SoleSessionOptions {
  readonly postgres_url: string;
  /** two sessions of the same task are never open at once */
  readonly task: string;
  /** told to whom is refused */
  readonly who: string;
}

export class SoleSession {
  /** what it throws are errors of Postgres */
  readonly client: Client;
  readonly #lost = new AbortController();

  private constructor(client: Client) {
    this.client = client;
    client.on('error', () => this.#lost.abort());
    client.on('end', () => this.#lost.abort());
  }

  /** Opens the only session of the task, or tells who has it and since when. Throws a fault, with retry while Postgres is away. */
  static async open({
    postgres_url: url,
    task,
    who,
  }: SoleSessionOptions): Promise<SoleSession | { readonly held_by: string }> {
    const client = new Client(configOf(url, who));
    // comes out of the query in hand
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ locked: boolean }>(
        'SELECT pg_try_advisory_lock($1, $2) AS locked',
        [LOCK, lockKeyOf(task)],
      );
      if (rows[0]?.locked === true) return new SoleSession(client);
      const holder = await holderOf(client, task);
      await client.end();
      return { held_by: holder };
    } catch (error) {
      await client.end().catch(() => undefined);
      throw faultOf(error);
    }
  }

  /** Aborted when the server has ended the session: another may be at the task. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async close(): Promise<void> {
    await this.client.end().catch(() => undefined);
  }
}

function configOf(url: string, who: string): ClientConfig {
  return {
    connectionString: url,
    application_name: Buffer.from(who).subarray(0, NAME_BYTES_MAX).toString(),
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
    ? 'one that has just ended'
    : `${holder.who}, since ${holder.since} UTC`;
}
