import { afterEach, expect, inject, test } from 'vitest';
import type { Kafka } from 'kafkajs';
import { withAdmin } from '../../../services/runtime/kafka-topics.ts';
import { KafkaWriter } from '../../../services/runtime/kafka-writer.ts';
import { LogLost, partitionKey, type Positions } from '../../../services/runtime/log-position.ts';
import { LogReader } from '../../../services/runtime/log-reader.ts';
import { fingerprint, type LogRecord } from '../../../services/runtime/log-record.ts';
import { FaultProxy } from '../../support/fault-proxy.ts';
import {
  appendAll,
  deleteRecordsBefore,
  freshTopic,
  insisting,
  never,
  numbered,
  ownTopic,
  readAll,
  recreateTopic,
  silentLog,
  testKafka,
} from '../../support/kafka.ts';

const stack = inject('stack');
const kafka = testKafka(stack);
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface ReaderOptions {
  readonly positions?: () => Promise<Positions>;
  readonly ahead_bytes_max?: number;
  readonly group_id?: string;
  readonly kafka?: Kafka;
}

function makeReader(topic: string, options: ReaderOptions = {}): LogReader {
  const reader = new LogReader({
    kafka,
    group_id: `${topic}-reader`,
    topics: [topic],
    log: silentLog(),
    retrying: insisting,
    ahead_bytes_max: 1 << 20,
    positions: () => Promise.resolve(new Map()),
    ...options,
  });
  closing.push(() => reader.close());
  return reader;
}

async function openReader(topic: string, options: ReaderOptions = {}): Promise<LogReader> {
  const reader = makeReader(topic, options);
  await reader.start();
  return reader;
}

async function topicOf(records: number): Promise<string> {
  const topic = await freshTopic(kafka);
  if (records > 0) await appendAll(kafka, topic, numbered(0, records));
  return topic;
}

/** As if everything before `next` of these records had been applied. */
function applied(topic: string, records: readonly LogRecord[], next: number): Positions {
  const last = next === 0 ? undefined : records[next - 1];
  return new Map([[partitionKey(topic, 0), { next_offset: BigInt(next), last_record: last === undefined ? null : fingerprint(last) }]]);
}

/** The next records until there are so many. */
async function take(reader: LogReader, count: number): Promise<number[]> {
  const taken: number[] = [];
  while (taken.length < count) {
    const chunk = await reader.take(10_000, 1 << 30);
    if (chunk === undefined) break;
    if (!reader.isStale(chunk)) taken.push(...chunk.records.map(({ offset }) => Number(offset)));
  }
  return taken;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, at) => from + at);
}

/** The error with which reading ends. */
async function lossOf(reader: LogReader): Promise<LogLost> {
  try {
    while ((await reader.take(10_000, 1 << 30)) !== undefined);
  } catch (error) {
    if (error instanceof LogLost) return error;
    throw error;
  }
  throw new Error('the reader was closed');
}

const HALTED = /the log ends at offset|is not the one that was applied|was deleted and created again while it was read/;

test('reading goes on exactly where the checkpoint stands, on every join', async () => {
  const topic = await topicOf(200);
  const records = await readAll(kafka, topic);
  const round = async (at: number): Promise<void> => {
    const next = (at * 37) % 200;
    const positions = async (): Promise<Positions> => {
      // as slow as a database may be: whoever seeks late would have read from elsewhere by then
      await withAdmin(kafka, (admin) => admin.describeCluster());
      return applied(topic, records, next);
    };
    const reader = await openReader(topic, { group_id: `${topic}-${at}`, positions });
    expect(await take(reader, 200 - next)).toEqual(range(next, 200));
    await reader.close();
  };
  for (const start of [0, 5, 10, 15]) await Promise.all(range(start, start + 5).map(round));
});

test('a rewind makes what was taken stale and reads again from the checkpoint, ahead or back', async () => {
  const topic = await topicOf(100);
  const records = await readAll(kafka, topic);
  let next = 0;
  const reader = await openReader(topic, { positions: () => Promise.resolve(applied(topic, records, next)) });
  let before = await reader.take(10_000, 1 << 30);
  for (const to of [40, 90, 10, 0]) {
    next = to;
    reader.rewind();
    expect(before !== undefined && reader.isStale(before)).toBe(true);
    before = await reader.take(10_000, 1 << 30);
    expect(before?.records[0]?.offset).toBe(BigInt(to));
  }
});

