/** For tests of the log: a silent logger, fresh topics, and a topic read back whole. */
import { randomUUID } from 'node:crypto';
import { openKafka } from '../../services/runtime/kafka/client.ts';
import type { KafkaSettings } from '../../services/runtime/kafka/port.ts';
import { ensureTopics } from '../../services/runtime/kafka/topics.ts';
import type { LogEntry } from '../../services/runtime/kafka/record.ts';
import { KafkaWriter } from '../../services/runtime/kafka/writer.ts';
import { readLogRange } from '../../services/runtime/kafka/range.ts';
import { readLogEnds } from '../../services/runtime/kafka/ends.ts';
import type { LogRecord } from '../../services/runtime/kafka/record.ts';
import { openLog, type Logger } from '../../services/runtime/process/log.ts';
import { retrying } from '../../services/runtime/process/retry.ts';
import { CHAIN_BLOCKS, type Topic } from '../../schemas/topics.ts';
import kafkajs from 'kafkajs';
import type { Kafka } from '../../services/runtime/kafka/port.ts';
import type { FaultProxy } from './fault-proxy.ts';
import { openPlatformatic } from './platformatic/client.ts';

export const never = new AbortController().signal;

export function silentLog(): Logger {
  return openLog({ service: 'test', level: 'silent' });
}

/** A client with kafkajs itself, for requests that no service makes. */
export interface TestKafka extends Kafka {
  readonly raw: kafkajs.Kafka;
}

/** The clients behind the port; the first one is that of the services. */
export const CLIENTS = ['kafkajs', 'platformatic'] as const;

export type Client = (typeof CLIENTS)[number];

/** Tests that name no client run with this one. */
const DEFAULT_CLIENT: Client =
  process.env['TEST_KAFKA_CLIENT'] === 'platformatic' ? 'platformatic' : 'kafkajs';

/** A client of a stack's brokers; through a fault proxy when one is given. */
export function testKafka(
  stack: { readonly kafka_brokers: string },
  proxy?: FaultProxy,
  change: Partial<KafkaSettings> = {},
  client = DEFAULT_CLIENT,
): TestKafka {
  const settings = { kafka_brokers: stack.kafka_brokers.split(','), ...change };
  const through = proxy === undefined ? {} : { socket_factory: proxy.socketFactory };
  const kafka =
    client === 'platformatic'
      ? openPlatformatic(settings, proxy?.port)
      : openKafka({ ...settings, ...through }, 'test', silentLog());
  const raw = new kafkajs.Kafka({
    clientId: 'test',
    brokers: [...settings.kafka_brokers],
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 5 },
    logLevel: kafkajs.logLevel.NOTHING,
    ...(proxy === undefined ? {} : { socketFactory: proxy.socketFactory }),
  });
  return { ...kafka, raw };
}

/** Runs with an admin client of kafkajs. */
export async function withRawAdmin<Result>(
  { raw }: TestKafka,
  use: (admin: kafkajs.Admin) => Promise<Result>,
): Promise<Result> {
  const admin = raw.admin();
  await admin.connect();
  try {
    return await use(admin);
  } finally {
    await admin.disconnect();
  }
}

/** A declaration like that of chain.blocks under a name that nobody else uses. */
export function ownTopic(change: Partial<Topic> = {}): Topic {
  return { ...CHAIN_BLOCKS, name: `test.${randomUUID()}`, ...change };
}

/** Creates a topic that nobody else uses. */
export async function freshTopic(kafka: Kafka, change: Partial<Topic> = {}): Promise<string> {
  const topic = ownTopic(change);
  await ensureTopics(kafka, [topic]);
  return topic.name;
}

/** Everything that stands in partition 0. */
export async function readAll(kafka: Kafka, topic: string): Promise<readonly LogRecord[]> {
  const { low, high } = await readLogEnds(kafka, topic, 0);
  const records: LogRecord[] = [];
  await readLogRange(kafka, topic, 0, low, high, (record) => records.push(record));
  return records;
}

/** Entries numbered from `from`: the value says which it is, and so does the header `event_id`. */
export function numbered(from: number, count: number): LogEntry[] {
  return Array.from({ length: count }, (_, at) => {
    const id = String(from + at);
    return {
      key: id,
      value: Buffer.from(id),
      headers: { event_id: id, event_type: 'Numbered' },
      timestamp: 1_700_000_000_000 + from + at,
    };
  });
}

/** `retrying` as the reader wants it: at once and without end. */
export function insisting<Result>(what: string, attempt: () => Promise<Result>): Promise<Result> {
  return retrying(
    { what, log: silentLog(), signal: never, retry_ms_min: 20, retry_ms_max: 200 },
    attempt,
  );
}

/** Deletes the head of partition 0, as a wrong retention would. */
export async function deleteRecordsBefore(
  kafka: TestKafka,
  topic: string,
  offset: number,
): Promise<void> {
  await withRawAdmin(kafka, async (admin) => {
    // the client knows a topic only after it has looked at it
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({
      topic,
      partitions: [{ partition: 0, offset: String(offset) }],
    });
  });
}

/** Deletes a topic and creates it again under the same name, empty. */
export async function recreateTopic(
  kafka: TestKafka,
  topic: string,
  config: Topic['config'] = {},
): Promise<void> {
  await withRawAdmin(kafka, async (admin) => {
    await admin.deleteTopics({ topics: [topic] });
    const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
    const topics = [{ topic, numPartitions: 1, configEntries }];
    // false while the deletion is still under way
    while (!(await admin.createTopics({ waitForLeaders: false, topics })));
  });
  await ensureTopics(kafka, [ownTopic({ name: topic, config })]);
}

/** Replaces a topic by a new one of that name with other records. */
export async function rewriteTopic(
  kafka: TestKafka,
  topic: string,
  rewrite: (records: readonly LogRecord[]) => readonly LogRecord[],
  config?: Topic['config'],
): Promise<void> {
  const records = rewrite(await readAll(kafka, topic));
  await recreateTopic(kafka, topic, config);
  const entries = records.map(({ key, value, headers, timestamp }) => ({
    key: String(key),
    value: value ?? Buffer.alloc(0),
    headers,
    timestamp,
  }));
  await appendAll(kafka, topic, entries);
}

/** Appends through a writer of its own. */
export async function appendAll(
  kafka: Kafka,
  topic: string,
  entries: readonly LogEntry[],
  partition = 0,
): Promise<void> {
  const writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
  await writer.append(topic, partition, entries);
  await writer.close();
}

/** A topic that nobody else uses, of so many numbered records in partition 0. */
export async function topicOf(kafka: Kafka, records: number): Promise<string> {
  const topic = await freshTopic(kafka);
  if (records > 0) await appendAll(kafka, topic, numbered(0, records));
  return topic;
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, at) => from + at);
}
