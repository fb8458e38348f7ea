/** Snapshots in their topic: when one counts, and how any other is thrown away. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { TREASURY_LEDGER, TREASURY_SNAPSHOTS } from '../../../../schemas/topics.ts';
import { fingerprint, type LogEntry } from '../../../../services/runtime/kafka/record.ts';
import { partitionKey } from '../../../../services/runtime/kafka/position.ts';
import { assert } from '../../../../services/runtime/process/errors.ts';

import type { Appender, Share } from '../../../../services/runtime/kafka/port.ts';
import { KafkaWriter } from '../../../../services/runtime/kafka/writer.ts';
import { SnapshotLog } from '../../../../services/runtime/snapshots/snapshot-log.ts';
import { Snapshots } from '../../../../services/runtime/snapshots/snapshots.ts';
import { never, numbered, silentLog } from '../../../support/kafka.ts';
import { MemoryKafka } from '../../../support/memory-kafka.ts';

const KEY = Buffer.alloc(32, 7);
const { name: snapshots } = TREASURY_SNAPSHOTS;
const { name: ledger } = TREASURY_LEDGER;
const PART_BYTES = 512 * 1024;

function kafkaWith(records: number, options = {}): MemoryKafka {
  const kafka = new MemoryKafka([TREASURY_LEDGER, TREASURY_SNAPSHOTS], options);
  kafka.append(ledger, 0, numbered(0, records));
  return kafka;
}

function open(kafka: MemoryKafka, change: { key?: Buffer; version?: string } = {}): Snapshots {
  return new Snapshots({
    kafka,
    topic: TREASURY_SNAPSHOTS,
    key: KEY,
    log: silentLog(),
    names: ['count'],
    bytes_min: 100,
    version: 'ours',
    ...change,
  });
}

/** Has counted the records below `next`. */
async function written(kafka: MemoryKafka, next: number): Promise<void> {
  const record = kafka.records(ledger, 0)[next - 1];
  const last_record = record === undefined ? null : fingerprint(record);
  const positions = new Map([
    [partitionKey(ledger, 0), { next_offset: BigInt(next), last_record }],
  ]);
  const writing = open(kafka);
  writing.keep('count', () => ({ topic: ledger, positions, state: next }));
  await writing.write(never);
}

async function loaded(
  kafka: MemoryKafka,
  change: { key?: Buffer; version?: string } = {},
): Promise<{ readonly state: unknown; readonly unfit: string | undefined }> {
  const reading = open(kafka, change);
  await reading.load();
  return { state: reading.take('count')?.state, unfit: reading.unfit };
}

/** The records of its snapshots, before these records of the ledger. */
function copied(from: MemoryKafka, to: MemoryKafka): MemoryKafka {
  for (const { key, value, headers, timestamp } of from.records(snapshots, 0))
    to.append(snapshots, 0, [
      { key: String(key), value: value ?? Buffer.alloc(0), headers, timestamp },
    ]);
  return to;
}

test('a start goes on from the newest snapshot', async () => {
  const kafka = kafkaWith(9);
  expect(await loaded(kafka)).toEqual({ state: undefined, unfit: undefined });
  await written(kafka, 4);
  await written(kafka, 7);
  expect(await loaded(kafka)).toEqual({ state: 7, unfit: undefined });
});

test.each([
  ['another key has signed', { key: Buffer.alloc(32, 8) }],
  ['another version wrote', { version: 'others' }],
] as const)('one that %s is thrown away', async (_what, change) => {
  const kafka = kafkaWith(9);
  await written(kafka, 7);
  const { state, unfit } = await loaded(kafka, change);
  expect(state).toBe(undefined);
  expect(unfit).toMatch(/another key than APP_MINT_KEY|another version of the software/);
});

test('one of a log that was created again is thrown away', async () => {
  const before = kafkaWith(9);
  await written(before, 7);
  const { state, unfit } = await loaded(copied(before, kafkaWith(9, { topic_id: '1'.repeat(32) })));
  expect(state).toBe(undefined);
  expect(unfit).toBe('treasury.ledger was created again since');
});

test('one of a log with another record at its end is thrown away', async () => {
  const before = kafkaWith(9);
  await written(before, 7);
  const other = new MemoryKafka([TREASURY_LEDGER, TREASURY_SNAPSHOTS]);
  other.append(ledger, 0, numbered(100, 9));
  const { state, unfit } = await loaded(copied(before, other));
  expect(state).toBe(undefined);
  expect(unfit).toBe('treasury.ledger/0 has another record at 6 than it had');
});

test('one of a log that has lost its end is thrown away', async () => {
  const before = kafkaWith(9);
  await written(before, 7);
  const { state, unfit } = await loaded(copied(before, kafkaWith(5)));
  expect(state).toBe(undefined);
  expect(unfit).toBe('treasury.ledger/0 ends at 5, before the 7 records it had');
});