test('how far the checkpoints are is told to the group for lag tools, and never read back', async () => {
  const topic = await topicOf(10);
  const groupId = `${topic}-reader`;
  const reader = await openReader(topic);
  await take(reader, 10);
  reader.commit(topic, 0, 4n);
  reader.commit(topic, 0, 7n);
  const offset = async (): Promise<string | undefined> => {
    const [committed] = await withAdmin(kafka, (admin) => admin.fetchOffsets({ groupId, topics: [topic] }));
    return committed?.partitions[0]?.offset;
  };
  await expect.poll(offset, { timeout: 10_000 }).toBe('7');
  await reader.close();
  expect(await take(await openReader(topic), 10)).toEqual(range(0, 10));
});

test('two readers of one group hand on every record once between them, in order, also when one leaves', async () => {
  const topic = await freshTopic(kafka);
  const writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
  const log: number[] = [];
  const positions = (): Promise<Positions> =>
    Promise.resolve(new Map([[partitionKey(topic, 0), { next_offset: BigInt(log.length), last_record: null }]]));
  const project = async (reader: LogReader): Promise<void> => {
    for (let chunk = await reader.take(100, 1 << 20); chunk !== undefined; chunk = await reader.take(100, 1 << 20)) {
      if (reader.isStale(chunk)) continue;
      // the compare-and-set of the checkpoint
      if (chunk.records[0]?.offset === BigInt(log.length)) log.push(...chunk.records.map(({ value }) => Number(value)));
      else reader.rewind();
    }
  };
  const one = await openReader(topic, { positions });
  const projecting = [project(one)];
  await writer.append(topic, 0, numbered(0, 50));
  await expect.poll(() => log.length).toBe(50);
  const other = await openReader(topic, { positions });
  projecting.push(project(other));
  await writer.append(topic, 0, numbered(50, 50));
  await expect.poll(() => log.length, { timeout: 20_000 }).toBe(100);
  await one.close();
  await writer.append(topic, 0, numbered(100, 50));
  await expect.poll(() => log.length, { timeout: 20_000 }).toBe(150);
  await other.close();
  await Promise.all(projecting);
  await writer.close();
  expect(log).toEqual(range(0, 150));
});

test('a topic that does not exist yet is waited for', async () => {
  const topic = ownTopic().name;
  const reader = makeReader(topic);
  const started = reader.start();
  await freshTopic(kafka, { name: topic });
  await appendAll(kafka, topic, numbered(0, 5));
  await started;
  expect(await take(reader, 5)).toEqual(range(0, 5));
});

test('connections that are reset lose nothing and double nothing', async () => {
  const topic = await freshTopic(kafka);
  const proxy = await FaultProxy.open({ port: Number(stack.kafka_brokers.split(':')[1]), requests: 'kafka' });
  closing.push(() => proxy.close());
  proxy.resetEvery(20, 5);
  const reader = await openReader(topic, { kafka: testKafka(stack, proxy) });
  const writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
  const reading = take(reader, 1_000);
  for (let at = 0; at < 100; at++) await writer.append(topic, 0, numbered(at * 10, 10));
  await writer.close();
  const read = await reading;
  // after a new join reading begins at the checkpoint again, which here stays at 0
  expect(read.slice(-1_000)).toEqual(range(0, 1_000));
  expect(proxy.counts.reset_before + proxy.counts.reset_after).toBeGreaterThan(0);
});

test.each([
  ['above the position', 50, 20],
  ['up to the position', 50, 50],
  ['below the position', 50, 80],
  ['when nothing was applied', 50, 0],
])('deleted records halt a reader that starts: %s', async (_where, low, next) => {
  const topic = await topicOf(100);
  const records = await readAll(kafka, topic);
  await deleteRecordsBefore(kafka, topic, low);
  const lost = await lossOf(await openReader(topic, { positions: () => Promise.resolve(applied(topic, records, next)) }));
  expect(lost.message).toContain(
    `the log begins at offset ${low}, records 0 to ${low - 1} were deleted (this projection goes on at ${next})`,
  );
  expect(lost.remedy).toContain('restore the deleted records');
});

