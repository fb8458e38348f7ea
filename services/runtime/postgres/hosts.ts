/**
 * Finds the host to connect to, where a connection string names several: node-postgres takes one.
 * Every new connection asks the hosts, so after a fail-over it finds the new primary.
 */
import { setTimeout as after } from 'node:timers/promises';
import { callbackify } from 'node:util';
import { Client, type ClientConfig } from 'pg';
import { Bug, Fault, messageOf, propertyOf } from '../process/errors.ts';
import {
  parsePostgresUrl,
  type PostgresAddress,
  type PostgresHost,
} from '../process/postgres-url.ts';

/** Frozen hosts do not answer. */
const ANSWER_MS = 1_000;
/** Long work does not end because a busy Postgres is slow to take a connection. */
export const WORK_CONNECT_MS = 30_000;
/** The start that a host has before the next one is asked, where each would do. */
const PREFERENCE_MS = 200;

/** The purpose of a connection, unless its string says target_session_attrs. */
export type Use = 'read-write' | 'any';

type Account = Pick<PostgresAddress, 'user' | 'password' | 'database' | 'ssl'>;

/** Set in every session of a pool; a pooler that drops settings loses it with the others. */
const MARK = 'clt.session';

/** libpq's `options`. */
export function sessionOptions(settings: Readonly<Record<string, string>>): string {
  return Object.entries({ ...settings, [MARK]: 'on' })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

/** The settings of a connection to a host that may be used. Throws a fault with retry. */
export async function connectionTo(url: string, use: Use): Promise<Account & PostgresHost> {
  const { hosts, target_session_attrs: targetSessionAttrs = use, ...account } = addressOf(url);
  if (hosts.length === 1) return { ...account, ...hosts[0] };
  const asked = new AbortController();
  try {
    const answers = hosts.map(async (each, index) => {
      const pause = targetSessionAttrs === 'any' ? index * PREFERENCE_MS : 0;
      await after(pause, undefined, { signal: asked.signal });
      return await ask(each, account, targetSessionAttrs);
    });
    const { host, port } = await (targetSessionAttrs === 'any'
      ? Promise.any(answers)
      : newest(answers));
    return { ...account, host, port };
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    const errors: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
    // no other host will take the account
    const denied = errors.find((error) => String(propertyOf(error, 'code')).startsWith('28'));
    if (denied !== undefined) throw denied;
    const reasons = errors.map(
      (error, index) => `${hosts[index]?.host}:${hosts[index]?.port} (${messageOf(error)})`,
    );
    const what = targetSessionAttrs === 'any' ? 'takes connections' : 'may be written to';
    throw new Fault('storage_unreachable', `no Postgres ${what}: ${reasons.join(', ')}`, {
      retry: true,
      cause,
    });
  } finally {
    asked.abort();
  }
}

function addressOf(url: string): PostgresAddress {
  const address = parsePostgresUrl(url);
  if (address === undefined) throw new Bug('the connection string was not read as a setting');
  return address;
}

/** A host that may be used; of a primary also the data below. */
interface Answer extends PostgresHost {
  /** 8 hex digits; a promotion makes it higher */
  readonly timeline?: string;
  /** tells servers apart: two names may lead to one */
  readonly started_at?: string;
}

/**
 * The primary of the highest timeline: a former one that came back may be written to as well.
 * Throws a fault where two have the same one, else an `AggregateError` where there is none.
 */
async function newest(asked: readonly Promise<Answer>[]): Promise<Answer> {
  const settled = await Promise.allSettled(asked);
  const answers = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const [first, ...others] = answers.toSorted((one, other) =>
    (one.timeline ?? '') < (other.timeline ?? '') ? 1 : -1,
  );
  if (first === undefined)
    throw new AggregateError(
      settled.map((each) => (each.status === 'rejected' ? each.reason : undefined)),
    );
  const twin = others.find(
    ({ timeline, started_at: startedAt }) =>
      timeline === first.timeline && startedAt !== first.started_at,
  );
  if (twin === undefined) return first;
  const names = [first, twin].map(({ host, port }) => `${host}:${port}`).join(' and ');
  throw new Fault(
    'storage_unreachable',
    `${names} may both be written to, and none was promoted after the other: stop the one that is not the primary, or make it a replica`,
    { retry: true },
  );
}

async function ask(host: PostgresHost, account: Account, use: Use): Promise<Answer> {
  const client = new Client({
    ...account,
    ...host,
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    if (use === 'any') return host;
    // the control file has the timeline of a promotion later than this, and a standby has no name
    const { rows } = await client.query<{ timeline: string | null; started_at: string }>(
      `SELECT pg_postmaster_start_time()::text AS started_at, CASE WHEN NOT pg_is_in_recovery()
       THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline`,
    );
    const [{ timeline, started_at } = { timeline: null, started_at: '' }] = rows;
    if (timeline === null) throw new Error('a standby');
    return { ...host, timeline, started_at };
  } finally {
    void client.end().catch(() => undefined);
  }
}

/** A client that connects to the host of the string that may be used. */
export class HostClient extends Client {
  readonly #url: string;
  readonly #use: Use;
  readonly #isMarked: boolean;

  constructor(url: string, use: Use, config: ClientConfig) {
    const { hosts, target_session_attrs: _targetSessionAttrs, ...account } = addressOf(url);
    // all of it: the settings are pg's own
    super({ ...config, ...account, ...hosts[0] });
    this.#url = url;
    this.#use = use;
    this.#isMarked = config.options?.includes(MARK) ?? false;
    // a query in flight rejects with it; a pool listens only when the connection is open
    this.on('error', () => undefined);
  }

  override connect(): Promise<Client>;
  override connect(callback: (error: Error | null, client?: Client) => void): void;
  override connect(
    callback?: (error: Error | null, client?: Client) => void,
  ): Promise<Client> | void {
    if (callback === undefined) return this.#connect();
    callbackify(() => this.#connect())(callback);
  }

  async #connect(): Promise<Client> {
    const { host, port } = await connectionTo(this.#url, this.#use);
    Object.assign(this, { host, port });
    await super.connect();
    if (this.#isMarked) await this.#checkSession();
    return this;
  }

  async #checkSession(): Promise<void> {
    const { rows } = await this.query<{ mark: string | null; standby: boolean }>(
      `SELECT current_setting('${MARK}', true) AS mark, pg_is_in_recovery() AS standby`,
    );
    const [{ mark, standby } = { mark: null, standby: true }] = rows;
    if (mark === 'on' && (this.#use === 'any' || !standby)) return;
    await this.end();
    if (mark === 'on')
      throw new Fault(
        'storage_unreachable',
        `Postgres at ${this.host}:${this.port} is a standby, which may not be written to: it fails over, or APP_POSTGRES_URL names no primary`,
        { retry: true },
      );
    throw new Fault(
      'storage_pooler',
      `the settings of a session with Postgres at ${this.host}:${this.port} were dropped on the way, as a pooler does that shares sessions: connect to Postgres itself, or to a pooler in session mode that passes the startup parameter "options"`,
      { retry: true },
    );
  }
}