test('a restored Buffer keeps no other bytes of its snapshot in memory', async () => {
  const kafka = kafkaWith(9);
  const writing = open(kafka);
  const large = 4 * PART_BYTES;
  const positions = new Map([[partitionKey(ledger, 0), { next_offset: 0n, last_record: null }]]);
  const kept = (state: unknown) => () => ({ topic: ledger, positions, state });
  writing.keep('count', kept(Buffer.alloc(20, 7)));
  writing.keep('sum', kept(bodyOf(large, 1)));
  await writing.write(never);
  const { state } = await loaded(kafka);
  assert(Buffer.isBuffer(state), 'a Buffer comes back as one');
  expect(state).toEqual(Buffer.alloc(20, 7));
  expect(state.buffer.byteLength).toBeLessThan(large);
});

test('a fault of the brokers is one to retry, and says nothing of a snapshot', async () => {
  const kafka = new MemoryKafka([TREASURY_LEDGER]);
  await expect(loaded(kafka)).rejects.toMatchObject({ code: 'topic_missing', retry: true });
});

test('a record that is no snapshot is said to be none', async () => {
  const kafka = kafkaWith(9);
  await written(kafka, 7);
  kafka.append(snapshots, 0, [{ key: 'x', value: Buffer.from('x'), headers: {}, timestamp: 1 }]);
  const { state, unfit } = await loaded(kafka);
  expect([state, unfit]).toEqual([undefined, 'its newest record is no snapshot']);
});

/** The parts of the snapshots in its topic. */
function partsIn(kafka: MemoryKafka): LogEntry[] {
  return kafka.records(snapshots, 0).map(({ key, value, headers, timestamp }) => ({
    key: String(key),
    value: value ?? Buffer.alloc(0),
    headers,
    timestamp,
  }));
}

test('the border between id and content cannot be moved', async () => {
  const kafka = kafkaWith(9);
  await written(kafka, 7);
  const [part] = partsIn(kafka);
  assert(part !== undefined, 'a snapshot was written');
  const { key, value } = part;
  const moved = Buffer.concat([Buffer.from(key.slice(-2), 'hex'), value]);
  for (const forged of [
    { ...part, key: key.slice(0, -2), value: moved },
    { ...part, key: key.slice(0, -1), value: Buffer.concat([Buffer.from(key.slice(-1)), value]) },
    { ...part, key: `${key}${value.toString('hex', 0, 1)}`, value: value.subarray(1) },
  ]) {
    const other = kafkaWith(9);
    other.append(snapshots, 0, [forged]);
    expect((await loaded(other)).state).toBe(undefined);
  }
});

test('content that nobody can read is thrown away', async () => {
  const kafka = kafkaWith(9);
  const writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
  await logOf(kafka).append(Buffer.from('no serialized value'), writer);
  expect((await loaded(kafka)).unfit).toMatch(/^it cannot be read: /);
});

test('parts of two writers between each other, and one that is there twice, do no harm', async () => {
  const body = bodyOf(3 * PART_BYTES, 1);
  const [one, other] = await Promise.all(
    [body, bodyOf(2 * PART_BYTES, 2)].map(async (each) => {
      const alone = kafkaWith(0);
      const writer = new KafkaWriter(alone, { log: silentLog(), signal: never });
      await logOf(alone).append(each, writer);
      return partsIn(alone);
    }),
  );
  const kafka = kafkaWith(0);
  const [first, second, third] = one ?? [];
  const mixed = [first, other?.[0], second, second, other?.[1], third].flatMap(
    (each) => each ?? [],
  );
  kafka.append(snapshots, 0, mixed);
  expect(await logOf(kafka).newest()).toEqual({ body });
});

test('forged parts that name each other are not followed for ever', async () => {
  let requests = 0;
  const kafka = kafkaWith(0, { onRequest: () => requests++ });
  for (let at = 0; at < 500; at++) {
    const headers = { part: '1/2', before: String(at - 1) };
    const key = 'f'.repeat(32);
    kafka.append(snapshots, 0, [{ key, value: Buffer.from('x'), headers, timestamp: 1 }]);
  }
  requests = 0;
  expect(await logOf(kafka).newest()).toBe(undefined);
  expect(requests).toBeLessThan(50);
});

test('a fold that has failed leaves no snapshot behind', async () => {
  const kafka = kafkaWith(9);
  const writing = open(kafka);
  writing.folded(1_000);
  writing.keep('count', () => ({ topic: ledger, positions: new Map(), state: 1 }));
  expect(writing.is_due).toBe(true);
  writing.drop('count');
  expect(writing.is_due).toBe(false);
});

test('one that was written while nothing shows what was read is thrown away', async () => {
  const kafka = kafkaWith(9);
  const writing = open(kafka);
  const positions = new Map([[partitionKey(ledger, 0), { next_offset: 7n, last_record: null }]]);
  writing.keep('count', () => ({ topic: ledger, positions, state: 7 }));
  await writing.write(never);
  expect((await loaded(kafka)).unfit).toBe('treasury.ledger/0 has another record at 6 than it had');
});

