import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, expect, inject, test } from 'vitest';
import { KafkaWriter, type WriterOptions } from '../../../../../services/runtime/kafka/writer.ts';
import { readLogEnds } from '../../../../../services/runtime/kafka/ends.ts';
import type { LogEntry, LogRecord } from '../../../../../services/runtime/kafka/record.ts';
import { openLog, type Logger } from '../../../../../services/runtime/process/log.ts';
import { FaultProxy } from '../../../../support/fault-proxy.ts';
import { HANG_MS } from '../../../../support/limits.ts';
import {
  CLIENTS,
  freshTopic,
  never,
  numbered,
  ownTopic,
  range,
  readAll,
  silentLog,
  testKafka,
  type Client,
} from '../../../../support/kafka.ts';

const PRODUCE = 0;
const stack = inject('stack');
const direct = testKafka(stack);
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function produceProxy(): Promise<FaultProxy> {
  const port = Number(stack.kafka_brokers.split(':')[1]);
  const proxy = await FaultProxy.open({ port, requests: 'kafka', api_keys: [PRODUCE] });
  closing.push(() => proxy.close());
  return proxy;
}

function openWriter(
  proxy: FaultProxy,
  options: Partial<WriterOptions> = {},
  client?: Client,
): KafkaWriter {
  const writer = new KafkaWriter(testKafka(stack, proxy, {}, client), {
    log: silentLog(),
    signal: never,
    retry_ms_min: 10,
    ...options,
  });
  closing.push(() => writer.close());
  return writer;
}

/** A log that counts the batches that the client gave up and the writer must send again. */
function countingLog(): { readonly log: Logger; readonly count: () => number } {
  let lines = 0;
  const write = (line: string): void => {
    if (line.includes('append not acknowledged')) lines++;
  };
  return {
    log: openLog({ service: 'test', level: 'warn', destination: { write } }),
    count: () => lines,
  };
}

function numbers(records: readonly LogRecord[]): number[] {
  return records.map(({ value }) => Number(value));
}

test.each(CLIENTS)(
  'acknowledged records are in the log once, in order and at the returned offset, with any number of connection resets (%s)',
  async (client) => {
    const batch = 10;
    const batches = 200;
    const run = async (seed: number): Promise<void> => {
      const proxy = await produceProxy();
      const topic = await freshTopic(direct);
      const writer = openWriter(proxy, {}, client);
      proxy.resetEvery(8, seed);
      // all at once: the writer itself sends one after the other
      const appends = Array.from({ length: batches }, (_, at) =>
        writer.append(topic, 0, numbered(at * batch, batch)),
      );
      const offsets = await Promise.all(appends);
      const records = await readAll(direct, topic);
      expect(numbers(records)).toEqual(range(0, batch * batches));
      expect(offsets).toEqual(offsets.map((_, at) => BigInt(at * batch)));
      expect(records.map(({ headers }) => String(headers['event_id']))).toEqual(
        records.map(({ value }) => String(value)),
      );
      expect(proxy.counts.reset_before).toBeGreaterThan(0);
      expect(proxy.counts.reset_after).toBeGreaterThan(0);
    };
    await Promise.all([1, 2, 3, 4].map(run));
  },
);

/** How many acknowledged records are missing after overlapping sends. */
async function overlappedLoss(seed: number): Promise<number> {
  const proxy = await produceProxy();
  const topic = await freshTopic(direct);
  const producer = testKafka(stack, proxy).raw.producer({
    idempotent: true,
    allowAutoTopicCreation: false,
    retry: { initialRetryTime: 50, retries: 20 },
  });
  await producer.connect();
  proxy.resetEvery(8, seed);
  const acknowledged = new Set<number>();
  let next = 0;
  const sender = async (): Promise<void> => {
    while (next < 2_000) {
      const entries = numbered(next, 5);
      next += 5;
      const messages = entries.map((entry) => ({
        ...entry,
        timestamp: String(entry.timestamp),
        partition: 0,
      }));
      const sent = await producer.send({ topic, acks: -1, messages }).catch(() => undefined);
      if (sent !== undefined) for (const { key } of entries) acknowledged.add(Number(key));
    }
  };
  await Promise.all(Array.from({ length: 8 }, sender));
  await producer.disconnect();
  return acknowledged.difference(new Set(numbers(await readAll(direct, topic)))).size;
}

