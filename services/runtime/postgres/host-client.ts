/** Connections to the host that may be used, of those that a connection string names. */
import { callbackify } from 'node:util';
import { Client, type ClientConfig } from 'pg';
import { Fault } from '../process/errors.ts';
import type { PostgresHost } from '../process/postgres-url.ts';
import {
  ABOUT,
  addressOf,
  Hosts,
  nameOf,
  seenIn,
  type AboutRow,
  type Account,
  type Need,
  type Open,
  type Use,
} from './hosts.ts';

/** Long work does not end because a busy Postgres is slow to take a connection. */
export const WORK_CONNECT_MS = 30_000;
export const STALE_MS = 30_000;

/** Set in every session of a pool; a pooler that drops settings loses it with the others. */
const MARK = 'clt.session';
const NOTHING = { mark: null, started_at: '', timeline: null, position: null, slots: null };

/** libpq's `options`. */
export function sessionOptions(settings: Readonly<Record<string, string>>): string {
  return Object.entries({ ...settings, [MARK]: 'on' })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

function needOf(url: string, use: Use, connect_ms: number, stale_ms = STALE_MS): Need {
  return { use: addressOf(url).target_session_attrs ?? use, connect_ms, stale_ms };
}

/** The settings of a connection to a host that may be used. Throws a fault with retry. */
export async function connectionTo(
  url: string,
  use: Use,
  connect_ms: number,
): Promise<Account & PostgresHost> {
  const { user, password, database, ssl } = addressOf(url);
  const { host, port } = await Hosts.of(url).choose(needOf(url, use, connect_ms));
  return { user, password, database, ssl, host, port };
}

/** A client that connects to the host of the string that may be used. */
export class HostClient extends Client {
  readonly #hosts: Hosts;
  readonly #need: Need;
  readonly #isMarked: boolean;

  constructor(url: string, use: Use, config: ClientConfig, stale_ms?: number) {
    const { hosts, target_session_attrs: _targetSessionAttrs, ...account } = addressOf(url);
    // all of it: the settings are pg's own
    super({ ...config, ...account, ...hosts[0] });
    this.#hosts = Hosts.of(url);
    this.#need = needOf(url, use, config.connectionTimeoutMillis ?? WORK_CONNECT_MS, stale_ms);
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
    const { host, port } = await this.#hosts.choose(this.#need);
    Object.assign(this, { host, port });
    await super.connect();
    const timeline = await this.#checkSession();
    const open: Open = {
      need: this.#need,
      timeline,
      host: nameOf({ host, port }),
      end: (reason) => this.connection.stream.destroy(reason),
    };
    this.once('end', () => this.#hosts.closed(open));
    this.#hosts.opened(open);
    return this;
  }

  /** The timeline of the server; undefined: a standby. */
  async #checkSession(): Promise<string | undefined> {
    const { rows } = await this.query<AboutRow & { readonly mark: string | null }>(
      `SELECT current_setting('${MARK}', true) AS mark, ${ABOUT}`,
    );
    const [{ mark, ...about } = NOTHING] = rows;
    if (this.#isMarked && mark !== 'on') {
      await this.end();
      throw new Fault(
        'storage_pooler',
        `the settings of a session with Postgres at ${this.host}:${this.port} were dropped on the way, as a pooler does that shares sessions: connect to Postgres itself, or to a pooler in session mode that passes the startup parameter "options"`,
        { retry: true },
      );
    }
    const seen = seenIn(about);
    this.#hosts.saw(seen);
    const refusal = this.#hosts.refusal(seen, this.#need);
    if (refusal === undefined) return seen.timeline;
    await this.end();
    throw refusal;
  }
}
