/** The servers of a cluster on this machine: three brokers, two Postgres, two Redis, sentinels. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import {
  authorityFile,
  certificateFiles,
  makeCertificates,
  renewCertificate,
  type Certificate,
} from '../../cluster/certificates.ts';
import {
  brokerName,
  clusterKafkaSettings,
  nodeIds,
  type NodeAddresses,
  REPLICATION,
} from '../../cluster/kafka.ts';
import { proxyAccounts, tlsParameters } from '../../cluster/environment.ts';
import { clusterPostgresSettings, followSettings, hbaText } from '../../cluster/postgres.ts';
import {
  passwordsIn,
  REGISTRY_READER,
  REPLICATOR,
  secretFolders,
  type Passwords,
} from '../../cluster/principals.ts';
import { redisConf, sentinelConf, SENTINELS } from '../../cluster/redis.ts';
import { settleKafka } from '../../kafka/settle.ts';
import { postgresUrl, type Access } from '../../postgres/databases.ts';
import type { Programs } from '../fetch/programs.ts';
import type { Command } from '../process/child.ts';
import { plainEnvironment } from '../process/run-program.ts';
import { Server, type ServerSpec } from '../process/server.ts';
import { kafkaAnswers, kafkaServer } from '../servers/kafka.ts';
import { memorySettings, postgresServer, type PostgresPlace } from '../servers/postgres.ts';
import { redisServer } from '../servers/redis.ts';
import { registry_path, registryServer } from '../servers/registry.ts';
import { checkout, type Folder } from '../stack/folder.ts';
import { http } from '../stack/stack-file.ts';
import type { ClusterPorts, InstancePorts } from './ports.ts';
import { copyOf, holdOf, type Peer } from './replica.ts';

/** Clients reach every server of this machine by these. */
const HOSTS = ['127.0.0.1', 'localhost'];
export const HOST = '127.0.0.1';
/** Two servers of Postgres share the memory with all services twice. */
const POSTGRES_MEMORY = 0.04;
const POSTGRES_NAMES = ['postgres-1', 'postgres-2'] as const;
const REDIS_NAMES = ['redis-1', 'redis-2'] as const;

/** Passwords, and the paths of the certificates. */
export interface ClusterSecrets {
  /** Passwords of now: they change while the cluster runs. */
  readonly passwords: Passwords;
  /** The path of the certificate that clients trust. */
  readonly authority: string;
  readonly certificateOf: (server: string) => Certificate;
  /** Makes the certificate of a server anew where it is missing or ends soon. */
  readonly renew: (server: string) => Promise<void>;
}

/** Makes the secrets of this folder that are missing. */
export async function openSecrets(folder: Folder): Promise<ClusterSecrets> {
  const { passwords, certificates } = secretFolders(folder.data);
  const names = clusterServerNames.filter((name) => name !== UNSECURED);
  await makeCertificates(certificates, names, () => HOSTS, new Date());
  return {
    get passwords() {
      return passwordsIn(passwords);
    },
    authority: authorityFile(certificates),
    certificateOf: (name) => certificateFiles(certificates, name),
    renew: (name) => renewCertificate(certificates, name, HOSTS, new Date()),
  };
}

interface BrokerOptions {
  readonly java_options?: readonly string[];
  /** of topics and groups */
  readonly prefix?: string;
  /** ports that the brokers listen on; default: the ports of the cluster */
  readonly listening?: ClusterPorts;
}

/** How Postgres is reached: every role with its password, and TLS. */
export function postgresAccess({ passwords, authority }: ClusterSecrets): Access {
  return {
    ...passwords.postgres,
    replicator: { name: REPLICATOR, password: passwords.replicator },
    parameters: tlsParameters(authority),
  };
}

/** How the stack reaches Kafka: as a broker, by its certificate, whichever passwords there are. */
export function brokerConnection(
  ports: ClusterPorts,
  { authority, certificateOf }: ClusterSecrets,
) {
  const { cert, key } = certificateOf(brokerName(1));
  const [ca = '', own = '', own_key = ''] = [authority, cert, key].map((file) =>
    readFileSync(file, 'utf8'),
  );
  return {
    brokers: ports.map(({ kafka_brokers }) => `${HOST}:${kafka_brokers}`),
    ssl: { ca, cert: own, key: own_key },
  };
}

/**
 * The servers of a cluster, not started. A group stops together, since brokers need a quorum to
 * leave; groups are in the order of the data flow. Brokers listen on ports of their own where
 * proxies stand before them.
 */
