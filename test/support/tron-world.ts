/** A world of watched deposit addresses: a devnet, topics, a database, and `projector watch`. */
import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { Addresses } from '../../infra/services/services.ts';
import { watch } from '../../projections/watch/watch.ts';
import { DEPOSIT_ADDRESSES, TRON_TRANSFERS } from '../../schemas/topics.ts';
import type { DepositAddressEvent } from '../../schemas/deposit.addresses/events.ts';
import { isTransferEvent, type TransferEvent } from '../../schemas/tron.transfers/events.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import { ensureTopics } from '../../services/runtime/kafka/topics.ts';
import { KafkaWriter } from '../../services/runtime/kafka/writer.ts';
import { readLogRange } from '../../services/runtime/kafka/range.ts';
import { readLogEnds } from '../../services/runtime/kafka/ends.ts';
import type { LogRecord } from '../../services/runtime/kafka/record.ts';
import { Metrics } from '../../services/runtime/process/metrics.ts';
import { prepareDatabase } from '../../services/projector/tables/migrations.ts';
import { openReader, openWriter, type ReaderPool } from '../../services/runtime/postgres/pool.ts';
import { openNotificationPublisher } from '../../services/runtime/redis.ts';
import { Runner } from '../../services/projector/engine/runner.ts';
import { ReadModel } from '../../services/tron-watcher/read-model.ts';
import { freshDatabase } from './database.ts';
import { accountAt, depositKey, XPUB } from './deposit-log.ts';
import { openDevnet, type TestDevnet } from './devnet.ts';
import { never, silentLog, testKafka, type TestKafka } from './kafka.ts';
import { TestTron } from './tron.ts';
import { until } from './until.ts';
import { openCodec } from './codec.ts';
import { HANG_MS } from './limits.ts';

const TOPICS = [DEPOSIT_ADDRESSES, TRON_TRANSFERS];
const DAY_MS = 86_400_000;

export class TronWorld {
  readonly kafka: TestKafka;
  readonly codec: Codec;
  readonly writer: KafkaWriter;
  readonly devnet: TestDevnet;
  readonly tron: TestTron;
  readonly reader: ReaderPool;
  readonly model: ReadModel;
  readonly postgres_reader_url: string;
  #requested = 0;

  constructor(
    parts: Pick<
      TronWorld,
      'kafka' | 'codec' | 'writer' | 'devnet' | 'reader' | 'postgres_reader_url'
    >,
  ) {
    this.kafka = parts.kafka;
    this.codec = parts.codec;
    this.writer = parts.writer;
    this.devnet = parts.devnet;
    this.tron = new TestTron(parts.devnet);
    this.reader = parts.reader;
    this.model = new ReadModel(parts.reader);
    this.postgres_reader_url = parts.postgres_reader_url;
  }

  /**
   * Requests this many further addresses; resolves when the read model has them. Requested two days
   * ago, they are hot only until their first check.
   */
  async request(count: number, requestedAt = Date.now() - 2 * DAY_MS): Promise<readonly Buffer[]> {
    const first = this.#requested;
    this.#requested += count;
    const indexes = Array.from({ length: count }, (_, at) => first + at);
    const pin = {
      type: 'SchemePinned',
      scheme: 'hd',
      extended_public_key: XPUB,
      pinned_at: requestedAt,
    } as const;
    const events: DepositAddressEvent[] = indexes.map((index) => ({
      type: 'AddressRequested',
      clt_address: accountAt(index),
      requested_at: requestedAt,
    }));
    if (first === 0) events.unshift(pin);
    await this.#say(events);
    const addresses = indexes.map((index) => depositKey().addressAt(index));
    await until(
      async () => (await this.model.watched(addresses)).size,
      'the read model to have the addresses',
      (seen) => seen === count,
    );
    return addresses;
  }

  /** Somebody looks at the panel of these addresses: they are hot. */
  async openPanels(indexes: readonly number[], at = Date.now()): Promise<void> {
    await this.#say(
      indexes.map((index) => ({
        type: 'PanelOpened',
        clt_address: accountAt(index),
        opened_at: at,
      })),
    );
    const isHot = async (): Promise<boolean> => {
      const hot = await this.model.hot([0, 1, 2, 3, 4, 5], 10_000, at);
      return indexes.every((index) => hot.some((entry) => entry.derivation_index === index));
    };
    await until(isHot, 'the read model to show the panels');
  }

  async #say(events: readonly DepositAddressEvent[]): Promise<void> {
    const entries = events.map((event) => ({
      key: event.type === 'SchemePinned' ? 'scheme' : `0x${event.clt_address.toString('hex')}`,
      value: this.codec.encode(event),
      headers: { event_type: event.type },
      timestamp: Date.now(),
    }));
    await this.writer.append(DEPOSIT_ADDRESSES.name, 0, entries);
  }

  /** Everything that stands in `tron.transfers`, by partition. */
  async records(): Promise<readonly (readonly LogRecord[])[]> {
    const partitions: LogRecord[][] = [];
    for (let partition = 0; partition < TRON_TRANSFERS.partitions; partition++) {
      const records: LogRecord[] = [];
      const { high } = await readLogEnds(this.kafka, TRON_TRANSFERS.name, partition);
      await readLogRange(this.kafka, TRON_TRANSFERS.name, partition, 0n, high, (record) =>
        records.push(record),
      );
      partitions.push(records);
    }
    await this.codec.learn(partitions.flat().map(({ value }) => value));
    return partitions;
  }

  /** The same, decoded. */
  async events(): Promise<readonly (readonly TransferEvent[])[]> {
    return (await this.records()).map((records) =>
      records
        .map(({ value, headers }) => this.codec.decode(value, headers))
        .filter(isTransferEvent),
    );
  }
}

/** Opens a world with topics and a database of its own; closed when the test ends. */
export async function openTronWorld(
  stack: Addresses,
  env: Readonly<Record<string, string>> = {},
): Promise<TronWorld> {
  const kafka_prefix = `${randomUUID()}.`;
  const kafka = testKafka(stack, undefined, { kafka_prefix });
  await ensureTopics(kafka, TOPICS);
  const codec = await openCodec(stack.registry_url, TOPICS);
  const urls = await freshDatabase(stack);
  await prepareDatabase(urls.writer_url, watch, { indexed: true });
  const log = silentLog();
  const stopping = new AbortController();
  const metrics = new Metrics('test');
  const pool = openWriter(
    { postgres_url: urls.writer_url, application_name: 'test', schema: watch.name },
    log,
  );
  const notifications = openNotificationPublisher(
    { redis_url: stack.redis_url },
    'test',
    log,
    metrics,
  );
  const options = {
    projection: watch,
    kafka,
    codec,
    pool,
    notifications,
    metrics,
    log,
    signal: stopping.signal,
    kafka_session_ms: 2_000,
  };
  const running = new Runner(options).run();
  const settings = {
    postgres_reader_url: urls.reader_url,
    statement_timeout_ms: HANG_MS,
    connections_max: 2,
  };
  const reader = openReader(settings, 'test', log);
  const writer = new KafkaWriter(kafka, { log, signal: never });
  const devnet = await openDevnet(env);
  onTestFinished(async () => {
    stopping.abort();
    await running;
    await Promise.all([notifications.close(), pool.end(), reader.close(), writer.close()]);
  });
  return new TronWorld({
    kafka,
    codec,
    writer,
    devnet,
    reader,
    postgres_reader_url: urls.reader_url,
  });
}
