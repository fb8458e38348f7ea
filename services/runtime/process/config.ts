/**
 * Settings are environment variables, read once by a pure function that reports all missing and bad
 * ones together and never shows a secret.
 */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { LIMIT_NAMES, type LimitName } from '../limits/limits.ts';
import { messageOf } from './errors.ts';
import { parsePostgresUrl } from './postgres-url.ts';

/** `read` returns undefined for a value that is not as `expected`, or throws why it is not. */
export interface Setting<Value> {
  readonly name: string;
  readonly expected: string;
  /** problems do not show the value */
  readonly secret: boolean;
  /** problems do not show the value, in which somebody may have put a secret */
  readonly hidden?: boolean;
  /** absent: the setting is mandatory */
  readonly fallback?: Value;
  read(text: string): Value | undefined;
  /** what other variables lack or contradict, as a sentence, where this one is `given` */
  contradiction?(given: string, env: Environment): string | undefined;
}

export type Settings = Readonly<Record<string, Setting<unknown>>>;

/**
 * The command that starts a service again with other settings, each NAME=VALUE. Where no stack of
 * ours runs, the command itself says where they are put.
 */
export function restartWith(service: string, ...settings: readonly [string, ...string[]]): string {
  return `npx ops restart ${service}${settings.map((each) => ` --set ${each}`).join('')}`;
}

/** The service that writes a projection, as `npx ops restart` names it. */
export function projectorOf(projection: string): string {
  return `projector-${projection.replaceAll('_', '-')}`;
}

export type Config<Of extends Settings> = {
  readonly [Name in keyof Of]: Of[Name] extends Setting<infer Value> ? Value : never;
};
export type Environment = Readonly<Record<string, string | undefined>>;

/** `problems`: a sentence each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.problems = problems;
  }
}

/**
 * An empty variable counts as not set. A secret may be in the file that `<name>_FILE` names, as
 * containers get them. Throws one `ConfigError` with all problems.
 */
