import { afterAll, expect, inject, test } from 'vitest';
import { FaultProxy } from '../../../../../support/fault-proxy.ts';
import {
  freshTopic,
  insisting,
  ownTopic,
  recreateTopic,
  testKafka,
} from '../../../../../support/kafka.ts';

const stack = inject('stack');
const kafka = testKafka(stack);
const ids = kafka.fetcher();

afterAll(() => ids.disconnect());

test('a topic keeps its id, and gets another when it is deleted and created again', async () => {
  const topic = await freshTopic(kafka);
  const other = await freshTopic(kafka);
  const id = await ids.topicId(topic);
  expect(id).toMatch(/^(?!0+$)[0-9a-f]{32}$/);
  expect(await ids.topicId(topic)).toBe(id);
  expect(await ids.topicId(other)).not.toBe(id);
  await recreateTopic(kafka, topic);
  // the controller has made it before the broker shows it
  await expect.poll(() => ids.topicId(topic)).not.toBe(id);
});

test('a topic name of any length is requested', async () => {
  for (const length of [126, 127, 128, 249]) {
    const name = ownTopic().name.padEnd(length, 'x');
    await freshTopic(kafka, { name });
    expect(await ids.topicId(name)).toMatch(/^(?!0+$)[0-9a-f]{32}$/);
  }
});

test('a topic that does not exist is a fault with retry', async () => {
  const { name } = ownTopic();
  await expect(ids.topicId(name)).rejects.toMatchObject({
    code: 'topic_missing',
    retry: true,
    shown: expect.stringContaining(name),
  });
});

test('brokers that do not answer are a fault with retry, and the next call asks again', async () => {
  const topic = await freshTopic(kafka);
  const proxy = await FaultProxy.open({
    port: Number(stack.kafka_brokers.split(':')[1]),
    requests: 'kafka',
  });
  const away = testKafka(stack, proxy).fetcher();
  proxy.mode = 'reset_after';
  await expect(away.topicId(topic)).rejects.toMatchObject({ code: 'kafka', retry: true });
  proxy.mode = 'pass';
  expect(await insisting('asking', () => away.topicId(topic))).toBe(await ids.topicId(topic));
  proxy.cut();
  expect(await insisting('asking', () => away.topicId(topic))).toBe(await ids.topicId(topic));
  await away.disconnect();
  await proxy.close();
});
