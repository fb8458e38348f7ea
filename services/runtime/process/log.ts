/** The log: one JSON line an event on stdout. Secrets are always redacted. */
import pino, { type DestinationStream, type Logger } from 'pino';
import { propertyOf } from './errors.ts';

export type { Logger } from 'pino';

const SECRET_KEY =
  /authorization|token$|secret|signature|password|passphrase|private[_-]?key|mnemonic|cookie|api[_-]?key/i;
const CREDENTIALS_IN_URL = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@'"]*(?:@[^\s/@'"]*)*@/gi;
const BEARER = /\bbearer\s+[^\s"',]+/gi;
const JSON_WEB_TOKEN = /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g;
const REDACTED = '[redacted]';
const DEPTH_MAX = 6;

/** The text without user and password in its URLs and without tokens. */
export function withoutCredentials(text: string): string {
  return text
    .replace(CREDENTIALS_IN_URL, '$1')
    .replace(BEARER, `Bearer ${REDACTED}`)
    .replace(JSON_WEB_TOKEN, REDACTED);
}

export interface LogOptions {
  readonly service: string;
  readonly level: string;
  /** of the work that logs, for the field of this name */
  readonly traceId?: (() => string | undefined) | undefined;
  /** stdout by default, written synchronously: no line is lost at exit */
  readonly destination?: DestinationStream;
}

/** Redacts values whose key names a secret; errors (`{ err }`) keep code, retry and causes. */
export function openLog({
  service,
  level,
  traceId,
  destination = standardOutput(),
}: LogOptions): Logger {
  return pino(
    {
      level,
      ...(traceId === undefined ? {} : { mixin: () => ({ trace_id: traceId() }) }),
      base: { service, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: (error: unknown) => error },
      formatters: {
        level: (label) => ({ level: label }),
        log: (entry) => Object.fromEntries(loggableEntries(entry, 0)),
      },
    },
    // on the finished line: pino copies messages from errors
    { write: (line) => destination.write(withoutCredentials(line)) },
  );
}

/** For work whose errors say everything. */
export const NO_LOG: Logger = pino({ enabled: false });

/** Lines that are kept while the disk of a log file is full, bytes; further ones are dropped. */
const KEPT_BYTES_MAX = 2 ** 20;

/** A full disk ends no process: its lines are kept, and written when there is room. */
function standardOutput(): DestinationStream {
  const destination = pino.destination({ fd: 1, sync: true, maxLength: KEPT_BYTES_MAX });
  // pino ends the log itself when a pipe has no reader
  destination.on('error', (error: NodeJS.ErrnoException) => {
    if (!['ENOSPC', 'EDQUOT', 'EPIPE'].includes(error.code ?? '')) throw error;
  });
  return destination;
}

function loggableEntries(entry: object, depth: number): (readonly [string, unknown])[] {
  return Object.entries(entry).map(([key, value]: [string, unknown]) => [
    key,
    SECRET_KEY.test(key) && isSecret(value) ? REDACTED : loggable(value, depth + 1),
  ]);
}

function isSecret(value: unknown): boolean {
  return value !== null && value !== undefined && typeof value !== 'boolean';
}

/** The value as JSON can represent it. */
function loggable(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEPTH_MAX) return '[deeper]';
  if (value instanceof Error) return loggableError(value, depth);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array)
    return `0x${Buffer.from(value.buffer, value.byteOffset, Math.min(value.byteLength, 64)).toString('hex')}`;
  if (Array.isArray(value)) return value.map((item) => loggable(item, depth + 1));
  return Object.fromEntries(loggableEntries(value, depth));
}

function loggableError(error: Error, depth: number): Record<string, unknown> {
  const code = propertyOf(error, 'code');
  const retry = propertyOf(error, 'retry');
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(typeof retry === 'boolean' ? { retry } : {}),
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: loggable(error.cause, depth + 1) }),
    ...(error instanceof AggregateError
      ? { errors: error.errors.map((one) => loggable(one, depth + 1)) }
      : {}),
  };
}
