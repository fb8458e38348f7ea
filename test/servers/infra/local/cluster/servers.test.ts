import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { text } from 'node:stream/consumers';
import { Redis } from 'ioredis';
import kafkajs, { Kafka, logLevel, type Admin, type KafkaConfig } from 'kafkajs';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { certificateFiles } from '../../../../../infra/cluster/certificates.ts';
import {
  logEnvironment,
  postgresEnvironment,
  redisEnvironment,
} from '../../../../../infra/cluster/environment.ts';
import { RIGHTS } from '../../../../../infra/kafka/acls.ts';
import { settleKafka } from '../../../../../infra/kafka/settle.ts';
import { setPasswords } from '../../../../../infra/kafka/users.ts';
import { ALL_TOPICS } from '../../../../../infra/kafka/topics.ts';
import { clusterAddresses } from '../../../../../infra/local/cluster/layout.ts';
import { TREASURY_LEDGER, type Topic } from '../../../../../schemas/topics.ts';
import { openKafka } from '../../../../../services/runtime/kafka/client.ts';
import { readLogEnds } from '../../../../../services/runtime/kafka/ends.ts';
import { ensureTopics } from '../../../../../services/runtime/kafka/topics.ts';
import { messageOf } from '../../../../../services/runtime/process/errors.ts';
import { readConfig, REDIS_SETTINGS } from '../../../../../services/runtime/process/config.ts';
import { KAFKA_SETTINGS } from '../../../../../services/runtime/process/kafka-settings.ts';
import { guardWriters } from '../../../../../services/projector/tables/readers.ts';
import { openWriter } from '../../../../../services/runtime/postgres/pool.ts';
import { connect as connectRedis } from '../../../../../services/runtime/redis.ts';
import { ADMINISTRATOR } from '../../../../../infra/cluster/kafka.ts';
import {
  REGISTRY_READER,
  REGISTRY_WRITER,
  secretFolders,
} from '../../../../../infra/cluster/principals.ts';
import { clusterServerNames, postgresAccess } from '../../../../../infra/local/cluster/servers.ts';
import { settleCluster } from '../../../../../infra/local/cluster/settle.ts';
import { registry_path } from '../../../../../infra/local/servers/registry.ts';
import { postgresUrl } from '../../../../../infra/postgres/databases.ts';
import { startCluster, type Cluster } from '../../../../support/cluster.ts';
import { rowsOf } from '../../../../support/database.ts';
import { silentLog } from '../../../../support/kafka.ts';
import { refusedOf, shownSerials, takenOf } from '../../../../support/knocks.ts';
import { HANG_MS } from '../../../../support/limits.ts';

let cluster: Cluster;
let authority: string;
beforeAll(async () => {
  cluster = await startCluster();
  authority = readFileSync(cluster.secrets.authority, 'utf8');
});
afterAll(async () => await cluster.stop());

type SocketOf = Parameters<kafkajs.ISocketFactory>[0];
type Security = Pick<KafkaConfig, 'ssl' | 'sasl'>;

function passwordOf(principal: string): string {
  return cluster.secrets.passwords.kafka[principal] ?? '';
}

/** TLS, and the account of a principal. */
function account(username: string, password = passwordOf(username)): Security {
  return {
    ssl: { ca: authority },
    sasl: { mechanism: 'scram-sha-512', username, password },
  };
}

function kafkaOf(security: Security): Kafka {
  return new Kafka({
    brokers: [`127.0.0.1:${cluster.ports[0].kafka}`],
    logLevel: logLevel.NOTHING,
    retry: { retries: 0 },
    connectionTimeout: HANG_MS,
    ...security,
  });
}

async function withAdmin<T>(security: Security, use: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafkaOf(security).admin();
  try {
    await admin.connect();
    return await use(admin);
  } finally {
    await admin.disconnect();
  }
}

