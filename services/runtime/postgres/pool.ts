/** Postgres: a `Reader` that can only SELECT, the projector's pool, and what each error means. */
import { Pool, type Client, type ClientConfig } from 'pg';
import { Fault, messageOf, propertyOf } from '../process/errors.ts';
import type { Logger } from '../process/log.ts';
import { HostClient, sessionOptions } from './host-client.ts';
import type { Use } from './hosts.ts';
import { type Cells, type Statement, Sessions } from './sessions.ts';

export type { Cells, Statement } from './sessions.ts';

export interface Reader {
  /** All rows, of one snapshot. Throws a `Fault`. */
  rows(statement: Statement): Promise<readonly Cells[]>;
}

export interface ReaderPool extends Reader {
  close(): Promise<void>;
}

export interface ReaderSettings {
  readonly postgres_reader_url: string;
  /** a longer SELECT ends in the fault `storage_timeout` */
  readonly statement_timeout_ms: number;
  readonly connections_max: number;
  /** to connect; 2 s when not given */
  readonly postgres_connect_ms?: number;
  /** a standby that lacks what its primary had so long ago is not read; 30 s when not given */
  readonly postgres_stale_ms?: number;
}

export interface WriterSettings {
  readonly postgres_url: string;
  readonly application_name: string;
  /** the search path */
  readonly schema: string;
  /** of one statement, COPY included; 60 s when not given */
  readonly statement_timeout_ms?: number;
  /** 10 s when not given */
  readonly lock_timeout_ms?: number;
  readonly connections_max?: number;
  /** to connect; 2 s when not given */
  readonly postgres_connect_ms?: number;
  /** read-write when not given */
  readonly use?: Use;
  /** further settings of each session */
  readonly session?: Readonly<Record<string, string>>;
}

const CONNECT_MS = 2_000;
const IDLE_MS = 60_000;

/** Text output that does not depend on the server; each statement planned once, along an index. */
const READER_SESSION = {
  default_transaction_read_only: 'on',
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  bytea_output: 'hex',
  enable_seqscan: 'off',
  random_page_cost: '1.1',
  jit: 'off',
  // a page is one range of an index for all parameters; planning took a third of an answer
  plan_cache_mode: 'force_generic_plan',
  // parallel workers serve scans of whole tables, and take CPU from other requests
  max_parallel_workers_per_gather: '0',
} as const;

/** `READER_SESSION` as libpq's `options`. */
export const READER_OPTIONS = sessionOptions(READER_SESSION);

/** Connects at the first statement, so a service starts while Postgres is away. */
export function openReader(
  settings: ReaderSettings,
  application_name: string,
  log: Logger,
): ReaderPool {
  const { statement_timeout_ms: statementTimeoutMs } = settings;
  const pool = guarded(
    new Pool({
      Client: clientFor(settings.postgres_reader_url, 'any', settings.postgres_stale_ms),
      application_name,
      max: settings.connections_max,
      idleTimeoutMillis: IDLE_MS,
      connectionTimeoutMillis: settings.postgres_connect_ms ?? CONNECT_MS,
      keepAlive: true,
      statement_timeout: statementTimeoutMs,
      // a frozen server cannot enforce its own timeout
      query_timeout: statementTimeoutMs + 1_000,
      options: READER_OPTIONS,
    }),
    log,
  );
  const sessions = new Sessions(pool, IDLE_MS, (error) => meaningOf(error) === UNREACHABLE);
  return {
    async rows(statement) {
      try {
        return await sessions.rows(statement);
      } catch (error) {
        if (!isStalePlan(error)) throw readerFault(error);
      }
      // without a name the statement is planned again: each connection may have a stale plan
      return withFaults(sessions.rows({ ...statement, name: '' }));
    },
    close: () => sessions.close(),
  };
}

/** A session that may never write gets 25006 for a wrong statement, whatever the server is. */
function readerFault(error: unknown): Error {
  return propertyOf(error, 'code') === READ_ONLY ? faultAs(REFUSED, error) : faultOf(error);
}

/** The plan is for a table that was replaced by one with other columns. */
function isStalePlan(error: unknown): boolean {
  return propertyOf(error, 'code') === '0A000' && /cached plan/.test(messageOf(error));
}

/**
 * The writer's pool; int8 and numeric come as text. The server ends a transaction that its process
 * leaves idle for `lock_timeout_ms`, so a frozen process does not block the next one.
 */
export function openWriter(settings: WriterSettings, log: Pick<Logger, 'warn'>): Pool {
  const {
    statement_timeout_ms: statementTimeoutMs = 60_000,
    lock_timeout_ms: lockTimeoutMs = 10_000,
  } = settings;
  return guarded(
    new Pool({
      Client: clientFor(settings.postgres_url, settings.use ?? 'read-write'),
      application_name: settings.application_name,
      max: settings.connections_max ?? 6,
      idleTimeoutMillis: 60_000,
      connectionTimeoutMillis: settings.postgres_connect_ms ?? CONNECT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      statement_timeout: statementTimeoutMs,
      lock_timeout: lockTimeoutMs,
      options: sessionOptions({
        search_path: settings.schema,
        idle_in_transaction_session_timeout: String(lockTimeoutMs),
        TimeZone: 'UTC',
        // a killed Postgres loses the last commits, rows and checkpoint together: the log has them
        synchronous_commit: 'off',
        ...settings.session,
      }),
    }),
    log,
  );
}

