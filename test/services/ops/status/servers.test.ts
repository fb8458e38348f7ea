import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server as PlainServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createSecureServer } from 'node:tls';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import {
  authorityFile,
  certificateFiles,
  makeCertificates,
} from '../../../../infra/cluster/certificates.ts';
import { whyAway } from '../../../../services/ops/status/away.ts';
import { localParts } from '../../../../services/ops/status/services.ts';
import {
  brokerRows,
  primariesOf,
  reachBrokers,
  readHosts,
  serversTable,
  unansweredLines,
} from '../../../../services/ops/status/servers.ts';
import { kafkaFault, type KafkaSettings } from '../../../../services/runtime/kafka/port.ts';
import { Hosts } from '../../../../services/runtime/postgres/hosts.ts';
import { HANG_MS } from '../../../support/limits.ts';
import { fakePostgres } from '../../runtime/postgres/fake-postgres.ts';

const HOST = '127.0.0.1';
const DAY_MS = 86_400_000;
const NO_PARTS: ReadonlyMap<string, string> = new Map();
/** A server that does not answer at all is given up after it. */
const SILENT_MS = 300;

interface Secured {
  /** the authority, PEM and the path of its file */
  readonly ca: string;
  readonly ca_file: string;
  readonly server: { readonly cert: string; readonly key: string };
}
async function made(daysAgo: number): Promise<Secured> {
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-away-'));
  await makeCertificates(folder, ['server'], () => [HOST], new Date(Date.now() - daysAgo * DAY_MS));
  const { cert, key } = certificateFiles(folder, 'server');
  const ca_file = authorityFile(folder);
  const server = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  return { ca: readFileSync(ca_file, 'utf8'), ca_file, server };
}

/** Certificates of a year; those of `old` have ended. */
let young: Secured;
let old: Secured;
beforeAll(async () => {
  [young, old] = [await made(0), await made(366)];
});

/** host:port */
async function listen(server: PlainServer): Promise<string> {
  server.listen(0, HOST);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `${HOST}:${Object(server.address()).port}`;
}

async function closedPort(): Promise<string> {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const address = `${HOST}:${Object(server.address()).port}`;
  server.close();
  await once(server, 'close');
  return address;
}

test('each host of Postgres is named with its state, and those that may be written to once', async () => {
  const [one, other, gone] = [await fakePostgres(), await fakePostgres(), await fakePostgres()];
  const names = [one, other, gone].map(({ name }) => name).join();
  const hosts = new Hosts(`postgres://somebody:password@${names}/clt`);
  one.timeline = '00000001';
  gone.isAway = true;
  expect(await readHosts(hosts, HANG_MS, NO_PARTS)).toMatchObject([
    { name: one.name, state: 'primary', timeline: '00000001', slots: [], why: null },
    { name: other.name, state: 'replica', timeline: null, why: null },
    { name: gone.name, state: 'away', started_at: null, why: expect.stringMatching(/its log$/) },
  ]);
  other.timeline = '00000002';
  other.slots = 'a t reserved 96,b f lost';
  const servers = await readHosts(hosts, HANG_MS, NO_PARTS);
  expect(primariesOf(servers).map(({ name }) => name)).toEqual([one.name, other.name]);
  expect(servers[1]?.slots).toEqual([
    { name: 'a', is_active: true, is_lost: false, bytes: 96 },
    { name: 'b', is_active: false, is_lost: true, bytes: 0 },
  ]);
});

const PART = 'a-part';

/** Why the only host of Postgres is away; `settings` follow its address. */
async function whyPostgres(address: string, settings = '', answer_ms = HANG_MS) {
  const hosts = new Hosts(`postgres://somebody:password@${address}/clt${settings}`);
  const [server] = await readHosts(hosts, answer_ms, new Map([[address, PART]]));
  return server?.why;
}

/** Postgres that answers a request for TLS with `S` and the handshake. */
function securedPostgres(tls: Secured['server']): PlainServer {
  const secured = createSecureServer(tls).on('tlsClientError', () => undefined);
  return createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write('S');
      secured.emit('connection', socket);
    });
  });
}

