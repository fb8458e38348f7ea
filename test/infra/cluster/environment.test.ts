import { expect, test } from 'vitest';
import { clusterEnvironment, type ClusterAddresses } from '../../../infra/cluster/environment.ts';
import type { Passwords } from '../../../infra/cluster/principals.ts';
import { RIGHTS } from '../../../infra/kafka/acls.ts';
import { services } from '../../../infra/services/services.ts';

const passwords: Passwords = {
  kafka: Object.fromEntries(RIGHTS.map(({ principal }) => [principal, `kafka of ${principal}`])),
  registry_reader: 'R',
  registry_writer: 'W',
  postgres: {
    superuser: { name: 'postgres', password: 'S' },
    writer: { name: 'clt_writer', password: 'W' },
    reader: { name: 'clt_reader', password: 'R' },
    analyst: { name: 'clt_analyst', password: 'A' },
  },
  replicator: 'P',
  redis: 'D',
  before: { registry_reader: undefined, registry_writer: undefined, redis: undefined },
};
const at: ClusterAddresses = {
  brokers: ['a:1', 'b:2'],
  registry_url: 'https://r:1/path',
  postgres: ['p:1', 'q:2'],
  redis: 'd:1',
  sentinels: ['s:1', 't:2'],
  authority: '/a.crt',
};

test.each(services)('$name gets its own account, and no variable that it does not use', (spec) => {
  const environment = clusterEnvironment(spec, passwords, at);
  const uses = (name: (typeof spec.variables)[number]): boolean => spec.variables.includes(name);
  for (const name of [
    'APP_KAFKA_BROKERS',
    'APP_REGISTRY_URL',
    'APP_POSTGRES_URL',
    'APP_POSTGRES_READER_URL',
    'APP_REDIS_URL',
  ] as const)
    expect(name in environment, name).toBe(uses(name));
  if (!uses('APP_KAFKA_BROKERS')) return expect(environment).not.toHaveProperty('APP_KAFKA_SASL');
  expect(environment).toMatchObject({
    APP_KAFKA_BROKERS: 'a:1,b:2',
    APP_KAFKA_USERNAME: spec.name,
    APP_KAFKA_PASSWORD: `kafka of ${spec.name}`,
  });
});

function postgresOf(name: string): unknown[] {
  const spec = services.find((each) => each.name === name);
  if (spec === undefined) throw new Error(`there is no ${name}`);
  const environment = clusterEnvironment(spec, passwords, at);
  return [environment['APP_POSTGRES_URL'], environment['APP_POSTGRES_READER_URL']];
}

test('the writer begins at the primary, the reader at the replica, both with TLS', () => {
  const tls = '?sslmode=verify-full&sslrootcert=%2Fa.crt';
  expect(postgresOf('projector-watch')).toEqual([
    `postgres://clt_writer:W@p:1,q:2/clt${tls}`,
    undefined,
  ]);
  expect(postgresOf('hub-gateway')).toEqual([
    undefined,
    `postgres://clt_reader:R@q:2,p:1/clt${tls}`,
  ]);
});

test('a service that appends writes to the registry, a projector only reads', () => {
  const accounts = services.map((spec) => [
    spec.name,
    clusterEnvironment(spec, passwords, at)['APP_REGISTRY_USERNAME'],
  ]);
  expect(Object.fromEntries(accounts)).toMatchObject({
    'chain-ingester': 'registry-writer',
    treasury: 'registry-writer',
    'tron-watcher': 'registry-writer',
    'deposit-gateway': 'registry-writer',
    'projector-explorer': 'registry-reader',
    'projector-deposits': 'registry-reader',
  });
});
