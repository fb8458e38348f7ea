import { afterAll, expect, inject, test } from 'vitest';
import { TopicIds } from '../../../../../services/runtime/kafka/topic-ids.ts';
import { FaultProxy } from '../../../../support/fault-proxy.ts';
import {
  freshTopic,
  insisting,
  ownTopic,
  recreateTopic,
  testKafka,
} from '../../../../support/kafka.ts';

const stack = inject('stack');
const kafka = testKafka(stack);
const ids = new TopicIds(kafka);

afterAll(() => ids.disconnect());

test('a topic keeps its id, and gets another when it is deleted and created again', async () => {
  const topic = await freshTopic(kafka);
  const other = await freshTopic(kafka);
  const id = await ids.idOf(topic);
  expect(id).toMatch(/^(?!0+$)[0-9a-f]{32}$/);
  expect(await ids.idOf(topic)).toBe(id);
  expect(await ids.idOf(other)).not.toBe(id);
  await recreateTopic(kafka, topic);
  expect(await ids.idOf(topic)).not.toBe(id);
});

test('a topic name of any length is requested', async () => {
  for (const length of [126, 127, 128, 249]) {
    const name = ownTopic().name.padEnd(length, 'x');
    await freshTopic(kafka, { name });
    expect(await ids.idOf(name)).toMatch(/^(?!0+$)[0-9a-f]{32}$/);
  }
});

test('a topic that does not exist is a fault with retry', async () => {
  const { name } = ownTopic();
  await expect(ids.idOf(name)).rejects.toMatchObject({
    code: 'kafka',
    retry: true,
    message: `topic ${name} does not exist`,
  });
});

test('brokers that do not answer are a fault with retry, and the next call asks again', async () => {
  const topic = await freshTopic(kafka);
  const proxy = await FaultProxy.open({
    port: Number(stack.kafka_brokers.split(':')[1]),
    requests: 'kafka',
  });
  const away = new TopicIds(testKafka(stack, proxy));
  proxy.mode = 'reset_after';
  await expect(away.idOf(topic)).rejects.toMatchObject({ code: 'kafka', retry: true });
  proxy.mode = 'pass';
  expect(await insisting('asking', () => away.idOf(topic))).toBe(await ids.idOf(topic));
  proxy.cut();
  expect(await insisting('asking', () => away.idOf(topic))).toBe(await ids.idOf(topic));
  await away.disconnect();
  await proxy.close();
});
