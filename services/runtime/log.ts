/** The log: one JSON line an event on stdout, without secrets whoever logs what. */
import { propertyOf } from './errors.ts';
import pino, { type DestinationStream, type Logger, type LoggerOptions } from 'pino';

export type { Logger } from 'pino';

const SECRET_KEY = /authorization|token$|secret|signature|password|passphrase|private_?key|mnemonic|cookie|api_?key/i;
const CREDENTIALS_IN_URL = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@'"]*(?:@[^\s/@'"]*)*@/gi;
const BEARER = /\bbearer\s+[^\s"',]+/gi;
const JSON_WEB_TOKEN = /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g;
const REDACTED = '[redacted]';
const DEPTH_MAX = 6;

/** The text without user and password in its URLs and without tokens. */
export function withoutCredentials(text: string): string {
  return text.replace(CREDENTIALS_IN_URL, '$1').replace(BEARER, `Bearer ${REDACTED}`).replace(JSON_WEB_TOKEN, REDACTED);
}

/** A copy of `value` as JSON can hold it: secrets redacted by the name of their key, errors with code and causes, bigints as text. */
export function redacted(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return withoutCredentials(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH_MAX) return '[deeper]';
  if (value instanceof Error) return describedError(value, depth);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array)
    return `0x${Buffer.from(value.buffer, value.byteOffset, Math.min(value.byteLength, 64)).toString('hex')}`;
  if (Array.isArray(value)) return value.map((item) => redacted(item, depth + 1));
  return Object.fromEntries(redactedEntries(value, depth));
}

function redactedEntries(value: object, depth: number): (readonly [string, unknown])[] {
  return Object.entries(value).map(([key, inner]: [string, unknown]) => [
    key,
    SECRET_KEY.test(key) && isSecret(inner) ? REDACTED : redacted(inner, depth + 1),
  ]);
}

function isSecret(value: unknown): boolean {
  return value !== null && value !== undefined && typeof value !== 'boolean';
}

function describedError(error: Error, depth: number): Record<string, unknown> {
  const code = propertyOf(error, 'code');
  const retry = propertyOf(error, 'retry');
  return {
    type: error.name,
    message: withoutCredentials(error.message),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(typeof retry === 'boolean' ? { retry } : {}),
    stack: withoutCredentials(error.stack ?? ''),
    ...(error.cause === undefined ? {} : { cause: redacted(error.cause, depth + 1) }),
    ...(error instanceof AggregateError ? { errors: error.errors.map((one) => redacted(one, depth + 1)) } : {}),
  };
}

export interface LogOptions {
  readonly service: string;
  readonly level: string;
  /** where the lines go; stdout by default, written before the call returns so that none is lost at exit */
  readonly destination?: DestinationStream;
}

export function openLog({ service, level, destination }: LogOptions): Logger {
  const options: LoggerOptions = {
    level,
    base: { service, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: (error: unknown) => error },
    formatters: {
      level: (label) => ({ level: label }),
      log: (entry) => Object.fromEntries(redactedEntries(entry, 0)),
    },
    hooks: {
      logMethod(args, method) {
        for (const [at, arg] of args.entries()) if (typeof arg === 'string') args[at] = withoutCredentials(arg);
        method.apply(this, args);
      },
    },
  };
  return pino(options, destination ?? pino.destination({ fd: 1, sync: true }));
}
