/**
 * The compose file of a cluster, made from docker-compose.yml and the settings of a cluster by
 * `infra/node.sh infra/cluster/compose.ts > docker-compose.cluster.yml`. The repository does not
 * keep the file.
 */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parse, stringify } from 'yaml';
import { kafka_heap, kafka_image } from '../kafka/settings.ts';
import { OPERATOR } from '../kafka/acls.ts';
import { instances } from '../local/cluster/layout.ts';
import { readClusterPorts } from '../local/cluster/ports.ts';
import { redis_image } from '../local/servers/redis.ts';
import { database, initdbArguments, postgres_image } from '../postgres/settings.ts';
import { defaultPorts } from '../services/ports.ts';
import { brokerName, nodeIds } from './kafka.ts';
import { addresses, POSTGRES, REDIS, SENTINELS } from './prepare.ts';

interface Container {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly tmpfs?: readonly string[] | undefined;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, object>>;
  readonly [other: string]: unknown;
}

/** The part of docker-compose.yml that is used here. */
export interface Plain {
  readonly services: Readonly<Record<string, Container>>;
  readonly networks: Readonly<Record<string, object | null>>;
  readonly secrets: Readonly<Record<string, object>>;
}

const HEADER = `# The system as it runs on several machines, in containers: secured servers with replicas, each
# service twice. \`docker compose -f docker-compose.cluster.yml up --build\`.
# Made by infra/cluster/compose.ts: change that, not this. The certificates and passwords are made at
# the first start, in .local/compose. Every port is published on 127.0.0.1 only.
`;

const HEALTHY = { condition: 'service_healthy' };
const DONE = { condition: 'service_completed_successfully' };
const BROKERS = nodeIds.map(brokerName);

/** Variables that are in the secrets of a container, which do not replace those of the file. */
const SECRET = new Set([
  'APP_KAFKA_BROKERS',
  'APP_KAFKA_SASL',
  'APP_KAFKA_USERNAME',
  'APP_KAFKA_PASSWORD_FILE',
  'APP_KAFKA_REPLICATION_MIN',
  'APP_REGISTRY_URL',
  'APP_POSTGRES_URL_FILE',
  'APP_POSTGRES_READER_URL_FILE',
  'APP_REDIS_URL_FILE',
]);

/** Secrets of the plain file that a cluster has too: no server knows them. */
const KEYS = new Set(['jwt_secret', 'jwt_secret_also', 'mint_key', 'deposit_xpub', 'tron_api_key']);

/** The container of the plain file that refuses public secrets. */
const CHECK = 'check';

/** The containers in place of a server of the plain file. */
const SERVERS: Readonly<Record<string, readonly string[]>> = {
  kafka: BROKERS,
  registry: ['registry-proxy'],
  postgres: POSTGRES,
  redis: [...REDIS, ...SENTINELS],
};

function healthyAll(names: readonly string[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [name, HEALTHY]));
}

/** The folder of a container with its certificate and passwords. */
function secrets(name: string): string {
  return `./.local/compose/${name}:/secrets:ro`;
}

function listens(port: number): object {
  const test = ['CMD', 'bash', '-c', `exec 3<>/dev/tcp/127.0.0.1/${port}`];
  return { interval: '3s', timeout: '5s', retries: 40, test };
}

const CONFINED = [
  'read_only',
  'cap_drop',
  'security_opt',
  'pids_limit',
  'mem_limit',
  'user',
  'tmpfs',
];

/** The confinement of a container of the plain file. */
function confined(plain: Container = {}): Container {
  return Object.fromEntries(CONFINED.map((name) => [name, plain[name]]));
}

/** A container that waits for no check of passwords: a cluster makes them at its first start. */
function unchecked(plain: Container = {}): Container {
  const { depends_on = {}, ...rest } = plain;
  const needed = Object.entries(depends_on).filter(([other]) => other !== CHECK);
  return { ...rest, depends_on: Object.fromEntries(needed) };
}

function server(name: string, more: Container): [string, Container] {
  const { volumes = [], depends_on = {}, ...rest } = more;
  return [
    name,
    {
      restart: 'unless-stopped',
      ...rest,
      volumes: [secrets(name), ...volumes],
      depends_on: { prepare: DONE, ...depends_on },
    },
  ];
}