test.each([
  ['empty', 0, 'the log ends at offset 0, below the 60 that was applied'],
  ['shorter', 59, 'the log ends at offset 59, below the 60 that was applied'],
  ['as long', 60, 'the record at offset 59 is not the one that was applied'],
  ['longer', 100, 'the record at offset 59 is not the one that was applied'],
])('a topic created again while nobody read halts the reader that starts: now %s', async (_length, length, message) => {
  const topic = await topicOf(60);
  const records = await readAll(kafka, topic);
  await recreateTopic(kafka, topic);
  // the same keys and values: only their trace tells them apart
  const again = numbered(0, length).map((entry) => Object.assign(entry, { headers: { ...entry.headers, trace_id: 'another' } }));
  if (length > 0) await appendAll(kafka, topic, again);
  const lost = await lossOf(await openReader(topic, { positions: () => Promise.resolve(applied(topic, records, 60)) }));
  expect(lost.message).toContain(message);
  expect(lost.remedy).toContain('restore the topic');
});

test.each([
  ['shorter', 59],
  ['as long, and growing', 61],
  ['longer', 100],
])('a topic created again under a reader halts it: now %s', async (_length, length) => {
  const topic = await topicOf(60);
  const records = await readAll(kafka, topic);
  let next = 0;
  const reader = await openReader(topic, { positions: () => Promise.resolve(applied(topic, records, next)) });
  next = (await take(reader, 60)).length;
  await recreateTopic(kafka, topic);
  await appendAll(kafka, topic, numbered(1_000, length));
  expect((await lossOf(reader)).message).toMatch(HALTED);
});

test('a full queue stops the fetching, keeps the membership, and reading goes on where it stopped', async () => {
  const FETCH = 1;
  const HEARTBEAT = 12;
  const port = Number(stack.kafka_brokers.split(':')[1]);
  const fetches = await FaultProxy.open({ port, requests: 'kafka' });
  closing.push(() => fetches.close());
  const topic = await freshTopic(kafka);
  const writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
  let joins = 0;
  const positions = (): Promise<Positions> => {
    joins++;
    return Promise.resolve(new Map());
  };
  const reader = await openReader(topic, { kafka: testKafka(stack, fetches), positions, ahead_bytes_max: 1_000 });
  await writer.append(topic, 0, numbered(0, 10));
  await expect.poll(() => fetches.requestsOf(HEARTBEAT), { timeout: 10_000 }).toBeGreaterThan(1);
  const fetched = fetches.requestsOf(FETCH);
  for (let at = 1; at < 5; at++) await writer.append(topic, 0, numbered(at * 10, 10));
  // longer than the session of a member that does not show up
  const beats = fetches.requestsOf(HEARTBEAT);
  await expect.poll(() => fetches.requestsOf(HEARTBEAT), { timeout: 20_000 }).toBeGreaterThan(beats + 7);
  expect(fetches.requestsOf(FETCH)).toBe(fetched);
  const [first] = [await reader.take(1, 1)];
  expect(first?.records).toHaveLength(10);
  expect(await take(reader, 40)).toEqual(range(10, 50));
  expect(joins).toBe(1);
  await writer.close();
});

test('a topic created again while a full queue kept the reader from fetching halts it', async () => {
  const topic = await topicOf(60);
  const reader = await openReader(topic, { ahead_bytes_max: 1 });
  await appendAll(kafka, topic, numbered(60, 5));
  await recreateTopic(kafka, topic);
  await appendAll(kafka, topic, numbered(1_000, 500));
  expect((await lossOf(reader)).message).toMatch(HALTED);
});

test('a closed reader hands on nothing more and its taker is told', async () => {
  const topic = await topicOf(0);
  const reader = await openReader(topic);
  const taken = reader.take(1, 1);
  await reader.close();
  expect(await taken).toBeUndefined();
});