test.each<[string, () => Security, RegExp]>([
  ['plain text', () => ({}), /closed|disconnected/i],
  ['an unknown authority', () => ({ ...account(ADMINISTRATOR), ssl: true }), /certificate/],
  ['no password', () => ({ ssl: { ca: authority } }), /closed|disconnected|authenticat/i],
  ['a wrong password', () => account(ADMINISTRATOR, 'wrong'), /invalid credentials/],
  ['an unknown name', () => account('nobody', 'wrong'), /invalid credentials/],
])('Kafka refuses a client with %s', async (_, security, reason) => {
  await expect(withAdmin(security(), (admin) => admin.listTopics())).rejects.toThrow(reason);
});

test('Kafka takes a password that was changed at once, and refuses the one before', async () => {
  const [before, changed] = [passwordOf('tron-watcher'), 'another password'];
  const list = (password: string): Promise<string[]> =>
    withAdmin(account('tron-watcher', password), (admin) => admin.listTopics());
  const kafka = kafkaOf(account(ADMINISTRATOR));
  await setPasswords(kafka, { 'tron-watcher': changed });
  await expect.poll(() => list(changed)).toContain('tron.transfers');
  await expect(list(before)).rejects.toThrow(/invalid credentials/);
  await setPasswords(kafka, { 'tron-watcher': before });
  await expect.poll(() => list(before)).toContain('tron.transfers');
  const refused = setPasswords(kafkaOf(account('treasury')), { 'tron-watcher': changed });
  await expect(refused).rejects.toThrow(/did not take the passwords of tron-watcher.*super\.users/);
});

test('the topics have three replicas of which two must have a record', async () => {
  await withAdmin(account(ADMINISTRATOR), async (admin) => {
    const topics = ALL_TOPICS.map(({ name }) => name);
    const found = await admin.fetchTopicMetadata({ topics });
    const replicas = found.topics.flatMap(({ partitions }) =>
      partitions.map((each) => each.replicas),
    );
    expect(new Set(replicas.map(({ length }) => length))).toEqual(new Set([3]));
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: topics.map((name) => ({
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name,
        configNames: ['min.insync.replicas', 'unclean.leader.election.enable'],
      })),
    });
    for (const { configEntries } of resources)
      expect(configEntries.map(({ configValue }) => configValue).toSorted()).toEqual([
        '2',
        'false',
      ]);
  });
});

test('settling tries again while a broker that is listed accepts no connection', async () => {
  const allowed = new Set<number>();
  const refused: number[] = [];
  const connection = {
    ...account(ADMINISTRATOR),
    // brokers are listed as 127.0.0.1
    brokers: [`localhost:${cluster.ports[0].kafka}`],
    socketFactory({ host, port, ssl, onConnect }: SocketOf): TLSSocket {
      if (host === 'localhost' || allowed.size === 0 || refused.length >= 3) allowed.add(port);
      if (allowed.has(port)) return connect({ ...ssl, host, port }, onConnect);
      refused.push(port);
      return connect({ ...ssl, host, port: 1 }, onConnect);
    },
  };
  // any broker may be the one that is asked to change something
  while (refused.length < 3) await settleKafka(connection, { prefix: '', replicas: 3 });
  expect(refused).toHaveLength(3);
});

function granted(principal: string, topic: Topic): kafkajs.AclEntry {
  return {
    principal: `User:${principal}`,
    host: '*',
    operation: kafkajs.AclOperationTypes.WRITE,
    permissionType: kafkajs.AclPermissionTypes.ALLOW,
    resourceType: kafkajs.AclResourceTypes.TOPIC,
    resourceName: topic.name,
    resourcePatternType: kafkajs.ResourcePatternTypes.LITERAL,
  };
}

