/**
 * Gateways in the test process on real servers, with a projector of the deposits. Each world has
 * its own topics, tables and consumer group.
 */
import { randomUUID } from 'node:crypto';
import { expect, onTestFinished } from 'vitest';
import type { Addresses } from '../../../infra/services/services.ts';
import { deposits } from '../../../projections/deposits/deposits.ts';
import {
  isDepositAddressEvent,
  type DepositAddressEvent,
} from '../../../schemas/deposit.addresses/events.ts';
import { toHex } from '../../../schemas/address.ts';
import { DEPOSIT_ADDRESSES, TREASURY_LEDGER, type Topic } from '../../../schemas/topics.ts';
import { readDepositGatewayConfig } from '../../../services/deposit-gateway/config.ts';
import { serve } from '../../../services/deposit-gateway/service.ts';
import type { Codec } from '../../../services/runtime/kafka/codec.ts';
import type { Kafka } from '../../../services/runtime/kafka/port.ts';
import { ensureTopics } from '../../../services/runtime/kafka/topics.ts';
import { openLog } from '../../../services/runtime/process/log.ts';
import { Closing } from '../../../services/runtime/process/main.ts';
import { Metrics } from '../../../services/runtime/process/metrics.ts';
import { prepareDatabase } from '../../../services/projector/tables/migrations.ts';
import { openWriter } from '../../../services/runtime/postgres/pool.ts';
import { openNotificationPublisher } from '../../../services/runtime/redis.ts';
import { Runner } from '../../../services/projector/engine/runner.ts';
import { copiedDatabase, freshDatabase, type DatabaseUrls } from '../../support/database.ts';
import { XPUB } from '../../support/deposit-log.ts';
import type { FaultProxy } from '../../support/fault-proxy.ts';
import { appendAll, readAll, silentLog, testKafka } from '../../support/kafka.ts';
import { PATIENT_READS } from '../../support/stack.ts';
import { goodToken, SECRET } from '../../support/tokens.ts';
import { until } from '../../support/until.ts';
import { DEPOSITS, type Answered } from '../../support/openapi.ts';
import { sharedCodec } from '../../support/codec.ts';

export interface World {
  readonly stack: Addresses;
  readonly kafka: Kafka;
  readonly topic: Topic;
  /** a database with the tables, whose only writer is the projector */
  readonly reader_url: string;
  readonly writer_url: string;
  /** all of `deposit.addresses`, in order */
  events(): Promise<readonly DepositAddressEvent[]>;
  /** Appends events as another writer would. */
  append(...events: readonly DepositAddressEvent[]): Promise<void>;
  /** Projects until it is stopped, at the latest when the test has finished. */
  startProjector(settings?: { readonly redis_url?: string }): {
    readonly stop: () => Promise<void>;
  };
  /** `proxy`: all connections to Kafka go through it */
  startGateway(
    settings?: Readonly<Record<string, string>>,
    now?: () => number,
    proxy?: FaultProxy,
  ): Promise<Gateway>;
}

export interface Gateway {
  readonly url: string;
  /** of `/status` and `/metrics` */
  readonly ops_url: string;
  /** resolves when it serves; rejects with what keeps it from that */
  readonly serving: Promise<void>;
  readonly metrics: Metrics;
  /** all lines of the log, at its finest */
  readonly lines: readonly string[];
  ask(method: string, path: string, account: Buffer): Promise<Answered>;
  /** the address that a POST answers; throws what else it answers */
  open(account: Buffer): Promise<string>;
  counted(metric: string, outcome: string): Promise<number>;
  stop(): Promise<void>;
}

/** Prepared once; the worlds have copies. */
let original: Promise<DatabaseUrls> | undefined;

async function prepared(stack: Addresses): Promise<DatabaseUrls> {
  const prepare = async (): Promise<DatabaseUrls> => {
    const urls = await freshDatabase(stack);
    await prepareDatabase(urls.writer_url, deposits);
    return urls;
  };
  original ??= prepare().catch((error: unknown) => {
    original = undefined;
    throw error;
  });
  return await copiedDatabase(stack, await original);
}