export function clusterServers(
  folder: Folder,
  programs: Programs,
  ports: ClusterPorts,
  secrets: ClusterSecrets,
  { java_options = [], prefix = '', listening = ports }: BrokerOptions = {},
): readonly (readonly Server[])[] {
  const groups = [
    brokers(folder, programs, ports, secrets, { java_options, prefix, listening }),
    postgres(folder, programs, ports, secrets),
    registry(folder, programs, ports, secrets),
    redis(folder, programs, ports, secrets),
  ];
  return groups.map((specs) =>
    specs.map((spec) => new Server(withCertificate(spec, secrets), folder)),
  );
}

/** The server whose certificate is good whenever it starts. */
function withCertificate(spec: ServerSpec, secrets: ClusterSecrets): ServerSpec {
  if (spec.name === UNSECURED) return spec;
  const prepare: ServerSpec['prepare'] = async (signal, settings) => {
    await secrets.renew(spec.name);
    return await spec.prepare(signal, settings);
  };
  return { ...spec, prepare };
}

/** The registry, which only the proxy before it reaches. */
const UNSECURED = 'registry';

/** Names of all servers of a cluster. */
export const clusterServerNames: readonly string[] = [
  ...nodeIds.map(brokerName),
  ...POSTGRES_NAMES,
  UNSECURED,
  'registry-proxy',
  ...REDIS_NAMES,
  ...Array.from({ length: SENTINELS }, (_, index) => sentinelName(index)),
];

/** Every port that a server listens on. */
export function serverPorts(ports: ClusterPorts): number[] {
  const [first, second] = ports;
  return [
    ...ports.flatMap((each) => [each.kafka, each.kafka_brokers, each.kafka_controller]),
    ...ports.map(({ sentinel }) => sentinel),
    ...[first, second].flatMap(({ postgres: one, redis: other }) => [one, other]),
    first.registry,
    first.registry_inside,
  ];
}

function sentinelName(index: number): string {
  return `sentinel-${index + 1}`;
}

function at<T>(all: readonly T[], index: number): T {
  const found = all[index];
  if (found === undefined) throw new Error(`there is no instance ${index + 1}`);
  return found;
}

function nodeAddresses(ports: InstancePorts): NodeAddresses {
  return {
    clients: `${HOST}:${ports.kafka}`,
    brokers: `${HOST}:${ports.kafka_brokers}`,
    controllers: `${HOST}:${ports.kafka_controller}`,
  };
}

/** host:port of every broker, for clients. */
export function brokerAddresses(ports: ClusterPorts): string[] {
  return ports.map(({ kafka }) => `${HOST}:${kafka}`);
}

function brokers(
  folder: Folder,
  programs: Programs,
  ports: ClusterPorts,
  secrets: ClusterSecrets,
  { java_options, prefix, listening }: Required<BrokerOptions>,
): ServerSpec[] {
  const nodes = new Map(nodeIds.map((id, index) => [id, nodeAddresses(at(ports, index))]));
  const { authority, certificateOf } = secrets;
  const settle = (): Promise<void> =>
    settleKafka(
      brokerConnection(ports, secrets),
      { prefix, replicas: REPLICATION },
      secrets.passwords.kafka,
    );
  return nodeIds.map((id, index) => {
    const own = at(listening, index);
    const { kafka, kafka_brokers, kafka_controller } = own;
    const name = brokerName(id);
    const settings = (data: string): Record<string, string> => {
      const files = { ...certificateOf(name), authority, data };
      return clusterKafkaSettings(id, nodes, files, nodeAddresses(own));
    };
    return kafkaServer(folder, programs, {
      name,
      ports: [kafka, kafka_brokers, kafka_controller],
      settings,
      java_options,
      isReady: () => {
        const { ssl } = brokerConnection(ports, secrets);
        return kafkaAnswers(at(ports, index).kafka_brokers, { ssl });
      },
      ...(index > 0 ? {} : { settle }),
    });
  });
}

