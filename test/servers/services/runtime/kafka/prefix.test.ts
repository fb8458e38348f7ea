import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { openKafka } from '../../../../../services/runtime/kafka/client.ts';
import { SchemaRegistry } from '../../../../../services/runtime/kafka/schema-registry.ts';
import { ensureTopics } from '../../../../../services/runtime/kafka/topics.ts';
import { ownTopic, silentLog, testKafka } from '../../../../support/kafka.ts';

const stack = inject('stack');
const prefix = `${randomUUID()}.`;

test('topics and groups have the prefix on the wire, and nowhere else', async () => {
  const settings = { kafka_brokers: [stack.kafka_brokers] };
  const kafka = openKafka({ ...settings, kafka_prefix: prefix }, 'test', silentLog());
  const topic = ownTopic();
  await ensureTopics(kafka, [topic]);
  const [admin, plainAdmin] = [kafka.admin(), testKafka(stack).admin()];
  expect(await admin.topicNames()).toEqual([topic.name]);
  expect(await plainAdmin.topicNames()).toContain(`${prefix}${topic.name}`);

  const [appender, fetcher] = [kafka.appender(), kafka.fetcher()];
  await appender.connect();
  const entry = { key: 'a', value: Buffer.from('b'), headers: {}, timestamp: Date.now() };
  await appender.append(topic.name, 0, [entry]);
  expect(await admin.ends(topic.name)).toMatchObject([{ topic: topic.name, high: 1n }]);
  const position = { partition: 0, offset: 0n, bytes_max: 1_000, wait_ms: 1_000 };
  const topic_id = await fetcher.topicId(topic.name);
  expect(await fetcher.fetch({ ...position, topic: topic.name, topic_id })).toMatchObject([
    { records: [{ value: entry.value }] },
  ]);

  const assigned = Promise.withResolvers<unknown>();
  const share = kafka.share({
    group_id: 'group',
    topics: [topic.name],
    session_ms: 6_000,
    onAssigned: (partitions) => partitions && assigned.resolve([...partitions]),
    onLeft: assigned.reject,
  });
  await share.join();
  expect(await assigned.promise).toEqual([[topic.name, [0]]]);
  await share.commit(topic.name, 0, 1n);
  for (const client of [admin, plainAdmin, appender, fetcher, share]) await client.disconnect();
});

test('a message about a topic names it as the brokers do', async () => {
  const settings = { kafka_brokers: [stack.kafka_brokers] };
  const kafka = openKafka({ ...settings, kafka_prefix: prefix }, 'test', silentLog());
  const topic = ownTopic();
  await ensureTopics(kafka, [topic]);
  await expect(
    ensureTopics(kafka, [{ ...topic, partitions: topic.partitions + 1 }]),
  ).rejects.toThrow(`topic ${prefix}${topic.name} has`);
});

test('subjects have the prefix at the registry', async () => {
  const registry = new SchemaRegistry({ ...stack, kafka_prefix: prefix });
  const schema = JSON.stringify({ type: 'record', name: 'a', fields: [] });
  const id = await registry.register('a', schema);
  expect(await registry.versions('a')).toEqual([{ id, subject: 'a', schema }]);
  const subject = `${prefix}a`;
  expect(await new SchemaRegistry(stack).versions(subject)).toEqual([{ id, subject, schema }]);
});