test('a host of Postgres that is away says why, and the first command to use', async () => {
  expect(await whyPostgres(await closedPort())).toBe(
    `stopped or crashed, nothing listens: npx ops start ${PART}`,
  );
  const silent = await listen(createServer(() => undefined));
  expect(await whyPostgres(silent, '', SILENT_MS)).toBe(
    `frozen or overloaded, or its machine is away, no answer in 0.3 s: npx ops restart ${PART}`,
  );
  const expired = await listen(securedPostgres(old.server));
  const trusting = `?sslmode=verify-ca&sslrootcert=${old.ca_file}`;
  expect(await whyPostgres(expired, trusting)).toBe(
    `its certificate has expired: npx ops restart ${PART} renews it`,
  );
  const strange = await listen(securedPostgres(young.server));
  expect(await whyPostgres(strange, trusting)).toMatch(
    /^its certificate is not trusted \([A-Z_]+\): sslrootcert of APP_POSTGRES_READER_URL has to name/,
  );
  const refusal = Buffer.from('SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0');
  const head = Buffer.from([0x45, 0, 0, 0, refusal.length + 4]);
  const refusing = createServer((socket) => {
    socket.once('data', () => socket.end(Buffer.concat([head, refusal])));
  });
  expect(await whyPostgres(await listen(refusing))).toMatch(
    /^refuses the account of ops \(password authentication failed\): the user of APP_POSTGRES_READER_URL/,
  );
});

function securedBroker(tls: Secured['server']): PlainServer {
  return createSecureServer(tls).on('tlsClientError', () => undefined);
}

test('a broker that is away says why, and the first command to use', async () => {
  const [dead, silent] = [await closedPort(), await listen(createServer(() => undefined))];
  const whyBroker = async (address: string, settings: Partial<KafkaSettings>, ms: number) => {
    const given = { ...settings, kafka_brokers: [address] };
    return (await reachBrokers(given, ms, new Map([[address, PART]]))).get(address);
  };
  expect(await whyBroker(dead, {}, HANG_MS)).toBe(
    `stopped or crashed, nothing listens: npx ops start ${PART}`,
  );
  expect(await whyBroker(silent, {}, SILENT_MS)).toContain(`0.3 s: npx ops restart ${PART}`);
  expect(await whyBroker(silent, { kafka_connect_ms: 1, kafka_tls: 'on' }, HANG_MS)).toContain(
    `: npx ops restart ${PART}`,
  );
  const expired = await listen(securedBroker(old.server));
  expect(await whyBroker(expired, { kafka_tls_ca: old.ca }, HANG_MS)).toBe(
    `its certificate has expired: npx ops restart ${PART} renews it`,
  );
  const strange = await listen(securedBroker(young.server));
  expect(await whyBroker(strange, { kafka_tls_ca: old.ca }, HANG_MS)).toMatch(
    /^its certificate is not trusted \([A-Z_]+\): APP_KAFKA_TLS_CA has to name/,
  );
});

/** A broker that says what it can do, and answers no question about its cluster. */
function plainBroker(): PlainServer {
  return createServer((socket) => {
    socket.on('data', (request: Buffer) => {
      const [key, version] = [request.readInt16BE(4), request.readInt16BE(6)];
      if (key !== 18) return;
      // version 0: no error, and one request that it knows; else: version not supported
      const body = version === 0 ? '0000 00000001 0003 0000 0008' : '0023 00000000';
      const answer = Buffer.from(`00000000 ${body}`.replaceAll(' ', ''), 'hex');
      request.copy(answer, 0, 8, 12);
      const size = Buffer.alloc(4);
      size.writeInt32BE(answer.length);
      socket.write(Buffer.concat([size, answer]));
    });
  });
}

test('a broker that takes a connection is not away, whatever becomes of the others', async () => {
  const [sound, dead] = [await listen(plainBroker()), await closedPort()];
  const away = await reachBrokers({ kafka_brokers: [sound, dead] }, HANG_MS, NO_PARTS);
  expect([...away.keys()]).toEqual([dead]);
});

test('a refusal of the account is told from an expired certificate, however deep it is wrapped', () => {
  const refused = 'SASL SCRAM-SHA-512 authentication failed: invalid credentials';
  const wrapped = new Error('retries exceeded', { cause: new Error(refused) });
  const expired = Object.assign(new Error('certificate has expired'), { code: 'CERT_HAS_EXPIRED' });
  expect(whyAway(kafkaFault('no answer', new Error(refused))).why).toBe('account');
  expect(whyAway(wrapped).why).toBe('account');
  expect(whyAway(new AggregateError([new Error('one'), expired])).why).toBe('expired');
  expect(whyAway('a text')).toEqual({ why: 'other', cause: 'a text' });
});