test('the control: overlapping sends of one idempotent producer under the same resets lose acknowledged records', async () => {
  let lost = 0;
  for (let seed = 1; seed <= 10 && lost === 0; seed++) lost = await overlappedLoss(seed);
  expect(lost).toBeGreaterThan(0);
});

test('the control: a batch given up after a rejection takes the next one with it', async () => {
  const proxy = await produceProxy();
  const topic = await freshTopic(direct);
  const producer = testKafka(stack, proxy).raw.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    retry: { initialRetryTime: 10, retries: 1 },
  });
  await producer.connect();
  const send = (number: number): Promise<unknown> =>
    producer.send({ topic, messages: [{ value: String(number), partition: 0 }] });
  await send(0);
  proxy.next('reset_after');
  proxy.next('reset_before');
  await expect(send(1)).rejects.toThrow();
  await expect(send(2)).resolves.toMatchObject([{ errorCode: 0 }]);
  await producer.disconnect();
  expect(numbers(await readAll(direct, topic))).toEqual([0, 1]);
});

test.each(CLIENTS)(
  'the returned offset is that of the batch, also when its answer was lost and another writer has appended since (%s)',
  async (client) => {
    const proxy = await produceProxy();
    const topic = await freshTopic(direct);
    const { log, count } = countingLog();
    const writer = openWriter(proxy, { log }, client);
    const other = new KafkaWriter(direct, { log: silentLog(), signal: never });
    closing.push(() => other.close());
    let next = 0n;
    // in the last round the client gives up meanwhile, and the writer has to send the batch again
    for (const rejections of [0, 0, 1]) {
      proxy.next('reset_after');
      proxy.mode = 'reset_before';
      const appended = writer.append(topic, 0, numbered(Number(next), 5));
      await expect.poll(async () => (await readLogEnds(direct, topic, 0)).high).toBe(next + 5n);
      await expect(other.append(topic, 0, numbered(Number(next) + 5, 5))).resolves.toBe(next + 5n);
      await expect.poll(count).toBeGreaterThanOrEqual(rejections);
      proxy.mode = 'pass';
      await expect(appended).resolves.toBe(next);
      next += 10n;
    }
    expect(numbers(await readAll(direct, topic))).toEqual(range(0, 30));
  },
);

function refused(why: RegExp, code = 'append_refused'): object {
  return {
    reason: {
      code,
      retry: code === 'clock_ahead',
      message: expect.stringMatching(why) as unknown,
    },
  };
}

test('a batch that the broker will never accept is refused, and the writer continues with the next', async () => {
  const topic = await freshTopic(direct, { config: { 'max.message.bytes': '100000' } });
  const writer = openWriter(await produceProxy());
  const large: LogEntry = {
    key: 'large',
    // no codec makes it smaller
    value: randomBytes(200_000),
    headers: {},
    timestamp: 1_700_000_000_000,
  };
  const ahead: LogEntry = {
    key: 'ahead',
    value: Buffer.alloc(1),
    headers: {},
    timestamp: Date.now() + 7_200_000,
  };
  const outcomes = await Promise.allSettled([
    writer.append(topic, 0, numbered(0, 3)),
    writer.append(topic, 0, [large]),
    writer.append(topic, 0, [ahead]),
    writer.append(topic, 0, numbered(3, 3)),
  ]);
  expect(outcomes).toMatchObject([
    { value: 0n },
    refused(/MESSAGE_TOO_LARGE\. What to do: .*max\.message\.bytes/),
    refused(/the clock of this machine, .* set the wrong clock right/, 'clock_ahead'),
    { value: 3n },
  ]);
  expect(numbers(await readAll(direct, topic))).toEqual([0, 1, 2, 3, 4, 5]);
});

test.each(['reset_before', 'black_hole'] as const)(
  'a draining writer reports an unknown outcome and appends nothing behind it (%s)',
  async (mode) => {
    const proxy = await produceProxy();
    const topic = await freshTopic(direct);
    const draining = new AbortController();
    const writer = openWriter(proxy, { signal: draining.signal, answer_ms: 200 });
    await writer.append(topic, 0, numbered(0, 1));
    proxy.mode = mode;
    const cut = writer.append(topic, 0, numbered(1, 1));
    const behind = writer.append(topic, 0, numbered(2, 1));
    const outcomes = Promise.allSettled([cut, behind]);
    await expect.poll(() => proxy.counts[mode]).toBeGreaterThan(0);
    draining.abort();
    expect(await outcomes).toMatchObject([
      { reason: { code: 'append_unknown', retry: true } },
      { reason: { code: 'append_unknown', retry: true } },
    ]);
    proxy.mode = 'pass';
    await writer.close();
    await expect(writer.append(topic, 0, numbered(3, 1))).rejects.toMatchObject({
      code: 'append_unknown',
    });
    // unknown is what the drain said of the first: it may have come yet
    expect([[0], [0, 1]]).toContainEqual(numbers(await readAll(direct, topic)));
  },
);

