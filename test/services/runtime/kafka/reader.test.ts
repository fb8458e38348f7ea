import { expect, onTestFinished, test } from 'vitest';
import type { Admin, Fetcher, Kafka } from '../../../../services/runtime/kafka/port.ts';
import { LogReader } from '../../../../services/runtime/kafka/reader.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { insisting, silentLog } from '../../../support/kafka.ts';

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