const WHY = 'stopped or crashed';

function shown(...given: Parameters<typeof brokerRows>): readonly string[] {
  return brokerRows(...given).map(({ name, state, why }) => `${name}, ${state}, ${why}`);
}

test('brokers have a row each, with the reason of the address that does not answer', () => {
  const brokers = new Map([
    [2, undefined],
    [1, 'one:9092'],
  ]);
  expect(shown(brokers, null)).toEqual([
    'broker 1 at one:9092, broker, null',
    'broker 2, away, null',
  ]);
  expect(shown(brokers, new Map([['two:9092', WHY]]))).toEqual([
    'broker 1 at one:9092, broker, null',
    `broker 2 at two:9092, away, ${WHY}`,
  ]);
  // frozen a moment ago: the cluster has it still
  expect(shown(new Map([[1, 'one:9092']]), new Map([['one:9092', WHY]]))).toEqual([
    `broker 1 at one:9092, away, ${WHY}`,
  ]);
  const two = new Map([
    ['two:9092', WHY],
    ['three:9092', WHY],
  ]);
  expect(shown(brokers, two)).toEqual([
    'broker 1 at one:9092, broker, null',
    'broker 2, away, null',
    `two:9092, away, ${WHY}`,
    `three:9092, away, ${WHY}`,
  ]);
  expect(shown(null, two)).toEqual([`two:9092, away, ${WHY}`, `three:9092, away, ${WHY}`]);
});

test('a server that is away has its reason in its row', async () => {
  const [broker] = brokerRows(new Map([[1, 'one:9092']]), new Map([['one:9092', WHY]]));
  const postgres = { ...broker, kind: 'postgres' as const, name: 'p:1', state: 'replica' as const };
  const recent = Object.assign({}, broker, postgres, { why: null, started_at: 960 });
  const rows = broker === undefined ? [] : [broker, recent];
  expect(
    serversTable(rows, 1_000)
      .split('\n')
      .map((line) => line.trimEnd()),
  ).toEqual([
    expect.stringMatching(/^SERVER/),
    expect.stringMatching(/^kafka +broker 1 at one:9092 +away +stopped or crashed$/),
    expect.stringMatching(/^postgres +p:1 +replica +started 40 s ago$/),
  ]);
});

const ASKED = { Kafka: { kind: 'kafka', count: 1 } } as const;

test('the line of a server that did not answer has the reasons of its brokers', () => {
  const late = [{ of: 'Kafka', text: 'Kafka did not answer within 8 s', is_silent: true }];
  const away = new Map([['one:9092', WHY]]);
  expect(unansweredLines(late, brokerRows(null, away), ASKED)).toEqual([
    `Kafka does not answer: one:9092: ${WHY}`,
  ]);
  const one_of_two = { Kafka: { kind: 'kafka', count: 2 } } as const;
  for (const [servers, asked] of [
    [[], ASKED],
    [brokerRows(null, away), one_of_two],
    [brokerRows(new Map([[2, 'two:9092']]), away), one_of_two],
  ] as const)
    expect(unansweredLines(late, servers, asked)).toEqual(['Kafka did not answer within 8 s']);
  const refused = [{ of: 'Kafka', text: 'it lacks the right Describe', is_silent: false }];
  expect(unansweredLines(refused, brokerRows(null, away), ASKED)).toEqual([
    'it lacks the right Describe',
  ]);
});

test('parts of a stack are found by their ports, plain or a cluster', () => {
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-parts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const partsOf = (ports: unknown): ReadonlyMap<string, string> => {
    const file = join(folder, 'stack.json');
    writeFileSync(file, JSON.stringify({ ports }));
    return localParts(file);
  };
  const plain = partsOf({ kafka: 1, postgres: 2, node: 3 });
  expect([plain.get(`${HOST}:2`), plain.get(`${HOST}:3`)]).toEqual(['postgres', 'devnet']);
  const cluster = partsOf([
    { kafka: 1, postgres: 2 },
    { kafka: 3, postgres: 4 },
  ]);
  expect([cluster.get(`${HOST}:3`), cluster.get(`${HOST}:2`)]).toEqual(['kafka-2', 'postgres-1']);
});