function postgres(
  folder: Folder,
  programs: Programs,
  ports: ClusterPorts,
  secrets: ClusterSecrets,
): ServerSpec[] {
  return POSTGRES_NAMES.map((name, index) => {
    const { postgres: port } = at(ports, index);
    const { postgres: peer_port } = at(ports, 1 - index);
    const peer = at(POSTGRES_NAMES, 1 - index);
    const dataOf = (server: string): string => join(folder.data, server, 'cluster');
    const fromOf = (): Peer => {
      const { superuser, parameters } = postgresAccess(secrets);
      const url = postgresUrl(superuser, `${HOST}:${peer_port}`, 'postgres', parameters);
      return { name: peer, data: dataOf(peer), url };
    };
    const placeOf = (): PostgresPlace => {
      const { replicator } = secrets.passwords;
      const { cert, key } = secrets.certificateOf(name);
      const at_peer = { host: HOST, port: peer_port };
      return {
        settings: {
          ...memorySettings(POSTGRES_MEMORY),
          ...clusterPostgresSettings,
          ...followSettings(name, at_peer, replicator, '{home}/authority.crt'),
          ssl_cert_file: '{home}/server.crt',
          ssl_key_file: '{home}/server.key',
          hba_file: '{home}/pg_hba.conf',
        },
        access: postgresAccess(secrets),
        files: {
          'server.crt': readFileSync(cert, 'utf8'),
          'server.key': readFileSync(key, 'utf8'),
          'authority.crt': readFileSync(secrets.authority, 'utf8'),
          'pg_hba.conf': hbaText(`${HOST}/32`),
        },
        copyFrom: copyOf(name, index === 0, fromOf(), replicator),
      };
    };
    const mayRestart: ServerSpec['mayRestart'] = (signal, say) =>
      holdOf(name, dataOf(name), fromOf())(signal, say);
    return Object.assign(postgresServer(folder, programs, name, port, placeOf), { mayRestart });
  });
}

/** The registry, and the door before it. */
function registry(
  folder: Folder,
  programs: Programs,
  [{ registry: port, registry_inside }]: ClusterPorts,
  secrets: ClusterSecrets,
): ServerSpec[] {
  const { cert, key } = secrets.certificateOf('registry-proxy');
  const command = (): Command => ({
    file: process.execPath,
    args: [join(checkout, 'infra/cluster/registry-proxy.ts')],
    env: plainEnvironment({
      APP_PROXY_HOST: HOST,
      APP_PROXY_PORT: String(port),
      APP_PROXY_TARGET: http(registry_inside),
      APP_PROXY_TLS_CERT: cert,
      APP_PROXY_TLS_KEY: key,
      ...proxyAccounts(secrets.passwords),
    }),
    cwd: checkout,
  });
  return [
    registryServer(folder, programs, registry_inside),
    {
      name: 'registry-proxy',
      ports: [port],
      prepare: () => Promise.resolve(command()),
      isReady: () => {
        const reader = `${REGISTRY_READER}:${secrets.passwords.registry_reader}`;
        return proxyAnswers(port, reader, secrets.authority);
      },
    },
  ];
}

/** Whether the registry lists its subjects to an account, `name:password`. */
async function proxyAnswers(port: number, auth: string, authority: string): Promise<boolean> {
  const asked = get({
    host: HOST,
    port,
    path: `${registry_path}/subjects`,
    auth,
    timeout: 2_000,
    ca: readFileSync(authority),
  });
  asked.on('timeout', () => asked.destroy(new Error('no answer')));
  const [answer]: { statusCode?: number; resume(): void }[] = await once(asked, 'response');
  answer?.resume();
  return answer?.statusCode === 200;
}

function redis(
  folder: Folder,
  programs: Programs,
  ports: ClusterPorts,
  secrets: ClusterSecrets,
): ServerSpec[] {
  const { authority, passwords } = secrets;
  const place = (name: string, port: number) => {
    const { cert, key } = secrets.certificateOf(name);
    const primary = [HOST, ports[0].redis] as const;
    return { bind: HOST, port, cert, key, authority, password: passwords.redis, primary };
  };
  // Redis keeps no data, so every run begins with the first as the primary.
  const server = (name: string, port: number, conf: string, args: readonly string[]) => {
    const file = join(folder.scratch, `${name}.conf`);
    writeFileSync(file, conf, { mode: 0o600 });
    return redisServer(folder, programs, name, port, [file, ...args], () => ({
      password: secrets.passwords.redis,
      ca: readFileSync(authority, 'utf8'),
    }));
  };
  return [
    ...REDIS_NAMES.map((name, index) => {
      const { redis: port } = at(ports, index);
      return server(name, port, redisConf(place(name, port), index > 0), []);
    }),
    ...ports.map(({ sentinel: port }, index) => {
      const name = sentinelName(index);
      return server(name, port, sentinelConf(place(name, port)), ['--sentinel']);
    }),
  ];
}
