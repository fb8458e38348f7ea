import { randomBytes } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { KafkaWriter } from '../../../../../services/runtime/kafka/writer.ts';
import { readLogBatches, readLogRange } from '../../../../../services/runtime/kafka/range.ts';
import { errorType } from '../../../../../services/runtime/kafka/port.ts';
import { readLogEnds } from '../../../../../services/runtime/kafka/ends.ts';
import { FaultProxy } from '../../../../support/fault-proxy.ts';
import {
  deleteRecordsBefore,
  freshTopic,
  insisting,
  never,
  numbered,
  ownTopic,
  silentLog,
  testKafka,
} from '../../../../support/kafka.ts';

const stack = inject('stack');
const kafka = testKafka(stack);

async function topicOf(records: number, partitions = 1): Promise<string> {
  const topic = await freshTopic(kafka, { partitions });
  const writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
  for (let partition = 0; partition < partitions; partition++)
    await writer.append(topic, partition, numbered(partition * 1_000, records));
  await writer.close();
  return topic;
}

async function numbersIn(
  topic: string,
  partition: number,
  from: bigint,
  to: bigint,
): Promise<number[]> {
  const numbers: number[] = [];
  await readLogRange(kafka, topic, partition, from, to, ({ value }) => numbers.push(Number(value)));
  return numbers;
}

test('exactly the records of the range are read, in order, from the requested partition', async () => {
  const topic = await topicOf(50, 2);
  expect(await readLogEnds(kafka, topic, 1)).toEqual({ low: 0n, high: 50n });
  expect(await numbersIn(topic, 0, 0n, 50n)).toEqual(Array.from({ length: 50 }, (_, at) => at));
  expect(await numbersIn(topic, 1, 7n, 9n)).toEqual([1_007, 1_008]);
  expect(await numbersIn(topic, 1, 49n, 50n)).toEqual([1_049]);
  expect(await numbersIn(topic, 1, 9n, 9n)).toEqual([]);
});

test('a range outside the log is a fault that names the available range', async () => {
  const topic = await topicOf(10);
  await deleteRecordsBefore(kafka, topic, 4);
  for (const [from, to] of [
    [0n, 10n],
    [3n, 5n],
    [5n, 11n],
  ] as const) {
    await expect(numbersIn(topic, 0, from, to)).rejects.toMatchObject({
      code: from < 4n ? 'log_damaged' : 'kafka',
      retry: true,
      message: expect.stringContaining('the log holds records 4 to 9') as unknown,
    });
  }
  expect(await numbersIn(topic, 0, 4n, 10n)).toHaveLength(6);
  // no retry mends it
  const lost = { topic, partition: 0, from: 0n, to: 10n, retrying: insisting };
  await expect(readLogBatches(kafka, lost, () => undefined)).rejects.toMatchObject({
    message: expect.stringContaining('the log holds records 4 to 9') as unknown,
  });
});

test('an error of the visitor is rethrown unchanged and ends the reading', async () => {
  const topic = await topicOf(10);
  const seen: bigint[] = [];
  const visit = readLogRange(kafka, topic, 0, 0n, 10n, ({ offset }) => {
    seen.push(offset);
    if (offset === 4n) throw new RangeError('the log is damaged');
  });
  await expect(visit).rejects.toThrow(RangeError);
  expect(seen).toEqual([0n, 1n, 2n, 3n, 4n]);
});

test('a topic that does not exist and brokers that do not answer are faults with retry', async () => {
  await expect(readLogEnds(kafka, ownTopic().name, 0)).rejects.toMatchObject({
    code: 'topic_missing',
    retry: true,
  });
  const topic = await topicOf(3);
  const proxy = await FaultProxy.open({
    port: Number(stack.kafka_brokers.split(':')[1]),
    requests: 'kafka',
  });
  proxy.mode = 'reset_after';
  await expect(
    readLogRange(testKafka(stack, proxy), topic, 0, 0n, 3n, () => undefined),
  ).rejects.toMatchObject({
    code: 'kafka',
    retry: true,
  });
  await proxy.close();
});

test('a range is read despite connection resets', async () => {
  const topic = await topicOf(500);
  const proxy = await FaultProxy.open({
    port: Number(stack.kafka_brokers.split(':')[1]),
    requests: 'kafka',
    api_keys: [1],
  });
  const away = testKafka(stack, proxy);
  for (const mode of ['reset_before', 'reset_after', 'truncate'] as const) {
    proxy.next(mode);
    const numbers: number[] = [];
    await readLogRange(away, topic, 0, 10n, 500n, ({ value }) => numbers.push(Number(value)));
    expect(numbers).toEqual(Array.from({ length: 490 }, (_, at) => at + 10));
    expect(proxy.counts[mode]).toBe(1);
  }
  await proxy.close();
});

test('a long range comes in chunks of the requested size, one at a time, and no record is fetched twice', async () => {
  const topic = await freshTopic(kafka);
  const writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
  const large = numbered(0, 40).map(({ key, headers, timestamp }) => ({
    key,
    headers,
    timestamp,
    // no codec makes it smaller
    value: randomBytes(10_000),
  }));
  for (let at = 0; at < 40; at += 4) await writer.append(topic, 0, large.slice(at, at + 4));
  await writer.close();
  const parts: (readonly bigint[])[] = [];
  let open = 0;
  await readLogBatches(
    kafka,
    { topic, partition: 0, from: 1n, to: 39n, bytes_max: 50_000 },
    async (records) => {
      expect(++open).toBe(1);
      parts.push(records.map(({ offset }) => offset));
      await readLogEnds(kafka, topic, 0);
      open--;
    },
  );
  expect(parts.flat()).toEqual(Array.from({ length: 38 }, (_, at) => BigInt(at + 1)));
  // a batch of one writer is never cut: 40,000 bytes each
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(8);
});

test('a topic that does not exist is named, whatever was asked', async () => {
  const { name: topic } = ownTopic();
  const fetcher = kafka.fetcher();
  onTestFinished(() => fetcher.disconnect());
  const asked = [fetcher.topicId(topic), readLogRange(kafka, topic, 0, 0n, 1n, () => undefined)];
  for (const answer of asked) {
    const error: unknown = await answer.then(
      () => undefined,
      (cause: unknown) => cause,
    );
    expect(errorType(error)).toBe('UNKNOWN_TOPIC_OR_PARTITION');
    expect(error).toMatchObject({ code: 'topic_missing', shown: expect.stringContaining(topic) });
  }
});
