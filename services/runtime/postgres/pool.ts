/** Postgres, twice: a `Reader` that can only ask, for gateways, and the writer's pool, for the projector. One place says what each error means. */
import { Pool } from 'pg';
import { Fault, messageOf, propertyOf } from '../process/errors.ts';
import type { Logger } from '../process/log.ts';
import type { Cells, Question } from './rows-query.ts';
import { Sessions } from './sessions.ts';

export type { Cells } from './rows-query.ts';

/** A SELECT with its bound values; `name` is unique to `text`, which each connection prepares once. */
export type Statement = Question;

/** What a gateway gets of Postgres. */
export interface Reader {
  /** All rows; one statement sees one state of the database. Throws a `Fault`. */
  rows(statement: Statement): Promise<readonly Cells[]>;
}

export interface ReaderPool extends Reader {
  close(): Promise<void>;
}

export interface ReaderSettings {
  readonly postgres_reader_url: string;
  readonly application_name: string;
  /** a longer SELECT ends in the fault `storage_timeout` */
  readonly statement_timeout_ms: number;
  readonly connections_max: number;
}

export interface WriterSettings {
  readonly postgres_url: string;
  readonly application_name: string;
  /** where unqualified names of tables are found */
  readonly schema: string;
  /** of one statement, COPY included; 60 s when not given */
  readonly statement_timeout_ms?: number;
  /** 10 s when not given */
  readonly lock_timeout_ms?: number;
  readonly connections_max?: number;
  /** what else is set in each session */
  readonly session?: Readonly<Record<string, string>>;
}

const CONNECT_MS = 2_000;
const IDLE_MS = 60_000;

/** How a reader's session is set: text that does not depend on the server, each statement planned once, and no plan that reads a whole table where an index would do. */
const READER_SESSION = {
  default_transaction_read_only: 'on',
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  bytea_output: 'hex',
  enable_seqscan: 'off',
  random_page_cost: '1.1',
  jit: 'off',
  // whatever the values are, a page is one range of an index: to plan it for each of them took a third of the time of an answer
  plan_cache_mode: 'force_generic_plan',
  // workers are for tables that are read whole, and take processors from everybody else
  max_parallel_workers_per_gather: '0',
} as const;

/** The same as Postgres takes it at the start of a session. */
export const READER_OPTIONS = sessionOptions(READER_SESSION);

/** Opens no connection before the first question, so a service starts while Postgres is away. */
export function openReader(settings: ReaderSettings, log: Logger): ReaderPool {
  const { statement_timeout_ms: timeout } = settings;
  const pool = guarded(
    new Pool({
      connectionString: settings.postgres_reader_url,
      application_name: settings.application_name,
      max: settings.connections_max,
      idleTimeoutMillis: IDLE_MS,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      statement_timeout: timeout,
      // a server that does not answer at all cannot time out by itself
      query_timeout: timeout + 1_000,
      options: READER_OPTIONS,
    }),
    log,
  );
  const sessions = new Sessions(pool, IDLE_MS);
  return {
    async rows(statement) {
      try {
        return await sessions.rows(statement);
      } catch (error) {
        if (!isOutOfDate(error)) throw faultOf(error);
      }
      try {
        // each connection may have a plan like this one; without a name it is made anew
        return await sessions.rows({ ...statement, name: '' });
      } catch (error) {
        throw faultOf(error);
      }
    },
    close: () => sessions.close(),
  };
}

/** A plan for tables that were replaced by some with other columns. The connection is dropped with it. */
function isOutOfDate(error: unknown): boolean {
  return propertyOf(error, 'code') === '0A000' && /cached plan/.test(messageOf(error));
}

/**
 * The writer's pool; int8 and numeric come as text. Errors of its connections are logged and come out of the query they hit; a transaction left open by a process
 * that hangs is ended by the server after `lock_timeout_ms`, so that it cannot block the next one for ever.
 */
