/**
 * Makes the certificates, passwords and server files of docker-compose.cluster.yml, one folder for
 * each container: `node infra/cluster/prepare.ts FOLDER`. Runs before every start, as root, so that
 * each folder belongs to the account of its container. Keeps what is there.
 */
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { kafkaPasswordFile, OPERATOR } from '../kafka/acls.ts';
import { postgresSettings } from '../postgres/settings.ts';
import { registry_path } from '../local/servers/registry.ts';
import { services, type Environment } from '../services/services.ts';
import { authorityFile, certificateFiles, makeCertificates } from './certificates.ts';
import {
  clusterEnvironment,
  logEnvironment,
  postgresEnvironment,
  proxyAccounts,
  type ClusterAddresses,
} from './environment.ts';
import {
  ADMINISTRATOR,
  brokerName,
  clusterKafkaSettings,
  formatArguments,
  nodeIds,
  propertiesText,
  type NodeAddresses,
} from './kafka.ts';
import { clusterPostgresSettings, followSettings, hbaText, slotOf } from './postgres.ts';
import { passwordsIn, REPLICATOR, secretFolders, type Passwords } from './principals.ts';
import { redisConf, sentinelConf } from './redis.ts';

/** Where a container finds its folder. */
const INSIDE = '/secrets';
const AUTHORITY = `${INSIDE}/authority.crt`;
/** The accounts of the images: `appuser` and `node`; `postgres` and `redis`. */
const NODE_UID = 1_000;
const SERVER_UID = 999;

export const POSTGRES = ['postgres-1', 'postgres-2'] as const;
export const REDIS = ['redis-1', 'redis-2'] as const;
export const SENTINELS = ['sentinel-1', 'sentinel-2', 'sentinel-3'] as const;

export const addresses: ClusterAddresses = {
  brokers: nodeIds.map((id) => `${brokerName(id)}:9092`),
  registry_url: `https://registry-proxy:8443${registry_path}`,
  postgres: [`${POSTGRES[0]}:5432`, `${POSTGRES[1]}:5432`],
  redis: `${REDIS[0]}:6379`,
  sentinels: SENTINELS.map((name) => `${name}:6379`),
  authority: AUTHORITY,
};

/** The containers with a certificate of their own, and the accounts of their images. */
const CERTIFIED = new Map([
  ...[...nodeIds.map(brokerName), 'registry-proxy'].map((name) => [name, NODE_UID] as const),
  ...[...POSTGRES, ...REDIS, ...SENTINELS].map((name) => [name, SERVER_UID] as const),
]);

function hostsOf(name: string): string[] {
  return [name, 'localhost'];
}

function read(file: string): string {
  return readFileSync(file, 'utf8');
}

/** Files of a container: their names and texts. */
type Files = Readonly<Record<string, string>>;

export async function prepare(folder: string, now: Date): Promise<void> {
  const { certificates, passwords: password_folder } = secretFolders(folder);
  await makeCertificates(certificates, [...CERTIFIED.keys()], hostsOf, now);
  const passwords = passwordsIn(password_folder);
  const authority = readFileSync(authorityFile(certificates), 'utf8');
  const write = (container: string, uid: number, files: Files): void => {
    const own = join(folder, container);
    mkdirSync(own, { recursive: true });
    for (const [name, text] of Object.entries({ 'authority.crt': authority, ...files })) {
      const file = join(own, name);
      writeFileSync(file, text, { mode: 0o600 });
      if (process.getuid?.() === 0) chownSync(file, uid, uid);
    }
  };
  for (const [name, uid] of CERTIFIED) {
    const { cert, key, keystore } = certificateFiles(certificates, name);
    const files = {
      'server.crt': read(cert),
      'server.key': read(key),
      'server.pem': read(keystore),
    };
    write(name, uid, files);
  }
  for (const id of nodeIds) write(brokerName(id), NODE_UID, kafkaFiles(id, passwords));
  for (const name of POSTGRES) write(name, SERVER_UID, postgresFiles(name, passwords));
  for (const name of REDIS) write(name, SERVER_UID, redisFiles(name, passwords));
  for (const name of SENTINELS) write(name, SERVER_UID, redisFiles(name, passwords));
  write('registry-proxy', NODE_UID, { environment: environmentText(proxyEnvironment(passwords)) });
  for (const spec of services)
    write(spec.name, NODE_UID, {
      environment: environmentText(clusterEnvironment(spec, passwords, addresses)),
    });
  const operator = {
    ...logEnvironment(OPERATOR, passwords, addresses),
    ...postgresEnvironment(passwords, addresses),
    NODE_EXTRA_CA_CERTS: AUTHORITY,
  };
  write(OPERATOR, NODE_UID, { environment: environmentText(operator) });
  const accounts = Object.entries(passwords.kafka);
  write(
    'settle-kafka',
    NODE_UID,
    Object.fromEntries(accounts.map(([name, password]) => [kafkaPasswordFile(name), password])),
  );
  const { superuser, writer, reader, analyst } = passwords.postgres;
  write('settle-postgres', NODE_UID, {
    postgres_superuser: superuser.password,
    postgres_writer: writer.password,
    postgres_reader: reader.password,
    postgres_analyst: analyst.password,
  });
}

