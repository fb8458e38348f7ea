import { expect, onTestFinished, test } from 'vitest';
import type { Admin, Fetcher, Kafka } from '../../../../services/runtime/kafka/port.ts';
import { LogReader } from '../../../../services/runtime/kafka/reader.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { partitionKey, type Position } from '../../../../services/runtime/kafka/position.ts';
import { insisting, numbered, ownTopic, range, silentLog } from '../../../support/kafka.ts';
import { MemoryKafka } from '../../../support/memory-kafka.ts';
import { openReader, take } from '../../../support/reader.ts';

function unused(): never {
  throw new Error('a reader without a group only fetches');
}

function unasked(): Promise<never> {
  return Promise.reject(new Error('the reader does not ask for it'));
}

/** A Kafka whose brokers never say the id of a topic; counts the fetchers still asked for it. */
function silentKafka(): { readonly kafka: Kafka; readonly asked: Map<Fetcher, number> } {
  const asked = new Map<Fetcher, number>();
  const ends = [{ topic: 'a', partition: 0, low: 0n, high: 0n }];
  const admin: Admin = {
    clusterId: unasked,
    connect: unasked,
    brokers: unasked,
    topicNames: unasked,
    ends: () => Promise.resolve(ends),
    offsetsAt: unasked,
    createTopics: unasked,
    describeTopic: unasked,
    disconnect: () => Promise.resolve(),
  };
  const fetcher = (): Fetcher => {
    const own: Fetcher = {
      topicId() {
        asked.set(own, (asked.get(own) ?? 0) + 1);
        return Promise.reject(new Fault('kafka', 'no broker answers', { retry: true }));
      },
      fetch: () => Promise.resolve([]),
      disconnect: () => Promise.resolve(),
    };
    return own;
  };
  const kafka: Kafka = {
    replication_min: 1,
    prefix: '',
    admin: () => admin,
    fetcher,
    appender: unused,
    share: unused,
  };
  return { kafka, asked };
}

test('a reader that is rewound while no broker answers asks by its new connection alone', async () => {
  const { kafka, asked } = silentKafka();
  const reader = new LogReader({
    kafka,
    topics: ['a'],
    log: silentLog(),
    retrying: insisting,
    positions: () => Promise.resolve(new Map()),
    ahead_bytes_max: 1_000,
  });
  onTestFinished(() => reader.close());
  await reader.start();
  await expect.poll(() => asked.size).toBe(1);
  reader.rewind();
  await expect.poll(() => asked.size).toBe(2);
  const [[, before] = []] = asked;
  await expect.poll(() => [...asked.values()][1]).toBeGreaterThan(5);
  const [[, after] = []] = asked;
  expect(after).toBeLessThanOrEqual((before ?? 0) + 1);
});

function at(next_offset: bigint): Position {
  return { next_offset, last_record: null };
}

test('a reader with ends gives the records below them, where it has a position, and then none', async () => {
  const topic = ownTopic({ partitions: 3 });
  const memory = new MemoryKafka([topic]);
  for (const partition of [0, 1, 2])
    for (const from of [0, 4]) memory.append(topic.name, partition, numbered(from, 4));
  const [first, second] = [partitionKey(topic.name, 0), partitionKey(topic.name, 1)];
  const reader = await openReader(memory, topic.name, {
    positions: () =>
      Promise.resolve(
        new Map([
          [first, at(1n)],
          [second, at(2n)],
        ]),
      ),
    ends: new Map([
      [first, 6n],
      [second, 2n],
    ]),
  });
  for (const _again of [1, 2]) {
    const chunk = await reader.take(100, Infinity);
    expect(chunk).toMatchObject({ partition: 0, from: 1n, next: 6n });
    expect(chunk?.records.map(({ offset }) => Number(offset))).toEqual(range(1, 6));
    expect(await reader.take(100, Infinity)).toBeUndefined();
    reader.rewind();
  }
});

test('a lenient reader waits for the records before its end that are not written yet', async () => {
  const topic = ownTopic();
  const memory = new MemoryKafka([topic]);
  memory.append(topic.name, 0, numbered(0, 2));
  const key = partitionKey(topic.name, 0);
  const reader = await openReader(memory, topic.name, {
    positions: () => Promise.resolve(new Map([[key, at(0n)]])),
    ends: new Map([[key, 5n]]),
    lenient: true,
  });
  expect(await take(reader, 2)).toEqual([0, 1]);
  const rest = take(reader, 99);
  memory.append(topic.name, 0, numbered(2, 9));
  expect(await rest).toEqual([2, 3, 4]);
});
