import { afterEach, expect, inject, test } from 'vitest';
import type { Fault } from '../../../../../services/runtime/process/errors.ts';
import type { LogLost } from '../../../../../services/runtime/kafka/position.ts';
import { watchLog } from '../../../../../services/runtime/kafka/ends.ts';
import { ensureTopics } from '../../../../../services/runtime/kafka/topics.ts';
import { FaultProxy } from '../../../../support/fault-proxy.ts';
import {
  appendAll,
  deleteRecordsBefore,
  freshTopic,
  numbered,
  ownTopic,
  recreateTopic,
  silentLog,
  testKafka,
  withRawAdmin,
} from '../../../../support/kafka.ts';

const stack = inject('stack');
const kafka = testKafka(stack);
const ending: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ending.splice(0)) await end();
});

interface Seen {
  readonly applied: Map<string, bigint>;
  readonly lags: bigint[];
  readonly lost: LogLost[];
  readonly faults: (Fault | undefined)[];
}

function watch(
  topic: string,
  applied: bigint,
  client = kafka,
  after: readonly string[] = [],
): Seen {
  const stopping = new AbortController();
  const seen: Seen = {
    applied: new Map([[`${topic}/0`, applied]]),
    lags: [],
    lost: [],
    faults: [],
  };
  const watching = watchLog({
    kafka: client,
    topics: [topic, ...after],
    log: silentLog(),
    signal: stopping.signal,
    every_ms: 20,
    applied: seen.applied,
    onLag: (_topic, _partition, records) => seen.lags.push(records),
    onLost: (lost) => seen.lost.push(lost),
    onLooked: (fault) => seen.faults.push(fault),
  });
  ending.push(async () => {
    stopping.abort();
    await watching;
  });
  return seen;
}

test('a topic that is gone is named until it is there again', async () => {
  const topic = await freshTopic(kafka);
  const seen = watch(topic, 0n);
  await expect.poll(() => seen.lags.at(-1)).toBe(0n);
  await withRawAdmin(kafka, (admin) => admin.deleteTopics({ topics: [topic] }));
  await expect
    .poll(() => seen.faults.at(-1))
    .toMatchObject({ code: 'topic_missing', shown: expect.stringContaining(topic) });
  await ensureTopics(kafka, [ownTopic({ name: topic })]);
  await expect.poll(() => seen.faults.at(-1)).toBeUndefined();
});

test('a topic that is gone leaves the lag of those before it known', async () => {
  const [topic, gone] = [await freshTopic(kafka), await freshTopic(kafka)];
  const seen = watch(topic, 0n, kafka, [gone]);
  await expect.poll(() => seen.faults.length).toBeGreaterThan(0);
  await withRawAdmin(kafka, (admin) => admin.deleteTopics({ topics: [gone] }));
  const named = { code: 'topic_missing', shown: expect.stringContaining(gone) };
  await expect.poll(() => seen.faults.at(-1)).toMatchObject(named);
  await appendAll(kafka, topic, numbered(0, 3));
  await expect.poll(() => seen.lags.at(-1)).toBe(3n);
  await expect.poll(() => seen.faults.at(-1)).toMatchObject(named);
});

test('the lag is the number of records behind the applied offset', async () => {
  const topic = await freshTopic(kafka);
  const seen = watch(topic, 0n);
  await expect.poll(() => seen.lags.at(-1)).toBe(0n);
  await appendAll(kafka, topic, numbered(0, 10));
  await expect.poll(() => seen.lags.at(-1)).toBe(10n);
  seen.applied.set(`${topic}/0`, 7n);
  await expect.poll(() => seen.lags.at(-1)).toBe(3n);
  expect(seen.lost).toEqual([]);
});

test('a log that lost its beginning is reported, whether the records were applied or not', async () => {
  const topic = await freshTopic(kafka);
  await appendAll(kafka, topic, numbered(0, 10));
  const [behind, ahead] = [watch(topic, 2n), watch(topic, 10n)];
  await expect.poll(() => Math.min(behind.lags.length, ahead.lags.length)).toBeGreaterThan(2);
  expect([...behind.lost, ...ahead.lost]).toEqual([]);
  await deleteRecordsBefore(kafka, topic, 5);
  await expect.poll(() => Math.min(behind.lost.length, ahead.lost.length)).toBeGreaterThan(0);
  expect(behind.lost[0]?.message).toBe(
    `${topic}/0: the log begins at offset 5, records 0 to 4 were deleted (this projection continues at 2): a log that does not begin at 0 can prove nothing any more`,
  );
  expect(ahead.lost[0]?.remedy).toContain('restore the deleted records');
});

test('a topic that was created again is reported', async () => {
  const topic = await freshTopic(kafka);
  await appendAll(kafka, topic, numbered(0, 10));
  const seen = watch(topic, 10n);
  await expect.poll(() => seen.lags.length).toBeGreaterThan(0);
  await recreateTopic(kafka, topic);
  await expect.poll(() => seen.lost.length).toBeGreaterThan(0);
  expect(seen.lost[0]?.message).toBe(
    `${topic}/0: the log ends at offset 0, below the 10 that was applied: its end was lost, or the topic was deleted and created again`,
  );
});

test('a log that ends below the applied offset is reported after several observations', async () => {
  const topic = await freshTopic(kafka);
  await appendAll(kafka, topic, numbered(0, 10));
  const seen = watch(topic, 10n);
  await expect.poll(() => seen.lags.length).toBeGreaterThan(0);
  const looks = seen.lags.length;
  seen.applied.set(`${topic}/0`, 12n);
  await expect.poll(() => seen.lost.length).toBeGreaterThan(0);
  expect(seen.lags.length - looks).toBeGreaterThanOrEqual(3);
  expect(seen.lost[0]?.message).toContain('the log ends at offset 10, below the 12');
});

test('brokers that do not answer and a topic that does not exist yet are retried', async () => {
  const proxy = await FaultProxy.open({
    port: Number(stack.kafka_brokers.split(':')[1]),
    requests: 'kafka',
  });
  ending.push(() => proxy.close());
  proxy.mode = 'reset_before';
  const topic = ownTopic().name;
  const seen = watch(topic, 0n, testKafka(stack, proxy));
  await expect.poll(() => proxy.counts.reset_before).toBeGreaterThan(2);
  proxy.mode = 'pass';
  await expect.poll(() => proxy.counts.pass).toBeGreaterThan(10);
  expect(seen.lags).toEqual([]);
  await freshTopic(kafka, { name: topic });
  await expect.poll(() => seen.lags.at(-1)).toBe(0n);
  expect(seen.lost).toEqual([]);
});
