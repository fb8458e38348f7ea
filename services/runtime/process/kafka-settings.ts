/** The settings of processes that open Kafka, and of those that ask the schema registry. */
import {
  choice,
  httpUrl,
  integer,
  isOpen,
  isSet,
  list,
  optional,
  pemFile,
  secret,
  text,
  together,
  type Environment,
  type Config,
} from './config.ts';

const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'] as const;
/** Mechanisms that send the password or a token as it is. */
const CLEAR = new Set(['plain', 'oauthbearer']);
const TLS_FILES = ['APP_KAFKA_TLS_CA', 'APP_KAFKA_TLS_CERT', 'APP_KAFKA_TLS_KEY'];

export const KAFKA_SETTINGS = {
  kafka_brokers: list('APP_KAFKA_BROKERS'),
  /** default: on when a TLS file is set */
  kafka_tls: {
    ...optional(choice('APP_KAFKA_TLS', ['on', 'off'])),
    contradiction(given: string, env: Environment) {
      const file = TLS_FILES.find((name) => isSet(env, name));
      return given === 'off' && file !== undefined
        ? `APP_KAFKA_TLS is off, and ${file} is set: remove one of them`
        : undefined;
    },
  },
  /** PEM, as all three */
  kafka_tls_ca: optional(pemFile('APP_KAFKA_TLS_CA', 'certificates')),
  kafka_tls_cert: together(
    optional(pemFile('APP_KAFKA_TLS_CERT', 'certificates')),
    'APP_KAFKA_TLS_KEY',
  ),
  kafka_tls_key: together(
    optional(pemFile('APP_KAFKA_TLS_KEY', 'a private key')),
    'APP_KAFKA_TLS_CERT',
  ),
  kafka_sasl: {
    ...optional(choice('APP_KAFKA_SASL', MECHANISMS)),
    contradiction: saslContradiction,
  },
  kafka_username: together(optional(text('APP_KAFKA_USERNAME')), 'APP_KAFKA_SASL'),
  kafka_password: together(
    optional(secret('APP_KAFKA_PASSWORD', { characters_min: 1 })),
    'APP_KAFKA_SASL',
  ),
  /** of the endpoint that gives tokens for the user's name and password */
  kafka_oauth_url: {
    ...optional(httpUrl('APP_KAFKA_OAUTH_URL')),
    contradiction: (given: string, env: Environment) =>
      needsOauth('APP_KAFKA_OAUTH_URL')(given, env) ??
      openPassword('APP_KAFKA_OAUTH_URL', given, env),
  },
  kafka_oauth_scope: {
    ...optional(text('APP_KAFKA_OAUTH_SCOPE')),
    contradiction: needsOauth('APP_KAFKA_OAUTH_SCOPE'),
  },
  kafka_connect_ms: integer('APP_KAFKA_CONNECT_MS', { default: 3_000, min: 100, max: 600_000 }),
  kafka_request_ms: integer('APP_KAFKA_REQUEST_MS', { default: 10_000, min: 1_000, max: 600_000 }),
  /** the least number of replicas of a topic */
  kafka_replication_min: integer('APP_KAFKA_REPLICATION_MIN', { default: 1, min: 1, max: 100 }),
  /** where the process runs; it reads from the replica there, if the brokers allow it */
  kafka_rack: optional(text('APP_KAFKA_RACK')),
  /** of topics, groups and subjects on the wire */
  kafka_prefix: {
    name: 'APP_KAFKA_PREFIX',
    expected: 'at most 100 letters, digits, dots, hyphens and underscores',
    secret: false,
    fallback: '',
    read: (given: string) => (/^[\w.-]{1,100}$/.test(given) ? given : undefined),
  },
} as const;

/** All but the addresses: each may be absent. */
export type KafkaOptions = Partial<Omit<Config<typeof KAFKA_SETTINGS>, 'kafka_brokers'>>;

export const REGISTRY_SETTINGS = {
  registry_url: {
    ...httpUrl('APP_REGISTRY_URL'),
    contradiction: (given: string, env: Environment) =>
      isSet(env, 'APP_REGISTRY_PASSWORD')
        ? openPassword('APP_REGISTRY_URL', given, env)
        : undefined,
  },
  registry_username: together(optional(text('APP_REGISTRY_USERNAME')), 'APP_REGISTRY_PASSWORD'),
  registry_password: together(
    optional(secret('APP_REGISTRY_PASSWORD', { characters_min: 1 })),
    'APP_REGISTRY_USERNAME',
  ),
} as const;

function needsOauth(name: string): (given: string, env: Environment) => string | undefined {
  return (_given, env) =>
    env['APP_KAFKA_SASL']?.trim() === 'oauthbearer'
      ? undefined
      : `${name} is set, and APP_KAFKA_SASL is not oauthbearer: remove it, or change APP_KAFKA_SASL`;
}

function openPassword(name: string, address: string, env: Environment): string | undefined {
  return env['APP_NETWORK']?.trim() === 'mainnet' && isOpen(address)
    ? `${name} begins with http://, so that anybody on the way could read the password: on the mainnet it has to begin with https://, or be on this machine`
    : undefined;
}

function saslContradiction(mechanism: string, env: Environment): string | undefined {
  const needed = [
    'APP_KAFKA_USERNAME',
    'APP_KAFKA_PASSWORD',
    ...(mechanism === 'oauthbearer' ? ['APP_KAFKA_OAUTH_URL'] : []),
  ];
  const missing = needed.filter((name) => !isSet(env, name));
  if (missing.length > 0)
    return `APP_KAFKA_SASL is ${mechanism} without ${missing.join(' and ')}: set the account`;
  const hasTls = ['APP_KAFKA_TLS', ...TLS_FILES].some((name) => isSet(env, name));
  return CLEAR.has(mechanism) && !hasTls
    ? `APP_KAFKA_SASL is ${mechanism} without TLS, so that anybody on the way could read the password: set APP_KAFKA_TLS_CA or APP_KAFKA_TLS=on, or APP_KAFKA_TLS=off where the network is secured otherwise`
    : undefined;
}
