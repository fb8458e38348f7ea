/** Connections to the servers of a cluster by each account, and the certificates that they show. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { Kafka, logLevel } from 'kafkajs';
import { asDefault } from '../../infra/cluster/redis-passwords.ts';
import {
  REGISTRY_READER,
  REGISTRY_WRITER,
  REPLICATOR,
  type Passwords,
} from '../../infra/cluster/principals.ts';
import type { ClusterPorts } from '../../infra/local/cluster/ports.ts';
import { brokerAddresses, HOST, type ClusterSecrets } from '../../infra/local/cluster/servers.ts';
import { registry_path } from '../../infra/local/servers/registry.ts';
import { postgresUrl } from '../../infra/postgres/databases.ts';
import { certificateAt } from '../../services/ops/status/certificates.ts';
import { rowsOf } from './database.ts';
import { HANG_MS } from './limits.ts';

interface Servers {
  readonly ports: ClusterPorts;
  readonly secrets: ClusterSecrets;
}

/** The ports of all servers with a certificate, by name. */
function securedPorts({ ports }: Servers): ReadonlyMap<string, number> {
  const [first, second] = ports;
  return new Map([
    ...ports.map(({ kafka }, index) => [`kafka-${index + 1}`, kafka] as const),
    ['postgres-1', first.postgres],
    ['postgres-2', second.postgres],
    ['redis-1', first.redis],
    ['redis-2', second.redis],
    ...ports.map(({ sentinel }, index) => [`sentinel-${index + 1}`, sentinel] as const),
    ['registry-proxy', first.registry],
  ]);
}

/** Serial numbers of the certificates that the servers show, by name. */
export async function shownSerials(cluster: Servers): Promise<ReadonlyMap<string, string>> {
  const serials = new Map<string, string>();
  for (const [name, port] of securedPorts(cluster)) {
    const is_postgres = name.startsWith('postgres');
    const place = { host: HOST, port: String(port), own: {}, is_postgres };
    const certificate = await certificateAt(place, HANG_MS);
    serials.set(name, certificate?.serialNumber ?? 'none');
  }
  return serials;
}

type Knock = readonly [by: string, knock: () => Promise<unknown>];

/** A connection by each account to each server that knows it. */
function knocks(cluster: Servers, of: Passwords): readonly Knock[] {
  const { ports, secrets } = cluster;
  const [first, second] = ports;
  const ca = readFileSync(secrets.authority, 'utf8');
  const parameters = `?sslmode=verify-full&sslrootcert=${encodeURIComponent(secrets.authority)}`;
  const { superuser, writer, reader, analyst } = of.postgres;
  const redis = [first.redis, second.redis, ...ports.map(({ sentinel }) => sentinel)];
  return [
    ...Object.entries(of.kafka).map(([username, password]): Knock => [
      `${username} at Kafka`,
      () => listTopics(brokerAddresses(ports), ca, username, password),
    ]),
    ...[superuser, writer, reader, analyst, { name: REPLICATOR, password: of.replicator }].flatMap(
      (role) =>
        [first, second].map(({ postgres }): Knock => [
          `${role.name} at Postgres ${postgres}`,
          () =>
            rowsOf(postgresUrl(role, `${HOST}:${postgres}`, 'postgres', parameters), 'SELECT 1'),
        ]),
    ),
    ...redis.map((port): Knock => [
      `Redis ${port}`,
      () =>
        asDefault({ host: HOST, port, ca }, { password: of.redis, before: undefined }, (each) =>
          each.ping(),
        ),
    ]),
    ...[
      [REGISTRY_READER, of.registry_reader],
      [REGISTRY_WRITER, of.registry_writer],
    ].map(([name, password]): Knock => [
      `${name} at the registry`,
      () => listSubjects(first.registry, ca, `${name}:${password}`),
    ]),
  ];
}

async function listTopics(
  brokers: string[],
  ca: string,
  username: string,
  password: string,
): Promise<void> {
  const sasl = { mechanism: 'scram-sha-512' as const, username, password };
  const options = { brokers, ssl: { ca }, sasl, logLevel: logLevel.NOTHING };
  const admin = new Kafka({ ...options, retry: { retries: 0 } }).admin();
  try {
    await admin.connect();
    await admin.listTopics();
  } finally {
    await admin.disconnect();
  }
}

async function listSubjects(port: number, ca: string, auth: string): Promise<void> {
  const asked = request({ host: HOST, port, ca, auth, path: `${registry_path}/subjects` });
  asked.end();
  const [answer]: { statusCode?: number; resume(): void }[] = await once(asked, 'response');
  answer?.resume();
  if (answer?.statusCode !== 200) throw new Error(`the registry answered ${answer?.statusCode}`);
}

/** How a refusal of a password reads, of each kind of server. */
const REFUSAL =
  /invalid credentials|password authentication failed|WRONGPASS|the registry answered 401/;

/** Connections that are not refused for their password. */
export async function takenOf(cluster: Servers, of: Passwords): Promise<readonly string[]> {
  const taken: string[] = [];
  for (const [by, knock] of knocks(cluster, of)) {
    const outcome = await knock().then(() => 'taken', String);
    if (!REFUSAL.test(outcome)) taken.push(`${by}: ${outcome}`);
  }
  return taken;
}

/** Connections that fail, each with the reason. */
export async function refusedOf(cluster: Servers, of: Passwords): Promise<readonly string[]> {
  const refused: string[] = [];
  for (const [by, knock] of knocks(cluster, of))
    await knock().catch((error: unknown) => refused.push(`${by}: ${String(error)}`));
  return refused;
}
