/**
 * docker-compose.cluster.yml, made from docker-compose.yml and the settings of a cluster:
 * `node infra/cluster/compose.ts > docker-compose.cluster.yml`, then prettier. A test holds the
 * file equal to this.
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
import { POSTGRES, REDIS, SENTINELS } from './prepare.ts';

interface Container {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, object>>;
  readonly [other: string]: unknown;
}

/** The part of docker-compose.yml that is used here. */
export interface Plain {
  readonly services: Readonly<Record<string, Container>>;
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
  'APP_KAFKA_REPLICATION_MIN',
  'APP_REGISTRY_URL',
  'APP_POSTGRES_URL',
  'APP_POSTGRES_READER_URL',
  'APP_REDIS_URL',
]);

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

export function composeCluster({ services: plain }: Plain): object {
  const program = {
    build: { context: '.', dockerfile: 'infra/Dockerfile' },
    image: 'clt-token-system',
  };
  const withSecrets = ['--env-file=/secrets/environment'];
  const servers = [
    ...BROKERS.map((name) =>
      server(name, {
        image: kafka_image,
        command: ['bash', '/secrets/start.sh'],
        environment: { KAFKA_HEAP_OPTS: kafka_heap },
        volumes: [`${name}-data:/var/lib/kafka/data`],
        stop_grace_period: '30s',
        healthcheck: listens(9092),
      }),
    ),
    server('settle', {
      ...program,
      restart: 'on-failure',
      command: [...withSecrets, 'infra/cluster/settle.ts'],
      depends_on: healthyAll(BROKERS),
    }),
    ...POSTGRES.map((name, index) =>
      server(name, {
        image: postgres_image,
        // a former primary that comes back by itself would be a second primary
        restart: 'no',
        ...(index === 0
          ? { command: ['postgres', '-c', 'config_file=/secrets/postgresql.conf'] }
          : { entrypoint: ['bash', '/secrets/copy.sh'], user: '999:999' }),
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
            ? [
                './infra/postgres/roles.sql:/docker-entrypoint-initdb.d/1-roles.sql:ro',
                './infra/postgres/grants.sql:/docker-entrypoint-initdb.d/2-grants.sql:ro',
                './infra/cluster/postgres-init.sh:/docker-entrypoint-initdb.d/3-cluster.sh:ro',
              ]
            : []),
        ],
        healthcheck: plain['postgres']?.['healthcheck'],
        depends_on: index === 0 ? {} : healthyAll([POSTGRES[0]]),
      }),
    ),
    ['registry', { ...plain['registry'], ports: [], networks: ['registry'] }] as const,
    server('registry-proxy', {
      ...program,
      command: [...withSecrets, 'infra/cluster/registry-proxy.ts'],
      networks: ['default', 'registry'],
      healthcheck: listens(8443),
      depends_on: healthyAll(['registry']),
    }),
    ...[...REDIS, ...SENTINELS].map((name) => {
      // Redis rewrites the file when its role changes.
      const flag = name.startsWith('sentinel') ? ' --sentinel' : '';
      const start = `cp -n /secrets/redis.conf /tmp/redis.conf; exec redis-server /tmp/redis.conf${flag}`;
      return server(name, {
        image: redis_image,
        user: '999:999',
        command: ['bash', '-c', start],
        healthcheck: listens(6379),
        depends_on: name === REDIS[0] ? {} : healthyAll([REDIS[0]]),
      });
    }),
  ];
  const ports = readClusterPorts({});
  const ours = instances(ports).map(({ name, spec, ports: own }) => {
    const {
      depends_on = {},
      environment = {},
      command = [],
      volumes = [],
      ...rest
    } = plain[spec.name] ?? {};
    const others = Object.entries(environment).filter(([variable]) => !SECRET.has(variable));
    const needed = Object.keys(depends_on).flatMap((other) => SERVERS[other] ?? [other]);
    return [
      name,
      {
        ...rest,
        command: [...withSecrets, ...command],
        environment: Object.fromEntries(others),
        volumes: [secrets(spec.name), ...volumes],
        depends_on: { prepare: DONE, settle: DONE, ...healthyAll(needed) },
        ports: spec.ports.map((port) => `127.0.0.1:${own[port]}:${defaultPorts[port]}`),
      },
    ] as const;
  });
  const operator = [
    OPERATOR,
    {
      ...program,
      profiles: [OPERATOR],
      entrypoint: ['node', ...withSecrets, 'services/ops/main.ts'],
      volumes: [secrets(OPERATOR)],
      depends_on: { settle: DONE },
    },
  ] as const;
  const prepare = {
    ...program,
    user: '0:0',
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
    networks: { registry: { internal: true } },
    volumes: Object.fromEntries(data),
  };
}

/** docker-compose.yml of this checkout. */
export function readPlain(): Plain {
  const text = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8');
  const plain: Plain = parse(text, { merge: true });
  return plain;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  process.stdout.write(
    `${HEADER}${stringify(composeCluster(readPlain()), { version: '1.1', aliasDuplicateObjects: false })}`,
  );