export function composeCluster({ services: plain, networks, secrets: files }: Plain): object {
  const program = {
    build: { context: '.', dockerfile: 'infra/Dockerfile' },
    image: 'clt-token-system',
    ...confined(plain['treasury']),
  };
  const withSecrets = ['--env-file=/secrets/environment'];
  const servers = [
    ...BROKERS.map((name) =>
      server(name, {
        image: kafka_image,
        ...confined(plain['kafka']),
        // the settings are in the folder of secrets; those of the log are the image's
        tmpfs: plain['kafka']?.tmpfs?.filter((folder) => !folder.startsWith('/opt/kafka/config')),
        networks: ['log'],
        command: ['bash', '/secrets/start.sh'],
        environment: { KAFKA_HEAP_OPTS: kafka_heap },
        volumes: [`${name}-data:/var/lib/kafka/data`],
        stop_grace_period: '30s',
        healthcheck: listens(9092),
      }),
    ),
    server('settle-kafka', {
      ...program,
      restart: 'on-failure',
      networks: ['log'],
      command: ['infra/kafka/settle.ts', '/secrets', ...addresses.brokers],
      depends_on: healthyAll(BROKERS),
    }),
    ...POSTGRES.map((name, index) =>
      server(name, {
        image: postgres_image,
        ...confined(plain['postgres']),
        networks: ['tables'],
        // a former primary that comes back by itself would be a second primary
        restart: 'no',
        ...(index === 0
          ? { command: ['postgres', '-c', 'config_file=/secrets/postgresql.conf'] }
          : { entrypoint: ['bash', '/secrets/copy.sh'] }),
        environment: {
          POSTGRES_PASSWORD_FILE: '/secrets/superuser',
          POSTGRES_DB: database,
          POSTGRES_INITDB_ARGS: initdbArguments.join(' '),
        },
        shm_size: '256m',
        stop_signal: 'SIGINT',
        stop_grace_period: '2m',
        volumes: [
          `${name}-data:/var/lib/postgresql`,
          ...(index === 0
            ? ['./infra/cluster/postgres-init.sh:/docker-entrypoint-initdb.d/cluster.sh:ro']
            : []),
        ],
        healthcheck: plain['postgres']?.['healthcheck'],
        depends_on: index === 0 ? {} : healthyAll([POSTGRES[0]]),
      }),
    ),
    server('settle-postgres', {
      ...program,
      restart: 'on-failure',
      networks: ['tables'],
      command: ['infra/postgres/settle.ts', '/secrets', ...addresses.postgres],
      depends_on: healthyAll(POSTGRES),
    }),
    ['registry', { ...unchecked(plain['registry']), networks: ['registry'] }] as const,
    ['registry-volume', unchecked(plain['registry-volume'])] as const,
    server('registry-proxy', {
      ...program,
      command: [...withSecrets, 'infra/cluster/registry-proxy.ts'],
      networks: ['log', 'registry'],
      healthcheck: listens(8443),
      depends_on: healthyAll(['registry']),
    }),
    ...[...REDIS, ...SENTINELS].map((name) => {
      // Redis rewrites the file when its role changes.
      const flag = name.startsWith('sentinel') ? ' --sentinel' : '';
      const start = `cp -n /secrets/redis.conf /tmp/redis.conf; exec redis-server /tmp/redis.conf${flag}`;
      return server(name, {
        image: redis_image,
        ...confined(plain['redis']),
        tmpfs: ['/tmp', ...(plain['redis']?.tmpfs ?? [])],
        networks: ['tables'],
        command: ['bash', '-c', start],
        healthcheck: listens(6379),
        depends_on: name === REDIS[0] ? {} : healthyAll([REDIS[0]]),
      });
    }),
  ];
  const ports = readClusterPorts({});
  const all = instances(ports);
  const urls = all
    .filter(({ name }) => name !== 'devnet')
    .map(({ name, spec }) => `${name}=http://${name}:${defaultPorts[spec.ops_port]}`);
  const ours = all.map(({ name, spec, ports: own }) => {
    const {
      depends_on = {},
      environment = {},
      secrets: named = [],
      command = [],
      volumes = [],
      ports: published = [],
      ...rest
    } = unchecked(plain[spec.name]);
    const others = Object.entries(environment).filter(([variable]) => !SECRET.has(variable));
    const needed = Object.entries(depends_on).map(([other, condition]) => {
      const each = SERVERS[other];
      return each === undefined ? { [other]: condition } : healthyAll(each);
    });
    return [
      name,
      {
        ...rest,
        command: [...withSecrets, ...command],
        environment: Object.fromEntries(others),
        secrets: named.filter((file) => KEYS.has(file)),
        volumes: [secrets(spec.name), ...volumes],
        depends_on: Object.assign({ prepare: DONE }, ...needed),
        // the plain file publishes the first ones of a service
        ports: spec.ports
          .slice(0, published.length)
          .map((port) => `127.0.0.1:${own[port]}:${defaultPorts[port]}`),
      },
    ] as const;
  });
  const operator = [
    OPERATOR,
    {
      ...program,
      profiles: [OPERATOR],
      entrypoint: ['node', ...withSecrets, 'services/ops/main.ts'],
      environment: {
        APP_DUST_BELOW: plain[OPERATOR]?.environment?.['APP_DUST_BELOW'],
        APP_STATUS_SERVICES: urls.join(','),
      },
      volumes: [secrets(OPERATOR)],
      networks: ['services', 'log', 'tables'],
      depends_on: { 'settle-kafka': DONE },
    },
  ] as const;
  const prepare = {
    ...program,
    user: '0:0',
    // it gives each folder to the account of its container, and writes into it again
    cap_add: ['CHOWN', 'DAC_OVERRIDE'],
    network_mode: 'none',
    command: ['infra/cluster/prepare.ts', '/secrets'],
    volumes: ['./.local/compose:/secrets'],
  };
  const data = [...BROKERS, ...POSTGRES, 'registry', 'devnet'].map((name) => [
    `${name}-data`,
    null,
  ]);
  return {
    services: {
      prepare,
      ...Object.fromEntries(servers),
      ...Object.fromEntries([...ours, operator]),
    },
    networks: { ...networks, registry: { internal: true } },
    secrets: Object.fromEntries(Object.entries(files).filter(([name]) => KEYS.has(name))),
    volumes: Object.fromEntries(data),
  };
}

/** docker-compose.yml of this checkout. */
export function readPlain(): Plain {
  const text = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8');
  const plain: Plain = parse(text, { merge: true, maxAliasCount: -1 });
  return plain;
}

/** The text of docker-compose.cluster.yml. */
export function clusterFile(): string {
  const options = { version: '1.1', aliasDuplicateObjects: false } as const;
  return `${HEADER}${stringify(composeCluster(readPlain()), options)}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  process.stdout.write(clusterFile());