test('settling takes from a service a right that it no longer needs, and from others nothing', async () => {
  const [former, foreign] = ['explorer-gateway', 'of-the-firm'].map((name) =>
    granted(name, TREASURY_LEDGER),
  );
  if (former === undefined || foreign === undefined) throw new Error('unreachable');
  const { principal, ...right } = former;
  await withAdmin(account(ADMINISTRATOR), async (admin) => {
    const holders = async (): Promise<readonly string[]> => {
      const { resources } = await admin.describeAcls(right);
      return resources.flatMap(({ acls }) => acls.map((held) => held.principal)).toSorted();
    };
    await admin.createAcls({ acl: [former, foreign] });
    const before = [principal, 'User:of-the-firm', 'User:ops', 'User:treasury'];
    await expect.poll(holders).toEqual(before);
    const brokers = [`127.0.0.1:${cluster.ports[0].kafka}`];
    await settleKafka({ ...account(ADMINISTRATOR), brokers }, { prefix: '', replicas: 3 });
    expect(await holders()).toEqual(before.slice(1));
  });
});

/** The requests of kafkajs' brokers that its clients hide. */
interface Broker {
  findGroupCoordinator(question: { readonly groupId: string }): Promise<unknown>;
  fetch(question: {
    readonly maxWaitTime: number;
    readonly topics: readonly {
      readonly topic: string;
      readonly partitions: readonly Record<'partition' | 'fetchOffset' | 'maxBytes', number>[];
    }[];
  }): Promise<unknown>;
}
interface Connections {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  findBroker(broker: { readonly nodeId: string }): Promise<Broker>;
}

async function withBroker(kafka: Kafka, use: (broker: Broker) => Promise<void>): Promise<void> {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  if (symbol === undefined) throw new Error('another version of kafkajs');
  const create: (options: object) => Connections = Reflect.get(kafka, symbol);
  const connections = create({ metadataMaxAge: 60_000 });
  try {
    await connections.connect();
    await connections.refreshMetadata();
    await use(await connections.findBroker({ nodeId: '1' }));
  } finally {
    await connections.disconnect();
  }
}

/** Whether Kafka refuses for want of rights; any other answer or error is a pass. */
async function isRefused(attempt: Promise<unknown>): Promise<boolean> {
  return await attempt.then(
    () => false,
    (error: unknown) => /not authorized/i.test(String(error)),
  );
}

test.each(RIGHTS)(
  '$principal sees, reads and appends to its topics alone, and uses its groups alone',
  async ({ principal, reads, describes, appends, groups }) => {
    const kafka = kafkaOf(account(principal));
    const seen = new Set([...reads, ...describes, ...appends]);
    const listed = await withAdmin(account(principal), (admin) => admin.listTopics());
    expect(listed.toSorted()).toEqual([...seen].map(({ name }) => name).toSorted());
    const producer = kafka.producer({ retry: { retries: 0 } });
    await producer.connect();
    await withBroker(kafka, async (broker) => {
      for (const topic of ALL_TOPICS) {
        const { name } = topic;
        const sent = producer.send({ topic: name, messages: [{ value: 'a test' }] });
        expect(await isRefused(sent), `append to ${name}`).toBe(!appends.includes(topic));
        const partitions = [{ partition: 0, fetchOffset: 0, maxBytes: 1_000 }];
        const read = broker.fetch({ maxWaitTime: 1, topics: [{ topic: name, partitions }] });
        expect(await isRefused(read), `read ${name}`).toBe(!reads.includes(topic));
      }
      for (const group of new Set(RIGHTS.flatMap((each) => each.groups))) {
        const joined = broker.findGroupCoordinator({ groupId: group });
        expect(await isRefused(joined), `group ${group}`).toBe(!groups.includes(group));
      }
    });
    await producer.disconnect();
  },
);

