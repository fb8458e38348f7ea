/** The settings by which a service of a cluster reaches the servers, with its own account. */
import { RIGHTS } from '../kafka/acls.ts';
import { postgresUrl, type Access } from '../postgres/databases.ts';
import { database } from '../postgres/settings.ts';
import type { Environment, ServiceSpec } from '../services/services.ts';
import { REPLICATION } from './kafka.ts';
import { REGISTRY_READER, REGISTRY_WRITER, type Passwords } from './principals.ts';
import { REDIS_NAME } from './redis.ts';

/** Where the servers of a cluster are; hosts as host:port. */
export interface ClusterAddresses {
  readonly brokers: readonly string[];
  /** with the path of Confluent's interface */
  readonly registry_url: string;
  /** the first primary, then its replica */
  readonly postgres: readonly [string, string];
  readonly redis: string;
  readonly sentinels: readonly string[];
  /** The path of the certificate that clients trust. */
  readonly authority: string;
}

/** The variables of a principal for Kafka and the registry. */
export function logEnvironment(
  principal: string,
  passwords: Passwords,
  at: ClusterAddresses,
): Record<string, string> {
  const isWriter = RIGHTS.some((each) => each.principal === principal && each.appends.length > 0);
  return {
    APP_KAFKA_BROKERS: at.brokers.join(','),
    APP_KAFKA_TLS_CA: at.authority,
    APP_KAFKA_SASL: 'scram-sha-512',
    APP_KAFKA_USERNAME: principal,
    APP_KAFKA_PASSWORD: passwords.kafka[principal] ?? '',
    APP_KAFKA_REPLICATION_MIN: String(REPLICATION),
    APP_REGISTRY_URL: at.registry_url,
    APP_REGISTRY_USERNAME: isWriter ? REGISTRY_WRITER : REGISTRY_READER,
    APP_REGISTRY_PASSWORD: isWriter ? passwords.registry_writer : passwords.registry_reader,
  };
}

/** The variables for Postgres: the writer finds the primary, the reader begins at the replica. */
export function postgresEnvironment(
  passwords: Passwords,
  { postgres: [primary, replica], authority }: ClusterAddresses,
): Record<'APP_POSTGRES_URL' | 'APP_POSTGRES_READER_URL', string> {
  const { writer, reader } = passwords.postgres;
  const tls = tlsParameters(authority);
  return {
    APP_POSTGRES_URL: postgresUrl(writer, `${primary},${replica}`, database, tls),
    APP_POSTGRES_READER_URL: postgresUrl(reader, `${replica},${primary}`, database, tls),
  };
}

/** The variables of the registry's proxy for its accounts. */
export function proxyAccounts(passwords: Passwords): Record<string, string> {
  const { registry_reader: registryReader, registry_writer: registryWriter } = passwords.before;
  return {
    APP_PROXY_READER_USERNAME: REGISTRY_READER,
    APP_PROXY_READER_PASSWORD: passwords.registry_reader,
    APP_PROXY_WRITER_USERNAME: REGISTRY_WRITER,
    APP_PROXY_WRITER_PASSWORD: passwords.registry_writer,
    ...(registryReader === undefined ? {} : { APP_PROXY_READER_PASSWORD_BEFORE: registryReader }),
    ...(registryWriter === undefined ? {} : { APP_PROXY_WRITER_PASSWORD_BEFORE: registryWriter }),
  };
}

/** The parameters of a connection string to Postgres with TLS. */
export function tlsParameters(authority: string): Access['parameters'] {
  return `?sslmode=verify-full&sslrootcert=${encodeURIComponent(authority)}`;
}

/** The variables for Redis, whose primary the sentinels name. */
export function redisEnvironment(
  { redis: password }: Passwords,
  { redis, sentinels, authority }: ClusterAddresses,
): Record<string, string> {
  return {
    APP_REDIS_URL: `rediss://:${password}@${redis}`,
    APP_REDIS_SENTINELS: sentinels.join(','),
    APP_REDIS_SENTINEL_NAME: REDIS_NAME,
    APP_REDIS_SENTINEL_PASSWORD: password,
    APP_REDIS_TLS_CA: authority,
  };
}

/** The variables of a service that differ from those of a plain stack, and those that it adds. */
export function clusterEnvironment(
  { name, variables }: ServiceSpec,
  passwords: Passwords,
  at: ClusterAddresses,
): Environment {
  const uses = (variable: ServiceSpec['variables'][number]): boolean =>
    variables.includes(variable);
  const postgres = postgresEnvironment(passwords, at);
  const log = Object.entries(logEnvironment(name, passwords, at)).filter(
    ([variable]) => uses('APP_REGISTRY_URL') || !variable.startsWith('APP_REGISTRY'),
  );
  return {
    ...(uses('APP_KAFKA_BROKERS') ? Object.fromEntries(log) : {}),
    // for the registry
    ...(uses('APP_REGISTRY_URL') ? { NODE_EXTRA_CA_CERTS: at.authority } : {}),
    ...(uses('APP_POSTGRES_URL') ? { APP_POSTGRES_URL: postgres.APP_POSTGRES_URL } : {}),
    ...(uses('APP_POSTGRES_READER_URL')
      ? { APP_POSTGRES_READER_URL: postgres.APP_POSTGRES_READER_URL }
      : {}),
    ...(uses('APP_REDIS_URL') ? redisEnvironment(passwords, at) : {}),
  };
}