test('a batch given up by a drain never lends its sequence numbers to the next one', async () => {
  const proxy = await produceProxy();
  const topic = await freshTopic(direct);
  const draining = new AbortController();
  const { log, count } = countingLog();
  const writer = openWriter(proxy, {
    log,
    signal: draining.signal,
    retry_ms_min: 600_000,
    retry_ms_max: 600_000,
  });
  await writer.append(topic, 0, numbered(0, 1));
  proxy.next('reset_after');
  proxy.mode = 'reset_before';
  const outcomes = Promise.allSettled([
    writer.append(topic, 0, numbered(1, 1)),
    writer.append(topic, 0, numbered(2, 1)),
  ]);
  // the client has given up, and the writer waits before it sends the same again
  await expect.poll(count).toBe(1);
  proxy.mode = 'pass';
  draining.abort();
  expect(await outcomes).toMatchObject([
    { reason: { code: 'append_unknown' } },
    { reason: { code: 'append_unknown' } },
  ]);
  // unknown to the writer: the first is there, the second never was sent
  expect(numbers(await readAll(direct, topic))).toEqual([0, 1]);
});

test('an answer during the drain still counts', async () => {
  const proxy = await produceProxy();
  const topic = await freshTopic(direct);
  const draining = new AbortController();
  const writer = openWriter(proxy, { signal: draining.signal, answer_ms: HANG_MS });
  await writer.append(topic, 0, numbered(0, 1));
  proxy.delay_ms = 200;
  proxy.next('delay');
  const appended = writer.append(topic, 0, numbered(1, 1));
  await expect.poll(() => proxy.counts.delay).toBe(1);
  draining.abort();
  await expect(appended).resolves.toBe(1n);
});

test('a broker that falls silent is given up, and the batch sent over another connection', async () => {
  const proxy = await produceProxy();
  const topic = await freshTopic(direct);
  const kafka = testKafka(stack, proxy, { kafka_request_ms: 1_000 });
  const writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
  closing.push(() => writer.close());
  await writer.append(topic, 0, numbered(0, 1));
  proxy.next('black_hole');
  await expect(writer.append(topic, 0, numbered(1, 1))).resolves.toBe(1n);
  await expect(writer.append(topic, 0, numbered(2, 1))).resolves.toBe(2n);
  expect(numbers(await readAll(direct, topic))).toEqual([0, 1, 2]);
});

test('a topic that does not exist yet is waited for', async () => {
  const { log, count } = countingLog();
  const writer = openWriter(await produceProxy(), { log });
  const topic = ownTopic().name;
  const appended = writer.append(topic, 0, numbered(0, 2));
  await expect.poll(count).toBeGreaterThan(0);
  await freshTopic(direct, { name: topic });
  await expect(appended).resolves.toBe(0n);
});

afterAll(() => expect(closing).toEqual([]));

test('a large batch is compressed, a small one is not, both are read back', async () => {
  const writer = new KafkaWriter(direct, { log: silentLog(), signal: never });
  const topic = await freshTopic(direct);
  const values = [10, 5_000, 200_000].map((bytes) => Buffer.alloc(bytes, 'block '));
  const entries = numbered(0, 3).map((entry, at) =>
    Object.assign(entry, { value: values[at] ?? Buffer.alloc(0) }),
  );
  for (const entry of entries) await writer.append(topic, 0, [entry]);
  await writer.close();
  expect((await readAll(direct, topic)).map(({ value }) => value)).toEqual(values);
  const fetcher = direct.fetcher();
  const topic_id = await fetcher.topicId(topic);
  const position = { topic, topic_id, partition: 0, offset: 0n, bytes_max: 10_000, wait_ms: 0 };
  // all three are within 10,000 bytes, so the large ones are compressed
  expect(await fetcher.fetch(position)).toHaveLength(3);
  await fetcher.disconnect();
});