export async function openWorld(stack: Addresses): Promise<World> {
  const name = randomUUID();
  const topic = { ...DEPOSIT_ADDRESSES, name: `test.addresses.${name}` };
  const ledger = { ...TREASURY_LEDGER, name: `test.ledger.${name}` };
  const projection = { ...deposits, topics: [topic.name, ledger.name] };
  // limits count in Redis, and outlive a test
  const client = `fd00:${randomUUID().slice(9, 18).replace('-', ':')}::1`;
  const kafka = testKafka(stack);
  await ensureTopics(kafka, [topic, ledger]);
  // the subjects of the declared topics have the same schemas, and so the same ids
  const codec: Codec = await sharedCodec(stack.registry_url, [DEPOSIT_ADDRESSES, TREASURY_LEDGER]);
  const { reader_url, writer_url } = await prepared(stack);

  const startProjector: World['startProjector'] = ({ redis_url = stack.redis_url } = {}) => {
    const stop = new AbortController();
    const metrics = new Metrics('test');
    const log = silentLog();
    const notifications = openNotificationPublisher({ redis_url }, 'test', log, metrics);
    const pool = openWriter(
      { postgres_url: writer_url, application_name: 'test', schema: projection.name },
      log,
    );
    const runner = new Runner({
      projection,
      kafka,
      codec,
      pool,
      notifications,
      metrics,
      log,
      signal: stop.signal,
      group_id: `test-${name}`,
    });
    const running = runner.run();
    const end = async (): Promise<void> => {
      stop.abort();
      await running;
      await notifications.close();
      if (!pool.ended) await pool.end();
    };
    onTestFinished(end);
    return { stop: end };
  };
  return {
    stack,
    kafka,
    topic,
    reader_url,
    writer_url,
    startProjector,
    startGateway: (settings = {}, now = Date.now, proxy) =>
      startGateway({ stack, topic, reader_url, settings, now, client, proxy }),
    append: (...events) =>
      appendAll(
        kafka,
        topic.name,
        events.map((event) => ({
          key: 'test',
          value: codec.encode(event),
          headers: {},
          timestamp: 0,
        })),
      ),
    events: async () => {
      const records = await readAll(kafka, topic.name);
      await codec.learn(records.map(({ value }) => value));
      return records
        .map(({ value, headers }) => codec.decode(value, headers))
        .filter(isDepositAddressEvent);
    },
  };
}

interface GatewayOptions extends Pick<World, 'stack' | 'topic' | 'reader_url'> {
  readonly settings: Readonly<Record<string, string>>;
  readonly now: () => number;
  /** the address of all requests */
  readonly client: string;
  readonly proxy: FaultProxy | undefined;
}

async function startGateway({
  stack,
  topic,
  reader_url,
  settings,
  now,
  client,
  proxy,
}: GatewayOptions): Promise<Gateway> {
  const lines: string[] = [];
  const log = openLog({
    service: 'deposit-gateway',
    level: 'trace',
    destination: { write: (line) => void lines.push(line) },
  });
  const through = proxy === undefined ? {} : { socket_factory: proxy.socketFactory };
  const settled = readDepositGatewayConfig({
    APP_NETWORK: 'testnet',
    APP_HTTP_PORT: '0',
    APP_OPS_PORT: '0',
    APP_KAFKA_BROKERS: stack.kafka_brokers,
    APP_REGISTRY_URL: stack.registry_url,
    APP_POSTGRES_READER_URL: reader_url,
    APP_REDIS_URL: stack.redis_url,
    APP_JWT_SECRET: SECRET,
    APP_DEPOSIT_XPUB: XPUB,
    ...PATIENT_READS,
    APP_RATE_PER_SECOND: '0',
    APP_TRUST_PROXY: '1',
    ...settings,
  });
  const config = { ...settled, ...through };
  const [stop, closing, metrics] = [new AbortController(), new Closing(), new Metrics('test')];
  const serving = serve({ config, log, metrics, signal: stop.signal, closing }, topic, now);
  serving.catch(() => undefined);
  const end = async (): Promise<void> => {
    stop.abort();
    await Promise.allSettled([serving]);
    await closing.close(() => undefined, expect.unreachable);
  };
  onTestFinished(end);
  await expect.poll(() => lines.join('')).toContain('"msg":"listening"');
  const url = /"url":"([^"]+)"/.exec(lines.join(''))?.[1] ?? '';
  const ops_url = /"ops_url":"([^"]+)"/.exec(lines.join(''))?.[1] ?? '';
  const ask: Gateway['ask'] = async (method, path, account) => {
    const token = goodToken({ pk: toHex(account), exp: Math.floor(now() / 1_000) + 60 }, SECRET);
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': client },
    });
    const answer = {
      status: response.status,
      text: await response.text(),
      headers: response.headers,
    };
    DEPOSITS.checkAnswer(method, path, answer);
    return answer;
  };
  return {
    url,
    ops_url,
    serving,
    metrics,
    lines,
    ask,
    open: async (account) => {
      let [status, text] = [0, ''];
      // on a busy machine an address may take longer than a request waits for it
      const isThere = async (): Promise<boolean> => {
        ({ status, text } = await ask('POST', '/api/v1/deposits', account));
        return status !== 503;
      };
      await until(isThere, 'the address of an account');
      if (status !== 200) throw new Error(`${status} ${text}`);
      const { address }: { readonly address: string } = JSON.parse(text);
      return address;
    },
    counted: async (metric, outcome) => {
      const { values } = (await metrics.registry.getSingleMetric(metric)?.get()) ?? { values: [] };
      return values.find(({ labels }) => labels['outcome'] === outcome)?.value ?? 0;
    },
    stop: end,
  };
}