test('a service appends and reads with the settings of its account', async () => {
  const { passwords } = cluster.secrets;
  const at = clusterAddresses(cluster.ports, cluster.secrets);
  const settings = readConfig(logEnvironment('treasury', passwords, at), KAFKA_SETTINGS);
  const kafka = openKafka({ ...settings, kafka_rack: '2' }, 'test', silentLog());
  const { name: topic } = TREASURY_LEDGER;
  const [appender, fetcher] = [kafka.appender(), kafka.fetcher()];
  const entry = { key: 'a', value: Buffer.from('b'), headers: {}, timestamp: Date.now() };
  let offset = -1n;
  const append = async (): Promise<bigint> => {
    await appender.connect();
    return (offset = (await appender.append(topic, 0, [entry])).offset);
  };
  // a broker learns of the rights a moment after they were granted
  await expect.poll(append).toBeGreaterThanOrEqual(0n);
  const topic_id = await fetcher.topicId(topic);
  const position = { topic, topic_id, partition: 0, offset, bytes_max: 1_000, wait_ms: 1_000 };
  await expect
    .poll(async () => (await fetcher.fetch(position)).flatMap(({ records }) => records))
    .toMatchObject([{ value: entry.value }]);
  await Promise.all([appender.disconnect(), fetcher.disconnect()]);
});

function lacking(right: string): unknown {
  return expect.stringMatching(`lacks the right ${right}.*infra/kafka/commands.ts`);
}

test('a service that lacks a right says which, and who gives it', async () => {
  const { passwords } = cluster.secrets;
  const at = clusterAddresses(cluster.ports, cluster.secrets);
  const settings = readConfig(logEnvironment('chain-ingester', passwords, at), KAFKA_SETTINGS);
  const kafka = openKafka(settings, 'test', silentLog());
  const refused = (topic: Topic): Promise<unknown> =>
    ensureTopics(kafka, [topic]).then(() => 'allowed', messageOf);
  const other = { ...TREASURY_LEDGER, name: 'no.topic' };
  for (const topic of [TREASURY_LEDGER, other])
    expect(await refused(topic)).toEqual(
      lacking(`Create, or Describe where they exist, for the topics ${topic.name}`),
    );
  await expect(readLogEnds(kafka, TREASURY_LEDGER.name, 0)).rejects.toMatchObject({
    code: 'kafka',
    retry: true,
    message: lacking(`Describe for the topic ${TREASURY_LEDGER.name}`),
  });
});

test('a service may create no topic', async () => {
  await withAdmin(account('chain-ingester'), async (admin) => {
    await expect(admin.createTopics({ topics: [{ topic: 'mine' }] })).rejects.toMatchObject({
      errors: [{ type: 'TOPIC_AUTHORIZATION_FAILED' }],
    });
  });
});

async function ask(method: string, auth?: string): Promise<[number | undefined, string]> {
  const asked = request({
    host: '127.0.0.1',
    port: cluster.ports[0].registry,
    method,
    ca: authority,
    path: `${registry_path}/subjects${method === 'POST' ? '/a-test/versions' : ''}`,
    headers: { 'content-type': 'application/json' },
    ...(auth === undefined ? {} : { auth }),
  });
  asked.end(method === 'POST' ? JSON.stringify({ schema: '"string"' }) : undefined);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  asked.on('response', resolve).on('error', reject);
  const answer = await promise;
  return [answer.statusCode, await text(answer)];
}

test('the registry lets the reader only read, and nobody else in', async () => {
  const { registry_reader, registry_writer } = cluster.secrets.passwords;
  const reader = `${REGISTRY_READER}:${registry_reader}`;
  const writer = `${REGISTRY_WRITER}:${registry_writer}`;
  expect(await ask('GET')).toMatchObject([401, expect.stringContaining('no such user')]);
  expect(await ask('GET', `${REGISTRY_READER}:wrong`)).toMatchObject([401, expect.anything()]);
  expect(await ask('POST', reader)).toMatchObject([403, expect.stringContaining('may only read')]);
  expect(await ask('POST', writer)).toMatchObject([200, expect.stringContaining('"id"')]);
  expect(await ask('GET', reader)).toEqual([200, '["a-test"]']);
});

async function query(
  index: 0 | 1,
  sql: string,
  role: 'superuser' | 'writer' | 'reader' | 'analyst' = 'writer',
) {
  const access = postgresAccess(cluster.secrets);
  const host = `127.0.0.1:${cluster.ports[index].postgres}`;
  return await rowsOf(postgresUrl(access[role], host, 'clt', access.parameters), sql);
}