/** Logs errors of idle connections: without a listener they would end the process. */
function guarded(pool: Pool, log: Pick<Logger, 'warn'>): Pool {
  pool.on('connect', (client) =>
    client.on('error', (error) => log.warn({ err: error }, 'a Postgres connection broke')),
  );
  pool.on('error', () => undefined);
  return pool;
}

function clientFor(
  url: string,
  use: Use,
  stale_ms?: number,
): new (config?: ClientConfig) => Client {
  return class extends HostClient {
    constructor(config: ClientConfig = {}) {
      super(url, use, config, stale_ms);
    }
  };
}

interface Meaning {
  readonly code: string;
  readonly retry: boolean;
  readonly what: string;
  /** SQLSTATEs, or their classes: the first two characters */
  readonly states: readonly string[];
}

/** SQLSTATE of a write in a transaction that may only read. */
const READ_ONLY = '25006';

const UNREACHABLE: Meaning = {
  code: 'storage_unreachable',
  retry: true,
  what: 'Postgres cannot be reached',
  states: ['08', '57P01', '57P02', '57P03', '57P05'],
};
const TIMEOUT: Meaning = {
  code: 'storage_timeout',
  retry: true,
  what: 'the statement took too long',
  states: ['57014'],
};
const REFUSED: Meaning = {
  code: 'storage_refused',
  retry: false,
  what: 'Postgres refused the statement',
  states: [],
};
const MEANINGS: readonly Meaning[] = [
  UNREACHABLE,
  TIMEOUT,
  {
    code: 'storage_pooler',
    retry: true,
    what: 'a pooler refuses the settings of the session: connect to Postgres itself, or to a pooler in session mode that passes the startup parameter "options"',
    states: ['08P01'],
  },
  {
    code: 'storage_conflict',
    retry: true,
    what: 'another transaction was in the way',
    // 0A000: a plan made before its table was replaced
    states: ['25P03', '40', '55P03', '0A000'],
  },
  {
    code: 'storage_full',
    retry: true,
    what: 'Postgres is out of disk, memory or connections',
    states: ['53'],
  },
  {
    code: 'storage_read_only',
    retry: true,
    what: 'Postgres takes no writes: it is a standby by now, or default_transaction_read_only is on, as providers set it while the disk is full',
    states: [READ_ONLY],
  },
  {
    code: 'storage_missing',
    retry: false,
    what: 'a table, column, schema or database is not there: the projector creates it at its start',
    states: ['3D000', '3F000', '42703', '42P01'],
  },
  {
    code: 'storage_denied',
    retry: false,
    what: 'Postgres refused the role: check user, password and grants',
    states: ['28', '42501'],
  },
  {
    code: 'storage_broken',
    retry: false,
    what: 'Postgres reports an internal or disk error',
    states: ['58', 'XX'],
  },
];

const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'ECONNABORTED',
]);
/** Codes of Node and OpenSSL where TLS or the certificate of a server is not as it has to be. */
export const NO_TRUST =
  /^(?:CERT_|CRL_|ERROR_IN_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_(?:CA|PURPOSE)|PATH_LENGTH_|HOSTNAME_MISMATCH|ERR_TLS_|ERR_SSL_|EPROTO|UNSPECIFIED$)/;
const UNREACHABLE_MESSAGE =
  /SSL connection|connection terminated|timeout expired|timeout exceeded when trying to connect|connection error|not queryable|timeout acquiring a connection|aborted/i;

/** An error of pg or knex as a `Fault` with that cause; other errors unchanged. */
export function faultOf(error: unknown): Error {
  if (error instanceof Fault) return error;
  const meaning = meaningOf(error);
  if (meaning === undefined) return error instanceof Error ? error : new Error(messageOf(error));
  return faultAs(meaning, error);
}

function faultAs({ code, what, retry }: Meaning, cause: unknown): Fault {
  return new Fault(code, `${what}: ${messageOf(cause)}`, { retry, cause });
}

/** The result; errors of pg and knex are thrown as faults. */
export async function withFaults<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw faultOf(error);
  }
}

function meaningOf(error: unknown): Meaning | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = propertyOf(error, 'code');
  if (typeof code === 'string') {
    if (NETWORK_CODES.has(code) || NO_TRUST.test(code)) return UNREACHABLE;
    if (/^[0-9A-Z]{5}$/.test(code) && 'severity' in error)
      return meaningOfState(code) ?? meaningOfState(code.slice(0, 2)) ?? REFUSED;
  }
  if (error.message === 'Query read timeout') return TIMEOUT;
  return UNREACHABLE_MESSAGE.test(error.message) ? UNREACHABLE : undefined;
}

function meaningOfState(state: string): Meaning | undefined {
  return MEANINGS.find(({ states }) => states.includes(state));
}
