import { expect, inject, test } from 'vitest';
import { ensureTopics, watchTopics } from '../../../../../services/runtime/kafka/topics.ts';
import { withAdmin } from '../../../../../services/runtime/kafka/client.ts';
import type { Kafka } from '../../../../../services/runtime/kafka/port.ts';
import type { Topic } from '../../../../../schemas/topics.ts';
import { Metrics } from '../../../../../services/runtime/process/metrics.ts';
import { FaultProxy } from '../../../../support/fault-proxy.ts';
import {
  appendAll,
  deleteRecordsBefore,
  insisting,
  numbered,
  ownTopic,
  silentLog,
  testKafka,
  withRawAdmin,
} from '../../../../support/kafka.ts';

const stack = inject('stack');
const kafka = testKafka(stack);

async function settingsOf(topic: Topic): Promise<{
  readonly partitions: number | undefined;
  readonly config: Readonly<Record<string, string>>;
}> {
  return await withAdmin(kafka, async (admin) => {
    const { partitions, config } = await admin.describeTopic(topic.name, Object.keys(topic.config));
    return { partitions: partitions.length, config: Object.fromEntries(config) };
  });
}

test('a missing topic is created as declared, and keeps everything for ever', async () => {
  const topic = ownTopic({ partitions: 3 });
  await ensureTopics(kafka, [topic]);
  const { partitions, config } = await settingsOf(topic);
  expect(partitions).toBe(3);
  expect(config).toMatchObject({
    ...topic.config,
    'retention.ms': '-1',
    'retention.bytes': '-1',
    'cleanup.policy': 'delete',
    'max.message.bytes': String(32 * 1024 * 1024),
  });
  await ensureTopics(kafka, [topic]);
});

test('a topic with other partitions or settings is refused with a remedy and left unchanged', async () => {
  const topic = ownTopic();
  await ensureTopics(kafka, [topic]);
  const before = await settingsOf(topic);
  await expect(ensureTopics(kafka, [{ ...topic, partitions: 2 }])).rejects.toMatchObject({
    code: 'topic_settings',
    retry: false,
    message: `topic ${topic.name} has 1 partitions instead of 2, so its order would be another; point APP_KAFKA_BROKERS to the right cluster, or delete the topic if nothing in it is needed`,
  });
  await expect(
    ensureTopics(kafka, [{ ...topic, config: { ...topic.config, 'retention.ms': '1000' } }]),
  ).rejects.toMatchObject({
    code: 'topic_settings',
    retry: false,
    message: `topic ${topic.name} has retention.ms=-1 instead of 1000; set it with kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type topics --entity-name ${topic.name} --add-config retention.ms=1000`,
  });
  expect(await settingsOf(topic)).toEqual(before);
});

test('a limit above the declared one is accepted, one below it is refused', async () => {
  const topic = ownTopic();
  await ensureTopics(kafka, [topic]);
  const declared = (bytes: number): Topic => ({
    ...topic,
    config: { ...topic.config, 'max.message.bytes': String(bytes) },
  });
  await ensureTopics(kafka, [declared(1_000_000)]);
  await expect(ensureTopics(kafka, [declared(64 * 1024 * 1024)])).rejects.toMatchObject({
    code: 'topic_settings',
    message: expect.stringContaining('max.message.bytes=33554432 instead of 67108864') as unknown,
  });
});

test('a topic that can lose acknowledged records is shown, and refused where it has to be durable', async () => {
  const topic = ownTopic({ partitions: 2 });
  const { name, partitions: numPartitions } = topic;
  const configEntries = Object.entries({
    ...topic.config,
    'unclean.leader.election.enable': 'true',
  }).map(([entry, value]) => ({ name: entry, value }));
  await withRawAdmin(kafka, (admin) =>
    admin.createTopics({ topics: [{ topic: name, numPartitions, configEntries }] }),
  );
  const two = { ...kafka, replication_min: 2 };
  await ensureTopics(two, [topic]);
  await expect(ensureTopics(kafka, [topic], { durable: true })).rejects.toMatchObject({
    code: 'topic_settings',
    retry: false,
    message: expect.stringContaining('unclean.leader.election.enable=true instead') as unknown,
  });
  const metrics = new Metrics('test');
  const stopping = new AbortController();
  const watching = watchTopics({
    kafka: two,
    topics: [topic],
    metrics,
    log: silentLog(),
    signal: stopping.signal,
    every_ms: 20,
  });
  const shown = async (gauge: string): Promise<number | undefined> =>
    (await metrics.registry.getSingleMetric(gauge)?.get())?.values[0]?.value;
  await expect.poll(() => shown('log_replicas_missing')).toBe(1);
  // an unclean election, one replica instead of two, of which one suffices
  expect(await shown('log_topic_differences')).toBe(3);
  expect(await shown('log_brokers')).toBe(1);
  expect(await shown('log_topic_bytes_max')).toBe(Number(topic.config['max.message.bytes']));
  stopping.abort();
  await watching;
});

test('a topic whose first records were deleted is watched as one that differs', async () => {
  const topic = ownTopic();
  await ensureTopics(kafka, [topic]);
  await appendAll(kafka, topic.name, numbered(0, 5));
  await deleteRecordsBefore(kafka, topic.name, 3);
  const stopping = new AbortController();
  const metrics = new Metrics('test');
  const watching = watchTopics({
    kafka,
    topics: [topic],
    metrics,
    log: silentLog(),
    signal: stopping.signal,
    every_ms: 20,
  });
  await expect
    .poll(async () => {
      const gauge = metrics.registry.getSingleMetric('log_topic_differences');
      return (await gauge?.get())?.values[0]?.value;
    })
    .toBe(1);
  stopping.abort();
  await watching;
});

test('more replicas than brokers are a fault that says so', async () => {
  const two = { ...kafka, replication_min: 2 };
  await expect(ensureTopics(two, [ownTopic()])).rejects.toMatchObject({
    code: 'topic_settings',
    retry: true,
    message: expect.stringContaining('with 2 replicas: fewer brokers run') as unknown,
  });
});

test('several processes may create the same topics at once', async () => {
  const topics = [ownTopic(), ownTopic({ partitions: 2 })];
  const clients: Kafka[] = Array.from({ length: 4 }, () => testKafka(stack));
  await Promise.all(
    clients.map((client) => insisting('creating topics', () => ensureTopics(client, topics))),
  );
  expect((await settingsOf(topics[1] ?? ownTopic())).partitions).toBe(2);
});

test('brokers that do not answer are a fault with retry, and a retry works once they answer', async () => {
  const proxy = await FaultProxy.open({
    port: Number(stack.kafka_brokers.split(':')[1]),
    requests: 'kafka',
  });
  proxy.mode = 'reset_before';
  const away = testKafka(stack, proxy);
  const topic = ownTopic();
  await expect(ensureTopics(away, [topic])).rejects.toMatchObject({ code: 'kafka', retry: true });
  proxy.mode = 'pass';
  await ensureTopics(away, [topic]);
  expect((await settingsOf(topic)).partitions).toBe(1);
  await proxy.close();
});