test('Postgres refuses plain text and wrong passwords', async () => {
  const { postgres: port } = cluster.ports[0];
  const { writer, parameters } = postgresAccess(cluster.secrets);
  const host = `127.0.0.1:${port}`;
  await expect(rowsOf(postgresUrl(writer, host, 'clt'), 'SELECT 1')).rejects.toThrow(
    'no encryption',
  );
  const wrong = { ...writer, password: 'clt_writer' };
  await expect(rowsOf(postgresUrl(wrong, host, 'clt', parameters), 'SELECT 1')).rejects.toThrow(
    'password authentication failed',
  );
});

test('an analyst takes no lock of a writer, and the guard ends an old transaction on the replica too', async () => {
  for (const index of [0, 1] as const)
    await expect(query(index, 'SELECT pg_advisory_lock(1)', 'analyst')).rejects.toThrow(
      'permission denied for function pg_advisory_lock',
    );
  const { analyst, parameters } = postgresAccess(cluster.secrets);
  const replica = `127.0.0.1:${cluster.ports[1].postgres}`;
  const client = new Client({ connectionString: postgresUrl(analyst, replica, 'clt', parameters) });
  const ended = new Promise((resolve) => void client.on('error', resolve));
  await client.connect();
  await client.query('SET transaction_timeout = 0; BEGIN; SELECT FROM pg_class');
  const at = clusterAddresses(cluster.ports, cluster.secrets);
  const { APP_POSTGRES_URL: postgres_url } = postgresEnvironment(cluster.secrets.passwords, at);
  onTestFinished(guardWriters({ postgres_url, log: silentLog(), transaction_max: '0s' }));
  expect(await ended).toMatchObject({ code: '57P01' });
});

test('the replica follows, is promoted, and the earlier primary follows it then', async () => {
  const at = clusterAddresses(cluster.ports, cluster.secrets);
  const { APP_POSTGRES_URL: postgres_url } = postgresEnvironment(cluster.secrets.passwords, at);
  const settings = { postgres_url, application_name: 'test', schema: 'public' };
  const pool = openWriter(settings, silentLog());
  const write = async (sql: string): Promise<boolean> =>
    await pool.query(sql).then(
      () => true,
      () => false,
    );
  expect(await write('CREATE TABLE public.kept AS SELECT 1 AS a')).toBe(true);
  await expect.poll(() => query(1, 'SELECT a FROM kept', 'reader')).toEqual([{ a: 1 }]);
  await expect(query(1, 'INSERT INTO kept VALUES (2)')).rejects.toThrow('read-only transaction');

  await cluster.server('postgres-1').kill();
  await query(1, 'SELECT pg_promote()', 'superuser');
  await expect.poll(() => write('INSERT INTO kept VALUES (2)')).toBe(true);
  await query(1, 'CHECKPOINT', 'superuser');
  await cluster.server('postgres-1').start();
  expect(await write('INSERT INTO kept VALUES (3)')).toBe(true);
  await expect
    .poll(() => query(0, 'SELECT a FROM kept', 'reader'))
    .toEqual([{ a: 1 }, { a: 2 }, { a: 3 }]);
  await expect(query(0, 'INSERT INTO kept VALUES (4)')).rejects.toThrow('read-only transaction');
  await pool.end();
});

test('a replica that the primary has no log for is copied anew at its start', async () => {
  const replica = cluster.server('postgres-1');
  await replica.stop();
  await query(1, `SELECT pg_drop_replication_slot('postgres_1')`, 'superuser');
  await query(1, 'CREATE TABLE missed AS SELECT 1 AS a');
  await replica.start();
  await expect.poll(() => query(0, 'SELECT a FROM missed', 'reader')).toEqual([{ a: 1 }]);
  expect(
    await query(1, 'SELECT slot_name, active FROM pg_replication_slots', 'reader'),
  ).toContainEqual({ slot_name: 'postgres_1', active: true });
});

