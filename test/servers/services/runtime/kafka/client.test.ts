import { afterAll, beforeAll, expect, test } from 'vitest';
import { KafkaWriter } from '../../../../../services/runtime/kafka/writer.ts';
import { LogReader } from '../../../../../services/runtime/kafka/reader.ts';
import type { LogRecord } from '../../../../../services/runtime/kafka/record.ts';
import { FaultProxy } from '../../../../support/fault-proxy.ts';
import {
  freshTopic,
  insisting,
  never,
  numbered,
  readAll,
  silentLog,
  testKafka,
} from '../../../../support/kafka.ts';
import { startOwnKafka } from '../../../../support/own-kafka.ts';
import type { Stack } from '../../../../support/stack.ts';

let stack: Stack;
let proxy: FaultProxy;

beforeAll(async () => {
  stack = await startOwnKafka();
  proxy = await FaultProxy.open({ port: stack.ports.kafka, requests: 'kafka', api_keys: [0] });
});

afterAll(async () => {
  await proxy.close();
  await stack.stop();
});

test('a broker killed and restarted under load has every acknowledged record at its offset, and a reader gets each once', async () => {
  const kafka = testKafka(stack.addresses);
  const topic = await freshTopic(kafka);
  const writer = new KafkaWriter(testKafka(stack.addresses, proxy), {
    log: silentLog(),
    signal: never,
    retry_ms_min: 10,
  });
  const read: LogRecord[] = [];
  const reader = new LogReader({
    kafka,
    topics: [topic],
    log: silentLog(),
    retrying: insisting,
    positions: () =>
      Promise.resolve(
        new Map([[`${topic}/0`, { next_offset: BigInt(read.length), last_record: null }]]),
      ),
    ahead_bytes_max: 1 << 20,
  });
  await reader.start();
  const reading = (async () => {
    for (
      let chunk = await reader.take(1_000, 1 << 20);
      chunk !== undefined;
      chunk = await reader.take(1_000, 1 << 20)
    ) {
      if (!reader.isStale(chunk)) read.push(...chunk.records);
    }
  })();

  const appends: Promise<bigint>[] = [];
  const stop = new AbortController();
  const load = (async () => {
    while (!stop.signal.aborted) {
      appends.push(writer.append(topic, 0, numbered(appends.length * 10, 10)));
      await appends.at(-4);
    }
  })();
  const grows = async (): Promise<void> => {
    const before = appends.length;
    await expect.poll(() => appends.length).toBeGreaterThan(before + 20);
  };
  await grows();
  // the answer of one append is lost before the broker is killed: it comes back knowing the batch
  proxy.mode = 'reset_before';
  proxy.next('reset_after');
  await expect.poll(() => proxy.counts.reset_before).toBeGreaterThan(0);
  await stack.servers.kafka.kill();
  await stack.servers.kafka.start();
  proxy.mode = 'pass';
  await grows();
  stop.abort();
  await load;

  const offsets = await Promise.all(appends);
  const count = offsets.length * 10;
  const records = await readAll(kafka, topic);
  const numbers = records.map(({ value }) => Number(value));
  expect([...new Set(numbers)]).toEqual(Array.from({ length: count }, (_, at) => at));
  for (const [at, offset] of offsets.entries()) expect(numbers[Number(offset)]).toBe(at * 10);
  for (const { value, headers } of records) expect(String(headers['event_id'])).toBe(String(value));
  // a new producer may have appended a batch twice, always as a whole
  expect((records.length - count) % 10).toBe(0);

  await expect.poll(() => read.length).toBe(records.length);
  expect(read).toEqual(records);
  await reader.close();
  await reading;
  await writer.close();
});
