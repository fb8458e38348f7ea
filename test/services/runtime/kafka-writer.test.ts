import { afterAll, afterEach, expect, inject, test } from 'vitest';
import { KafkaWriter } from '../../../services/runtime/kafka-writer.ts';
import { readLogEnds } from '../../../services/runtime/log-range.ts';
import type { LogRecord } from '../../../services/runtime/log-record.ts';
import { FaultProxy } from '../../support/fault-proxy.ts';
import { freshTopic, never, numbered, readAll, silentLog, testKafka } from '../../support/kafka.ts';
import { startStack } from '../../support/stack.ts';

const PRODUCE = 0;
const stack = inject('stack');
const direct = testKafka(stack);
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function produceProxy(port = Number(stack.kafka_brokers.split(':')[1])): Promise<FaultProxy> {
  const proxy = await FaultProxy.open({ port, requests: 'kafka', api_keys: [PRODUCE] });
  closing.push(() => proxy.close());
  return proxy;
}

function openWriter(proxy: FaultProxy, options: { readonly signal?: AbortSignal; readonly answer_ms?: number } = {}): KafkaWriter {
  const writer = new KafkaWriter(testKafka(stack, proxy), { log: silentLog(), signal: never, retry_ms_min: 10, ...options });
  closing.push(() => writer.close());
  return writer;
}

function numbers(records: readonly LogRecord[]): number[] {
  return records.map(({ value }) => Number(value));
}

/** The numbers in the order in which they first stand in the log. */
function firstSeen(records: readonly LogRecord[]): number[] {
  return [...new Set(numbers(records))];
}

test('what was acknowledged stands in the log once, in order and at the offset told, however often connections are reset', async () => {
  const batch = 10;
  const batches = 200;
  const run = async (seed: number): Promise<void> => {
    const proxy = await produceProxy();
    const topic = await freshTopic(direct);
    const writer = openWriter(proxy);
    proxy.resetEvery(8, seed);
    // all at once: the writer itself sends one after the other
    const appends = Array.from({ length: batches }, (_, at) => writer.append(topic, 0, numbered(at * batch, batch)));
    const offsets = await Promise.all(appends);
    const records = await readAll(direct, topic);
    expect(numbers(records)).toEqual(Array.from({ length: batch * batches }, (_, at) => at));
    expect(offsets).toEqual(offsets.map((_, at) => BigInt(at * batch)));
    expect(records.map(({ headers }) => String(headers['event_id']))).toEqual(records.map(({ value }) => String(value)));
    expect(proxy.counts.reset_before).toBeGreaterThan(0);
    expect(proxy.counts.reset_after).toBeGreaterThan(0);
  };
  await Promise.all([1, 2, 3, 4].map(run));
});

test('the control: overlapping sends of one idempotent producer under the same resets lose acknowledged records', async () => {
  const lossAt = async (seed: number): Promise<number> => {
    const proxy = await produceProxy();
    const topic = await freshTopic(direct);
    const producer = testKafka(stack, proxy).producer({
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
        const messages = entries.map((entry) => ({ ...entry, timestamp: String(entry.timestamp), partition: 0 }));
        const sent = await producer.send({ topic, acks: -1, messages }).catch(() => undefined);
        if (sent !== undefined) for (const { key } of entries) acknowledged.add(Number(key));
      }
    };
    await Promise.all(Array.from({ length: 8 }, sender));
    await producer.disconnect();
    return acknowledged.difference(new Set(numbers(await readAll(direct, topic)))).size;
  };
  let lost = 0;
  for (let seed = 1; seed <= 10 && lost === 0; seed++) lost = await lossAt(seed);
  expect(lost).toBeGreaterThan(0);
});

test('the control: a batch given up after a rejection takes the next one with it', async () => {
  const proxy = await produceProxy();
  const topic = await freshTopic(direct);
  const producer = testKafka(stack, proxy).producer({ idempotent: true, maxInFlightRequests: 1, retry: { initialRetryTime: 10, retries: 1 } });
  await producer.connect();
  const send = (number: number): Promise<unknown> => producer.send({ topic, messages: [{ value: String(number), partition: 0 }] });
  await send(0);
  proxy.next('reset_after');
  proxy.next('reset_before');
  await expect(send(1)).rejects.toThrow();
  await expect(send(2)).resolves.toMatchObject([{ errorCode: 0 }]);
  await producer.disconnect();
  expect(numbers(await readAll(direct, topic))).toEqual([0, 1]);
});