test('Redis refuses plain text and wrong passwords, and a sentinel promotes the replica', async () => {
  const { redis: password } = cluster.secrets.passwords;
  const tls = { ca: authority };
  const at = clusterAddresses(cluster.ports, cluster.secrets);
  const direct = { host: '127.0.0.1', port: cluster.ports[0].redis, retryStrategy: () => null };
  for (const [options, reason] of [
    [{ password }, /closed|ECONNRESET/i],
    [{ tls, password: 'wrong' }, /WRONGPASS/],
  ] as const) {
    const redis = new Redis({ ...direct, ...options, lazyConnect: true });
    const seen: string[] = [];
    redis.on('error', (error) => void seen.push(error.message));
    const outcome = await redis.connect().catch((error: unknown) => String(error));
    expect([...seen, outcome].join(', ')).toMatch(reason);
    redis.disconnect();
  }
  const settings = readConfig(redisEnvironment(cluster.secrets.passwords, at), REDIS_SETTINGS);
  const redis = connectRedis(settings, 'test', silentLog(), false);
  const info = async (): Promise<string> => await redis.info('replication');
  await expect.poll(info).toMatch(/role:master[^]*connected_slaves:1/);
  await cluster.server('redis-1').kill();
  await expect.poll(info).toMatch(/role:master[^]*connected_slaves:0/);
  await cluster.server('redis-1').start();
  await expect.poll(info).toMatch(/role:master[^]*connected_slaves:1/);
  redis.disconnect();
});

async function settled(): Promise<string | undefined> {
  const said: string[] = [];
  await settleCluster(cluster.ports, cluster.secrets, (line) => void said.push(line));
  return said.at(-1);
}

async function restart(name: string): Promise<void> {
  const server = cluster.server(name);
  await server.stop();
  await server.start();
}

/** Equal servers are alike here, primary or not: by now the others of Postgres and Redis may be. */
const ONE_OF_EACH = ['kafka-2', 'postgres-1', 'redis-1', 'sentinel-1', 'registry-proxy'];

test('a server of each kind shows another certificate after its start where its own was removed, and no other does', async () => {
  const before = await shownSerials(cluster);
  const secured = clusterServerNames.filter((name) => name !== 'registry');
  expect([...before.keys()].toSorted()).toEqual(secured.toSorted());
  for (const name of ONE_OF_EACH) {
    const earlier = await shownSerials(cluster);
    rmSync(certificateFiles(secretFolders(cluster.folder.data).certificates, name).cert);
    await restart(name);
    const now = await shownSerials(cluster);
    const changed = secured.filter((each) => now.get(each) !== earlier.get(each));
    expect(changed).toEqual([name]);
    expect(now.get(name)).toMatch(/^[0-9A-F]+$/);
    expect(await settled()).toBe('all replicas are in sync');
  }
});

test('every password changes while the servers run: some take the one before until it is removed', async () => {
  const folder = secretFolders(cluster.folder.data).passwords;
  const before = cluster.secrets.passwords;
  const files = readdirSync(folder);
  for (const file of files) renameSync(join(folder, file), join(folder, `${file}.before`));
  await restart('registry-proxy');
  expect(await settled()).toBe('all replicas are in sync');
  expect(await refusedOf(cluster, cluster.secrets.passwords)).toEqual([]);
  const taken = await takenOf(cluster, before);
  expect(new Set(taken.map((by) => by.replace(/ [0-9].*|:.*/, '')))).toEqual(
    new Set(['Redis', 'registry-reader at the registry', 'registry-writer at the registry']),
  );
  for (const file of files) rmSync(join(folder, `${file}.before`));
  await restart('registry-proxy');
  expect(await settled()).toBe('all replicas are in sync');
  expect(await takenOf(cluster, before)).toEqual([]);
  // each keeps what it was given
  for (const name of ['postgres-1', 'redis-2', 'redis-1', 'sentinel-1', 'kafka-2'])
    await restart(name);
  expect(await settled()).toBe('all replicas are in sync');
  expect(await takenOf(cluster, before)).toEqual([]);
  expect(await refusedOf(cluster, cluster.secrets.passwords)).toEqual([]);
});
