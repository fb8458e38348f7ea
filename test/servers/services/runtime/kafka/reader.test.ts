import { expect, inject, onTestFinished, test } from 'vitest';
import { withAdmin } from '../../../../../services/runtime/kafka/client.ts';
import { KafkaWriter } from '../../../../../services/runtime/kafka/writer.ts';
import { partitionKey, type Positions } from '../../../../../services/runtime/kafka/position.ts';
import type { LogReader } from '../../../../../services/runtime/kafka/reader.ts';
import { CHAIN_BLOCKS } from '../../../../../schemas/topics.ts';
import { bigBlock } from '../../../../support/chain.ts';
import { watchLog } from '../../../../../services/runtime/kafka/ends.ts';
import { FaultProxy } from '../../../../support/fault-proxy.ts';
import {
  appendAll,
  CLIENTS,
  freshTopic,
  never,
  numbered,
  ownTopic,
  range,
  readAll,
  silentLog,
  testKafka,
  topicOf,
  withRawAdmin,
} from '../../../../support/kafka.ts';
import { TEST_HANG_MS } from '../../../../support/limits.ts';
import { applied, makeReader, openReader, take } from '../../../../support/reader.ts';
import { openCodec } from '../../../../support/codec.ts';

const stack = inject('stack');
const kafka = testKafka(stack);

test('reading continues at the checkpoint', async () => {
  const topic = await topicOf(kafka, 200);
  const records = await readAll(kafka, topic);
  const round = async (at: number): Promise<void> => {
    const next = (at * 37) % 200;
    const positions = async (): Promise<Positions> => {
      // as slow as a database: a reader that seeks late would have read from another offset by then
      await withAdmin(kafka, (admin) => admin.clusterId());
      return applied(topic, records, next);
    };
    const reader = await openReader(kafka, topic, { positions });
    expect(await take(reader, 200 - next)).toEqual(range(next, 200));
    await reader.close();
  };
  for (const start of [0, 5, 10, 15]) await Promise.all(range(start, start + 5).map(round));
});

test('a rewind makes taken records stale and reads again from the checkpoint, forwards or backwards', async () => {
  const topic = await topicOf(kafka, 100);
  const records = await readAll(kafka, topic);
  let next = 0;
  const reader = await openReader(kafka, topic, {
    positions: () => Promise.resolve(applied(topic, records, next)),
  });
  let before = await reader.take(10_000, 1 << 30);
  for (const to of [40, 90, 10, 0]) {
    next = to;
    reader.rewind();
    expect(before !== undefined && reader.isStale(before)).toBe(true);
    before = await reader.take(10_000, 1 << 30);
    expect(before?.records[0]?.offset).toBe(BigInt(to));
  }
});

test('checkpoints are committed to the consumer group for lag tools, and never read back', async () => {
  const topic = await topicOf(kafka, 10);
  const groupId = `${topic}-reader`;
  const reader = await openReader(kafka, topic, { group_id: groupId });
  await take(reader, 10);
  reader.commit(topic, 0, 4n);
  reader.commit(topic, 0, 7n);
  const offset = async (): Promise<string | undefined> => {
    const [committed] = await withRawAdmin(kafka, (admin) =>
      admin.fetchOffsets({ groupId, topics: [topic] }),
    );
    return committed?.partitions[0]?.offset;
  };
  await expect.poll(offset).toBe('7');
  await reader.close();
  const again = await openReader(kafka, topic, { group_id: groupId });
  expect(await take(again, 10)).toEqual(range(0, 10));
});

test('two readers of one consumer group deliver every record once between them, in order, also when one leaves', async () => {
  const topic = await freshTopic(kafka);
  const writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
  const log: number[] = [];
  const positions = (): Promise<Positions> =>
    Promise.resolve(
      new Map([[partitionKey(topic, 0), { next_offset: BigInt(log.length), last_record: null }]]),
    );
  const project = async (reader: LogReader): Promise<void> => {
    for (
      let chunk = await reader.take(100, 1 << 20);
      chunk !== undefined;
      chunk = await reader.take(100, 1 << 20)
    ) {
      if (reader.isStale(chunk)) continue;
      // the compare-and-set of the checkpoint
      if (chunk.records[0]?.offset === BigInt(log.length))
        log.push(...chunk.records.map(({ value }) => Number(value)));
      else reader.rewind();
    }
  };
  const shared = { positions, group_id: `${topic}-shared` };
  const one = await openReader(kafka, topic, shared);
  const projecting = [project(one)];
  await writer.append(topic, 0, numbered(0, 50));
  await expect.poll(() => log.length).toBe(50);
  const other = await openReader(kafka, topic, shared);
  projecting.push(project(other));
  await writer.append(topic, 0, numbered(50, 50));
  await expect.poll(() => log.length).toBe(100);
  await one.close();
  await writer.append(topic, 0, numbered(100, 50));
  await expect.poll(() => log.length).toBe(150);
  await other.close();
  await Promise.all(projecting);
  await writer.close();
  expect(log).toEqual(range(0, 150));
});