export function readConfig<Of extends Settings>(env: Environment, settings: Of): Config<Of>;
export function readConfig(
  given: Environment,
  settings: Settings,
): Readonly<Record<string, unknown>> {
  const { env, problems } = withFiles(given, settings);
  const config: Record<string, unknown> = {};
  for (const [key, wanted] of Object.entries(settings))
    config[key] = readSetting(env, wanted, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** The environment with the secrets that are in files. */
function withFiles(
  given: Environment,
  settings: Settings,
): { readonly env: Environment; readonly problems: string[] } {
  const env = { ...given };
  const problems: string[] = [];
  for (const { name } of Object.values(settings).filter((wanted) => wanted.secret)) {
    const variable = fileVariable(name);
    const file = given[variable]?.trim() ?? '';
    if (file === '') continue;
    if (isSet(given, name)) problems.push(`${name} and ${variable} are both set: keep one of them`);
    try {
      env[name] = readFileSync(file, 'utf8');
    } catch (error) {
      // its message has the path, in whose place somebody may have put the secret
      const code = error instanceof Error && 'code' in error ? `, ${String(error.code)}` : '';
      problems.push(`${variable} is not the path of a file that can be read${code}`);
    }
  }
  return { env, problems };
}

/** The variable that names the file with a secret. */
export function fileVariable(name: string): string {
  return `${name}_FILE`;
}

function readSetting(env: Environment, wanted: Setting<unknown>, problems: string[]): unknown {
  const { name, expected } = wanted;
  const given = env[name]?.trim() ?? '';
  if (given === '') {
    if (!('fallback' in wanted)) problems.push(`${name} is not set: expected ${expected}`);
    return wanted.fallback;
  }
  const contradiction = wanted.contradiction?.(given, env);
  if (contradiction !== undefined) problems.push(contradiction);
  const { value, reason = '' } = tryRead(wanted, given);
  if (value === undefined)
    problems.push(
      wanted.secret || wanted.hidden === true
        ? `${name} is not ${expected}${reason}`
        : `${name} is ${excerpt(given)}${reason}: expected ${expected}`,
    );
  return value;
}

function tryRead(wanted: Setting<unknown>, given: string): { value?: unknown; reason?: string } {
  try {
    return { value: wanted.read(given) };
  } catch (error) {
    return { reason: `, and ${messageOf(error)}` };
  }
}

function excerpt(given: string): string {
  return JSON.stringify(given.length <= 60 ? given : `${given.slice(0, 60)}...`);
}

interface Options<Value> {
  readonly default?: Value;
}

function setting<Value>(
  name: string,
  expected: string,
  options: Options<Value>,
  read: (given: string) => Value | undefined,
  hidden = false,
): Setting<Value> {
  return {
    name,
    expected,
    secret: hidden,
    read,
    ...(options.default === undefined ? {} : { fallback: options.default }),
  };
}

/** Any text. */
export function text(name: string, options: Options<string> = {}): Setting<string> {
  return setting(name, 'text', options, (value) => value);
}

/** The setting need not be set. */
export function optional<Value>(wanted: Setting<Value>): Setting<Value | undefined> {
  return { ...wanted, fallback: undefined };
}

/** The setting is of no use without `other`. */
export function together<Value>(wanted: Setting<Value>, other: string): Setting<Value> {
  return {
    ...wanted,
    contradiction: (_given, env) =>
      isSet(env, other) ? undefined : `${wanted.name} is set without ${other}: set both or neither`,
  };
}

export function isSet(env: Environment, name: string): boolean {
  return (env[name]?.trim() ?? '') !== '';
}

/** The contents of a PEM file, read when the settings are. */
export function pemFile(name: string, holds: 'certificates' | 'a private key'): Setting<string> {
  return setting(name, `the path of a PEM file with ${holds}`, {}, (path) => {
    const pem = readFileSync(path, 'utf8');
    if (holds === 'certificates') void new X509Certificate(pem);
    else createPrivateKey(pem);
    return pem;
  });
}

export function secret(
  name: string,
  options: { readonly characters_min: number },
): Setting<string> {
  const { characters_min: charactersMin } = options;
  return setting(
    name,
    `a secret of at least ${charactersMin} characters`,
    {},
    (value) => (value.length >= charactersMin ? value : undefined),
    true,
  );
}

/** A decimal integer of min..max. */
export function integer(
  name: string,
  options: Options<number> & { readonly min: number; readonly max: number },
): Setting<number> {
  const { min, max } = options;
  return setting(name, `a whole number from ${min} to ${max}`, options, (value) => {
    const number = /^-?[0-9]{1,16}$/.test(value) ? Number(value) : Number.NaN;
    return number >= min && number <= max ? number : undefined;
  });
}

/** A TCP port; 0 lets the system choose. */
export function port(name: string): Setting<number> {
  return {
    ...integer(name, { min: 0, max: 65_535 }),
    expected: 'a port from 1 to 65535 (0: any free one)',
  };
}

export function flag(name: string, options: Options<boolean> = {}): Setting<boolean> {
  return setting(name, 'true or false', options, (value) =>
    value === 'true' ? true : value === 'false' ? false : undefined,
  );
}

export function choice<Word extends string>(
  name: string,
  known: readonly Word[],
  options: Options<Word> = {},
): Setting<Word> {
  return setting(name, `one of ${known.join(', ')}`, options, (value) =>
    known.find((word) => word === value),
  );
}

/** Some of these words, separated by commas. */
export function words<Word extends string>(
  name: string,
  all: readonly Word[],
): Setting<ReadonlySet<Word>> {
  const expected = `some of ${all.join(', ')}, separated by commas`;
  return setting(name, expected, {}, (value) => {
    const given = new Set(value.split(',').map((word) => word.trim()));
    const known = all.filter((word) => given.has(word));
    return known.length === given.size ? new Set(known) : undefined;
  });
}

/** host:port, separated by commas. */
export function list(name: string): Setting<readonly string[]> {
  return setting(name, 'host:port, several separated by commas', {}, (value) => {
    const addresses = value.split(',').map((address) => address.trim());
    return addresses.every(
      (address) =>
        /^[^\s:/@]+:[0-9]{1,5}$/.test(address) || /^\[[0-9a-f:.]+\]:[0-9]{1,5}$/i.test(address),
    )
      ? addresses
      : undefined;
  });
}

/** Like `http://host:port/path`, without credentials; slashes at the end are removed. */
export function httpUrl(name: string): Setting<string> {
  const wanted = setting(
    name,
    'an address like http://host:port, without user and password',
    {},
    (value) => {
      const url = URL.parse(value);
      const plain =
        url !== null &&
        ['http:', 'https:'].includes(url.protocol) &&
        url.username === '' &&
        url.password === '';
      return plain && url.search === '' && url.hash === '' ? value.replace(/\/+$/, '') : undefined;
    },
  );
  return { ...wanted, hidden: true };
}

const LOOPBACK = /^(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])$/;

/** Anybody on the way to this address reads and changes what is sent; this machine is no way. */
export function isOpen(address: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === 'http:' && !LOOPBACK.test(url.hostname);
}

/** May hold user and password. */
function secretUrl(name: string, protocols: readonly string[], example: string): Setting<string> {
  return setting(
    name,
    `an address like ${example}`,
    {},
    (value) => {
      const url = URL.parse(value);
      return url !== null && url.hostname !== '' && protocols.includes(url.protocol)
        ? value
        : undefined;
    },
    true,
  );
}

export function postgresUrl(name: string): Setting<string> {
  return setting(
    name,
    'an address like postgres://user:password@host:port/database',
    {},
    (value) => (parsePostgresUrl(value) === undefined ? undefined : value),
    true,
  );
}

export function redisUrl(name: string): Setting<string> {
  return secretUrl(name, ['redis:', 'rediss:'], 'redis://host:port');
}

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

/** The settings of every service. */
export const SERVICE_SETTINGS = {
  log_level: choice('APP_LOG_LEVEL', LOG_LEVELS, { default: 'info' }),
  http_host: text('APP_HTTP_HOST', { default: '127.0.0.1' }),
  http_port: port('APP_HTTP_PORT'),
  drain_ms: integer('APP_DRAIN_MS', { default: 10_000, min: 100, max: 600_000 }),
  /** of a collector of traces, without `/v1/traces` */
  otlp_url: optional(httpUrl('APP_OTLP_URL')),
  /** traces of which one is recorded */
  trace_every: integer('APP_TRACE_EVERY', { default: 1, min: 1, max: 1_000_000 }),
} as const;

export type ServiceConfig = Config<typeof SERVICE_SETTINGS>;

/** The settings of every process that opens Redis. */
export const REDIS_SETTINGS = {
  redis_url: redisUrl('APP_REDIS_URL'),
  /** PEM */
  redis_tls_ca: {
    ...optional(pemFile('APP_REDIS_TLS_CA', 'certificates')),
    contradiction: (_given: string, env: Environment) =>
      env['APP_REDIS_URL']?.trim().startsWith('redis:') === true
        ? 'APP_REDIS_TLS_CA is set, and APP_REDIS_URL begins with redis://, which is without TLS: change it to rediss://'
        : undefined,
  },
  /** host:port of each; they name the primary, and the host of `redis_url` is not used */
  redis_sentinels: together(optional(list('APP_REDIS_SENTINELS')), 'APP_REDIS_SENTINEL_NAME'),
  redis_sentinel_name: together(optional(text('APP_REDIS_SENTINEL_NAME')), 'APP_REDIS_SENTINELS'),
  redis_sentinel_password: together(
    optional(secret('APP_REDIS_SENTINEL_PASSWORD', { characters_min: 1 })),
    'APP_REDIS_SENTINELS',
  ),
} as const;

/** The time for a connection to Postgres. */
export function postgresConnect(fallback: number): Setting<number> {
  return integer('APP_POSTGRES_CONNECT_MS', { default: fallback, min: 100, max: 600_000 });
}

const CONNECT_MS = 2_000;

/** A standby that lacks what its primary had so long ago is not read. */
export const postgres_stale_ms = integer('APP_POSTGRES_STALE_MS', {
  default: 30_000,
  min: 1_000,
  max: 600_000,
});

/** The settings of processes that write to Postgres. */
export const POSTGRES_SETTINGS = {
  postgres_url: postgresUrl('APP_POSTGRES_URL'),
  postgres_connect_ms: postgresConnect(CONNECT_MS),
  /** of gateways; it gets the right to read all tables */
  postgres_reader_role: text('APP_POSTGRES_READER_ROLE', { default: 'clt_reader' }),
} as const;

/** Blocks behind the node with which a gateway that shows the chain is still ready. */
export const ready_lag_blocks_max = integer('APP_READY_LAG_BLOCKS_MAX', {
  default: 20,
  min: 0,
  max: 1_000_000_000,
});

/** The settings of every gateway. */
export const GATEWAY_SETTINGS = {
  ...SERVICE_SETTINGS,
  postgres_reader_url: postgresUrl('APP_POSTGRES_READER_URL'),
  postgres_connect_ms: postgresConnect(CONNECT_MS),
  postgres_stale_ms,
  ...REDIS_SETTINGS,
  statement_timeout_ms: integer('APP_STATEMENT_TIMEOUT_MS', {
    default: 2_000,
    min: 10,
    max: 60_000,
  }),
  connections_max: integer('APP_POSTGRES_CONNECTIONS_MAX', { default: 8, min: 1, max: 100 }),
  /** of one client; 0: any number; a body counts as one for each 16 KiB */
  rate_per_second: integer('APP_RATE_PER_SECOND', { default: 100, min: 0, max: 1_000_000 }),
  rate_burst: integer('APP_RATE_BURST', { default: 300, min: 1, max: 1_000_000 }),
  /** of `/status` and `/metrics`, which the public port does not serve */
  ops_port: port('APP_OPS_PORT'),
  trust_proxy_hops: integer('APP_TRUST_PROXY', { default: 0, min: 0, max: 10 }),
  /** switched off, to measure what each does */
  limits_off: optional(words<LimitName>('APP_LIMITS_OFF', LIMIT_NAMES)),
} as const;

/** The console, for the page at `/` of a gateway that is not its own. */
export const CONSOLE_SETTINGS = { console_url: optional(httpUrl('APP_CONSOLE_URL')) };