test('a snapshot that cannot be written ends nothing', async () => {
  const kafka = new MemoryKafka([TREASURY_LEDGER]);
  const writing = open(kafka);
  writing.keep('count', () => ({ topic: ledger, positions: new Map(), state: 7 }));
  await writing.write(never);
  expect([writing.written_at, writing.is_due]).toEqual([undefined, false]);
});

test('folds wait while they are copied, and go on with the rest of a snapshot', async () => {
  const kafka = kafkaWith(9);
  const writing = open(kafka);
  const seen: boolean[] = [];
  const kept = (state: number) => () => {
    seen.push(writing.paused() !== undefined);
    return { topic: ledger, positions: new Map(), state };
  };
  writing.keep('count', kept(1));
  writing.keep('sum', kept(2));
  expect(writing.paused()).toBe(undefined);
  await writing.write(never);
  // each is asked for its topic before
  expect(seen).toEqual([false, false, true, true]);
  expect(writing.paused()).toBe(undefined);
});

test('one is due once all folds are there and enough was read, more after a larger one', async () => {
  const kafka = kafkaWith(9);
  const writing = open(kafka);
  writing.folded(1_000);
  expect(writing.is_due).toBe(false);
  const positions = new Map([[partitionKey(ledger, 0), { next_offset: 0n, last_record: null }]]);
  writing.keep('count', () => ({ topic: ledger, positions, state: Buffer.alloc(10_000) }));
  expect(writing.is_due).toBe(true);
  await writing.write(never);
  expect(writing.is_due).toBe(false);
  writing.folded(20_000);
  expect(writing.is_due).toBe(false);
  writing.folded(1_000);
  expect(writing.is_due).toBe(true);
});

/** As many bytes as that, no two alike for long. */
function bodyOf(bytes: number, seed: number): Buffer {
  const body = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += 4_096) body.writeUInt8((seed + at / 4_096) % 256, at);
  return body;
}

function logOf(kafka: MemoryKafka): SnapshotLog {
  return new SnapshotLog({ kafka, topic: TREASURY_SNAPSHOTS, key: KEY });
}

test.each([0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES])(
  'a snapshot of %i bytes comes back as it was',
  async (bytes) => {
    const kafka = kafkaWith(0);
    const body = bodyOf(bytes, 3);
    const writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
    await logOf(kafka).append(body, writer);
    expect(await logOf(kafka).newest()).toEqual({ body });
  },
);

/** The writer gives up at once, as if its process had ended. */
const KILLED = Object.assign(new Error('killed'), { type: 'TOPIC_AUTHORIZATION_FAILED' });

const STEP = fc.oneof(
  fc.record({
    does: fc.constant('write' as const),
    parts: fc.integer({ min: 1, max: 3 }),
    /** so many parts are in the log when the writer is killed */
    killed_after: fc.option(fc.integer({ min: 0, max: 2 })),
  }),
  fc.record({
    does: fc.constant('forge' as const),
    part: fc.constantFrom('1/1', '1/2', '2/2', '9/3', 'x', ''),
    before: fc.constantFrom('-1', '0', '1', '5', '999999', 'x', '-9'),
  }),
);

test('among killed writers and forged records it is a whole one of ours, or none', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 8 }), async (steps) => {
      const kafka = kafkaWith(0);
      const whole: Buffer[] = [];
      let isForged = false;
      for (const [at, step] of steps.entries()) {
        if (step.does === 'forge') {
          isForged = true;
          const headers = { part: step.part, before: step.before, mac: '00' };
          const value = Buffer.from('forged');
          kafka.append(snapshots, 0, [{ key: 'f'.repeat(32), value, headers, timestamp: 1 }]);
          continue;
        }
        const { parts, killed_after: killedAfter } = step;
        const body = bodyOf(parts * PART_BYTES, at);
        let left = killedAfter ?? parts;
        const appender = (): Appender => ({
          ...kafka.appender(),
          append: (...args) =>
            left-- > 0 ? kafka.appender().append(...args) : Promise.reject(KILLED),
        });
        const dying = { replication_min: 1, prefix: '', appender };
        const rest = { admin: () => kafka.admin(), fetcher: () => kafka.fetcher() };
        const share = (): Share => kafka.share();
        const writer = new KafkaWriter(
          { ...dying, ...rest, share },
          { log: silentLog(), signal: never },
        );
        const appended = logOf(kafka).append(body, writer);
        if (killedAfter === null || killedAfter >= parts) {
          await appended;
          whole.push(body);
        } else await expect(appended).rejects.toThrow('refused');
      }
      const found = await logOf(kafka).newest();
      // a forged record can take one away: the start then reads the logs
      if (!isForged) expect(found).toEqual(whole.length === 0 ? undefined : { body: whole.at(-1) });
      else if (found !== undefined && 'body' in found)
        expect(whole.some((body) => body.equals(found.body))).toBe(true);
    }),
    { numRuns: 60 },
  );
});