test('the offset told is where the batch stands, also when its answer was lost and another writer has appended since', async () => {
  const proxy = await produceProxy();
  const topic = await freshTopic(direct);
  const writer = openWriter(proxy);
  const other = new KafkaWriter(direct, { log: silentLog(), signal: never });
  closing.push(() => other.close());
  let next = 0n;
  for (const first of [0, 10, 20]) {
    proxy.next('reset_after');
    proxy.mode = 'reset_before';
    const appended = writer.append(topic, 0, numbered(first, 5));
    await expect.poll(async () => (await readLogEnds(direct, topic, 0)).high).toBe(next + 5n);
    await expect(other.append(topic, 0, numbered(first + 5, 5))).resolves.toBe(next + 5n);
    proxy.mode = 'pass';
    await expect(appended).resolves.toBe(next);
    next += 10n;
  }
  expect(numbers(await readAll(direct, topic))).toEqual(Array.from({ length: 30 }, (_, at) => at));
});

test('a batch that the broker will never take is refused, and the writer goes on with the next', async () => {
  const topic = await freshTopic(direct, { config: { 'max.message.bytes': '100000' } });
  const writer = openWriter(await produceProxy());
  const large = numbered(0, 1).map((entry) => ({ ...entry, value: Buffer.alloc(200_000, 'x') }));
  const outcomes = await Promise.allSettled([
    writer.append(topic, 0, numbered(0, 3)),
    writer.append(topic, 0, large),
    writer.append(topic, 0, numbered(3, 3)),
  ]);
  expect(outcomes).toMatchObject([
    { value: 0n },
    { reason: { code: 'append_refused', retry: false, message: expect.stringContaining('MESSAGE_TOO_LARGE') as unknown } },
    { value: 3n },
  ]);
  expect(numbers(await readAll(direct, topic))).toEqual([0, 1, 2, 3, 4, 5]);
});

test.each(['reset_before', 'black_hole'] as const)(
  'a draining writer tells that the outcome is unknown, and appends nothing behind it (%s)',
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
    await expect(writer.append(topic, 0, numbered(3, 1))).rejects.toMatchObject({ code: 'append_unknown' });
    expect(numbers(await readAll(direct, topic))).toEqual([0]);
  },
);

test('an answer that comes while the writer drains still counts', async () => {
  const proxy = await produceProxy();
  const topic = await freshTopic(direct);
  const draining = new AbortController();
  const writer = openWriter(proxy, { signal: draining.signal, answer_ms: 30_000 });
  await writer.append(topic, 0, numbered(0, 1));
  proxy.delay_ms = 200;
  proxy.next('delay');
  const appended = writer.append(topic, 0, numbered(1, 1));
  await expect.poll(() => proxy.counts.delay).toBe(1);
  draining.abort();
  await expect(appended).resolves.toBe(1n);
});

test('a topic that does not exist yet is waited for', async () => {
  const writer = openWriter(await produceProxy());
  const topic = await freshTopic(direct);
  const admin = direct.admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [topic] });
  const appended = writer.append(topic, 0, numbered(0, 2));
  await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: 1 }] });
  await admin.disconnect();
  await expect(appended).resolves.toBe(0n);
});

test('a broker killed and started again under load has every acknowledged record, and a lost answer still gets its offset', async () => {
  const own = await startStack();
  closing.push(() => own.stop());
  const kafka = testKafka(own.addresses);
  const topic = await freshTopic(kafka);
  const proxy = await produceProxy(own.ports.kafka);
  const writer = new KafkaWriter(testKafka(own.addresses, proxy), { log: silentLog(), signal: never, retry_ms_min: 10 });
  closing.push(() => writer.close());

  const appends: Promise<bigint>[] = [];
  let done = false;
  const load = (async () => {
    for (let at = 0; !done; at++) {
      appends.push(writer.append(topic, 0, numbered(at * 10, 10)));
      await appends.at(-4);
    }
  })();
  const grows = async (): Promise<void> => {
    const before = appends.length;
    await expect.poll(() => appends.length, { timeout: 30_000 }).toBeGreaterThan(before + 20);
  };
  await grows();
  await own.servers.kafka.kill();
  await own.servers.kafka.start();
  await grows();
  done = true;
  await load;
  const offsets = await Promise.all(appends);

  // the answer of this one is lost, then the broker is killed: it comes back knowing the batch
  proxy.next('reset_after');
  proxy.mode = 'reset_before';
  const lost = writer.append(topic, 0, numbered(appends.length * 10, 10));
  const end = offsets.length * 10 + 10;
  await expect.poll(async () => (await readLogEnds(kafka, topic, 0)).high).toBeGreaterThanOrEqual(BigInt(end));
  await own.servers.kafka.kill();
  await own.servers.kafka.start();
  proxy.mode = 'pass';
  offsets.push(await lost);

  const records = await readAll(kafka, topic);
  expect(firstSeen(records)).toEqual(Array.from({ length: end }, (_, at) => at));
  for (const [at, offset] of offsets.entries()) expect(Number(records[Number(offset)]?.value)).toBe(at * 10);
  for (const { value, headers } of records) expect(String(headers['event_id'])).toBe(String(value));
  // a rebuilt producer may have appended a batch twice, always as a whole
  expect((records.length - end) % 10).toBe(0);
});

afterAll(() => expect(closing).toEqual([]));