/** The file of `node --env-file`. */
function environmentText(environment: Environment): string {
  return Object.entries(environment)
    .map(([name, value]) => `${name}='${value}'\n`)
    .join('');
}

function nodeAt(host: string): NodeAddresses {
  return { clients: `${host}:9092`, brokers: `${host}:9094`, controllers: `${host}:9093` };
}

const NODES = new Map(nodeIds.map((id) => [id, nodeAt(brokerName(id))]));

function kafkaFiles(id: number, { kafka }: Passwords): Files {
  const properties = `${INSIDE}/server.properties`;
  const files = {
    cert: `${INSIDE}/server.crt`,
    key: `${INSIDE}/server.key`,
    keystore: `${INSIDE}/server.pem`,
    authority: AUTHORITY,
    data: '/var/lib/kafka/data',
  };
  const format = formatArguments(properties, kafka[ADMINISTRATOR]).map(
    (argument) => `'${argument}'`,
  );
  return {
    'server.properties': propertiesText(clusterKafkaSettings(id, NODES, files, nodeAt('0.0.0.0'))),
    'start.sh': [
      'set -e',
      `/opt/kafka/bin/kafka-storage.sh ${format.join(' ')} --ignore-formatted`,
      `exec /opt/kafka/bin/kafka-server-start.sh ${properties}`,
      '',
    ].join('\n'),
  };
}

function postgresFiles(name: (typeof POSTGRES)[number], passwords: Passwords): Files {
  const peer = name === POSTGRES[0] ? POSTGRES[1] : POSTGRES[0];
  const { superuser } = passwords.postgres;
  const follow = followSettings(name, { host: peer, port: 5432 }, passwords.replicator, AUTHORITY);
  const settings = {
    ...postgresSettings,
    ...clusterPostgresSettings,
    ...follow,
    listen_addresses: '*',
    shared_buffers: '512MB',
    effective_cache_size: '1GB',
    ssl_cert_file: `${INSIDE}/server.crt`,
    ssl_key_file: `${INSIDE}/server.key`,
    hba_file: `${INSIDE}/pg_hba.conf`,
  };
  return {
    superuser: superuser.password,
    'pg_hba.conf': hbaText('all'),
    'postgresql.conf': Object.entries(settings)
      .map(([setting, value]) => `${setting} = '${value}'\n`)
      .join(''),
    'replicator.sql': [
      `CREATE ROLE ${REPLICATOR} LOGIN REPLICATION PASSWORD '${passwords.replicator}';`,
      `SELECT pg_create_physical_replication_slot('${slotOf(peer)}', true);`,
      '',
    ].join('\n'),
    // The replica's first data are a copy of the primary's.
    'copy.sh': [
      'set -e',
      'if [ ! -s "$PGDATA/PG_VERSION" ]; then',
      `  export PGPASSWORD='${passwords.replicator}'`,
      `  pg_basebackup -D "$PGDATA" -X stream -S ${slotOf(name)} ` +
        `-d 'host=${peer} user=${REPLICATOR} sslmode=verify-full sslrootcert=${AUTHORITY}'`,
      '  touch "$PGDATA/standby.signal"',
      'fi',
      `exec docker-entrypoint.sh postgres -c config_file=${INSIDE}/postgresql.conf`,
      '',
    ].join('\n'),
  };
}

function redisFiles(name: string, { redis: password }: Passwords): Files {
  const place = {
    bind: '* -::*',
    port: 6379,
    cert: `${INSIDE}/server.crt`,
    key: `${INSIDE}/server.key`,
    authority: AUTHORITY,
    password,
    primary: [REDIS[0], 6379] as const,
  };
  const isSentinel = name.startsWith('sentinel');
  const conf = isSentinel ? sentinelConf(place) : redisConf(place, name !== REDIS[0]);
  const names = isSentinel
    ? `sentinel announce-ip ${name}\nsentinel announce-hostnames yes\n`
    : `replica-announce-ip ${name}\n`;
  return { 'redis.conf': `${conf}${names}` };
}

function proxyEnvironment(passwords: Passwords): Environment {
  return {
    APP_PROXY_HOST: '0.0.0.0',
    APP_PROXY_PORT: '8443',
    APP_PROXY_TARGET: 'http://registry:8080',
    APP_PROXY_TLS_CERT: `${INSIDE}/server.crt`,
    APP_PROXY_TLS_KEY: `${INSIDE}/server.key`,
    ...proxyAccounts(passwords),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await prepare(process.argv[2] ?? INSIDE, new Date());