test('a topic that does not exist yet is waited for', async () => {
  const topic = ownTopic().name;
  const reader = makeReader(kafka, topic);
  const started = reader.start();
  await freshTopic(kafka, { name: topic });
  await appendAll(kafka, topic, numbered(0, 5));
  await started;
  expect(await take(reader, 5)).toEqual(range(0, 5));
});

test.each(CLIENTS)('reset connections neither lose nor repeat a record (%s)', async (client) => {
  const topic = await freshTopic(kafka);
  const proxy = await FaultProxy.open({
    port: Number(stack.kafka_brokers.split(':')[1]),
    requests: 'kafka',
  });
  onTestFinished(() => proxy.close());
  proxy.resetEvery(20, 5);
  const reader = await openReader(testKafka(stack, proxy, {}, client), topic);
  const writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
  const reading = take(reader, 1_000);
  for (let at = 0; at < 100; at++) await writer.append(topic, 0, numbered(at * 10, 10));
  await writer.close();
  const read = await reading;
  expect(read).toEqual(range(0, 1_000));
  expect(proxy.counts.reset_before + proxy.counts.reset_after).toBeGreaterThan(0);
});

test('a full queue pauses fetching, and reading resumes where it paused', async () => {
  const FETCH = 1;
  const port = Number(stack.kafka_brokers.split(':')[1]);
  const fetches = await FaultProxy.open({ port, requests: 'kafka' });
  onTestFinished(() => fetches.close());
  const topic = await freshTopic(kafka);
  const reader = await openReader(kafka, topic, {
    kafka: testKafka(stack, fetches),
    ahead_bytes_max: 1_000,
  });
  // the first batch fills the queue
  await appendAll(kafka, topic, numbered(0, 10));
  const first = await reader.take(1, 1);
  const fetched = fetches.requestsOf(FETCH);
  for (let at = 1; at < 5; at++) await appendAll(kafka, topic, numbered(at * 10, 10));
  expect(fetches.requestsOf(FETCH)).toBe(fetched);
  expect(first?.records).toHaveLength(1);
  expect(await take(reader, 49)).toEqual(range(1, 50));
});

test("a closed reader delivers no more records and ends its taker's wait", async () => {
  const topic = await topicOf(kafka, 0);
  const reader = await openReader(kafka, topic);
  const taken = reader.take(1, 1);
  await reader.close();
  expect(await taken).toBeUndefined();
});

test('a block of 20,000 transactions travels from the writer to the reader', async () => {
  const codec = await openCodec(stack.registry_url, [CHAIN_BLOCKS]);
  const topic = await freshTopic(kafka);
  const block = bigBlock(20_000);
  const value = codec.encode(block);
  expect(value.length).toBeGreaterThan(8_000_000);
  await appendAll(kafka, topic, [{ key: '0', value, headers: {}, timestamp: block.timestamp }]);
  const reader = await openReader(kafka, topic);
  const chunk = await reader.take(1, 1);
  expect(chunk?.records[0]?.value?.equals(value)).toBe(true);
  expect(codec.decode(value)).toEqual(block);
  await appendAll(kafka, topic, numbered(1, 1));
  expect(await take(reader, 1)).toEqual([1]);
});

test('a reader and a watch end without the answers of silent brokers', async () => {
  const proxy = await FaultProxy.open({
    port: Number(stack.kafka_brokers.split(':')[1]),
    requests: 'kafka',
  });
  onTestFinished(() => proxy.close());
  const topic = await topicOf(kafka, 5);
  // without a drain time a request would be waited for as long, which the test does not
  const away = testKafka(stack, proxy, { kafka_request_ms: 2 * TEST_HANG_MS });
  const stopping = new AbortController();
  const looks: bigint[] = [];
  const watching = watchLog({
    kafka: away,
    topics: [topic],
    log: silentLog(),
    signal: stopping.signal,
    every_ms: 20,
    applied: new Map(),
    onLag: (_topic, _partition, records) => looks.push(records),
    onLost: () => undefined,
    onLooked: () => undefined,
  });
  const reader = await openReader(away, topic);
  await take(reader, 5);
  await expect.poll(() => looks.length).toBeGreaterThan(0);
  proxy.mode = 'black_hole';
  // a fetch, and a look at the ends of the log
  await expect.poll(() => proxy.counts.black_hole).toBeGreaterThanOrEqual(2);
  stopping.abort();
  await Promise.all([reader.close(), watching]);
});