export function openWriter(settings: WriterSettings, log: Logger): Pool {
  const { statement_timeout_ms: statementTimeout = 60_000, lock_timeout_ms: lockTimeout = 10_000 } =
    settings;
  return guarded(
    new Pool({
      connectionString: settings.postgres_url,
      application_name: settings.application_name,
      max: settings.connections_max ?? 6,
      idleTimeoutMillis: 60_000,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      statement_timeout: statementTimeout,
      lock_timeout: lockTimeout,
      options: sessionOptions({
        search_path: settings.schema,
        idle_in_transaction_session_timeout: String(lockTimeout),
        TimeZone: 'UTC',
        // Postgres killed within a moment of a commit may forget it: rows and checkpoint together, and the log has it still
        synchronous_commit: 'off',
        ...settings.session,
      }),
    }),
    log,
  );
}

/** A connection may break while nobody asks anything on it; without a listener that would end the process. */
function guarded(pool: Pool, log: Logger): Pool {
  pool.on('connect', (client) =>
    client.on('error', (error) => log.warn({ err: error }, 'a Postgres connection broke')),
  );
  pool.on('error', () => undefined);
  return pool;
}

function sessionOptions(options: Readonly<Record<string, string>>): string {
  return Object.entries(options)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

interface Meaning {
  readonly code: string;
  readonly retry: boolean;
  readonly what: string;
}

const UNREACHABLE: Meaning = {
  code: 'storage_unreachable',
  retry: true,
  what: 'Postgres cannot be reached',
};
const CONFLICT: Meaning = {
  code: 'storage_conflict',
  retry: true,
  what: 'another transaction was in the way',
};
const FULL: Meaning = {
  code: 'storage_full',
  retry: true,
  what: 'Postgres is out of disk, memory or connections',
};
const TIMEOUT: Meaning = {
  code: 'storage_timeout',
  retry: true,
  what: 'the statement took too long',
};
const MISSING: Meaning = {
  code: 'storage_missing',
  retry: false,
  what: 'a table, schema or database is not there: the projector creates it at its start',
};
const REFUSED: Meaning = {
  code: 'storage_refused',
  retry: false,
  what: 'Postgres refused the statement',
};
const DENIED: Meaning = {
  code: 'storage_denied',
  retry: false,
  what: 'Postgres refused the role: check user, password and grants',
};
const BROKEN: Meaning = {
  code: 'storage_broken',
  retry: false,
  what: 'Postgres reports an internal or disk error',
};

/** By SQLSTATE, or else by its class (the first two characters). */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  '08': UNREACHABLE,
  '57P01': UNREACHABLE,
  '57P02': UNREACHABLE,
  '57P03': UNREACHABLE,
  '57P05': UNREACHABLE,
  '25P03': CONFLICT,
  '40': CONFLICT,
  '55P03': CONFLICT,
  // a plan made before its table was replaced; the connection is dropped with it
  '0A000': CONFLICT,
  '53': FULL,
  '57014': TIMEOUT,
  '3D000': MISSING,
  '3F000': MISSING,
  '42P01': MISSING,
  '28': DENIED,
  '42501': DENIED,
  '58': BROKEN,
  XX: BROKEN,
};

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
const UNREACHABLE_MESSAGE =
  /connection terminated|timeout exceeded when trying to connect|connection error|not queryable|timeout acquiring a connection|aborted/i;

/** What an error of pg or knex means, as a `Fault` that keeps it as its cause; an error of neither comes back as it is. */
export function faultOf(error: unknown): Error {
  if (error instanceof Fault) return error;
  const meaning = meaningOf(error);
  if (meaning === undefined) return error instanceof Error ? error : new Error(messageOf(error));
  return new Fault(meaning.code, `${meaning.what}: ${messageOf(error)}`, {
    retry: meaning.retry,
    cause: error,
  });
}

function meaningOf(error: unknown): Meaning | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = propertyOf(error, 'code');
  if (typeof code === 'string') {
    if (NETWORK_CODES.has(code)) return UNREACHABLE;
    if (/^[0-9A-Z]{5}$/.test(code) && 'severity' in error)
      return MEANINGS[code] ?? MEANINGS[code.slice(0, 2)] ?? REFUSED;
  }
  if (error.message === 'Query read timeout') return TIMEOUT;
  return UNREACHABLE_MESSAGE.test(error.message) ? UNREACHABLE : undefined;
}
