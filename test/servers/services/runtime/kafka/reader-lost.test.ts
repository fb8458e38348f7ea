import { describe, expect, inject, test } from 'vitest';
import { readLogEnds } from '../../../../../services/runtime/kafka/ends.ts';
import { fingerprint } from '../../../../../services/runtime/kafka/record.ts';
import {
  appendAll,
  CLIENTS,
  deleteRecordsBefore,
  numbered,
  readAll,
  recreateTopic,
  testKafka,
  topicOf,
} from '../../../../support/kafka.ts';
import { applied, lossOf, openReader, take } from '../../../../support/reader.ts';

const stack = inject('stack');
const HALTED =
  /the log ends at offset|is not the one that was applied|was deleted and created again while it was read/;

describe.each(CLIENTS)('with %s', (client) => {
  const kafka = testKafka(stack, undefined, {}, client);

  test.each([
    ['above the position', 50, 20],
    ['up to the position', 50, 50],
    ['below the position', 50, 80],
    ['when nothing was applied', 50, 0],
  ])('deleted records halt a reader that starts: %s', async (_where, low, next) => {
    const topic = await topicOf(kafka, 100);
    const records = await readAll(kafka, topic);
    await deleteRecordsBefore(kafka, topic, low);
    const lost = await lossOf(
      await openReader(kafka, topic, {
        positions: () => Promise.resolve(applied(topic, records, next)),
      }),
    );
    expect(lost.message).toContain(
      `the log begins at offset ${low}, records 0 to ${low - 1} were deleted (this projection continues at ${next})`,
    );
    expect(lost.remedy).toContain('restore the deleted records');
  });

  test.each([
    ['empty', 0, 'the log ends at offset 0, below the 60 that was applied'],
    ['shorter', 59, 'the log ends at offset 59, below the 60 that was applied'],
    ['as long', 60, 'the record at offset 59 is not the one that was applied'],
    ['longer', 100, 'the record at offset 59 is not the one that was applied'],
  ])(
    'a topic created again while nobody read halts the reader that starts: now %s',
    async (_length, length, message) => {
      const topic = await topicOf(kafka, 60);
      const records = await readAll(kafka, topic);
      await recreateTopic(kafka, topic);
      // the same keys and values: they differ in their trace only
      const again = numbered(0, length).map((entry) =>
        Object.assign(entry, { headers: { ...entry.headers, trace_id: 'another' } }),
      );
      if (length > 0) await appendAll(kafka, topic, again);
      const lost = await lossOf(
        await openReader(kafka, topic, {
          positions: () => Promise.resolve(applied(topic, records, 60)),
        }),
      );
      expect(lost.message).toContain(message);
      expect(lost.remedy).toContain('restore the topic');
    },
  );

  test.each([
    ['shorter', 59],
    ['as long, and growing', 61],
    ['longer', 100],
  ])('a topic created again under a reader halts it: now %s', async (_length, length) => {
    const topic = await topicOf(kafka, 60);
    const records = await readAll(kafka, topic);
    let next = 0;
    const reader = await openReader(kafka, topic, {
      positions: () => Promise.resolve(applied(topic, records, next)),
    });
    next = (await take(reader, 60)).length;
    await recreateTopic(kafka, topic);
    await appendAll(kafka, topic, numbered(1_000, length));
    expect((await lossOf(reader)).message).toMatch(HALTED);
  });

  test('a topic created again while a full queue kept the reader from fetching halts it', async () => {
    const topic = await topicOf(kafka, 60);
    const reader = await openReader(kafka, topic, { ahead_bytes_max: 1 });
    expect(await take(reader, 1)).toContain(0);
    await appendAll(kafka, topic, numbered(60, 5));
    await recreateTopic(kafka, topic);
    await appendAll(kafka, topic, numbered(1_000, 500));
    expect((await lossOf(reader)).message).toMatch(HALTED);
  });

  /** A transaction of one record. */
  async function transact(topic: string, value: string, end: 'commit' | 'abort'): Promise<void> {
    const producer = kafka.raw.producer({
      transactionalId: topic,
      idempotent: true,
      maxInFlightRequests: 1,
    });
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: [{ value }] });
    await transaction[end]();
    await producer.disconnect();
  }

  test('marks of transactions and aborted records take offsets and have no effect, wherever reading begins', async () => {
    const topic = await topicOf(kafka, 3);
    await transact(topic, '3', 'commit');
    await transact(topic, '5', 'abort');
    await expect.poll(async () => (await readLogEnds(kafka, topic, 0)).high).toBe(7n);
    const reader = await openReader(kafka, topic);
    const values: string[] = [];
    // the end of the log is reached, although it is no record
    for (let next = 0n; next < 7n;) {
      const chunk = await reader.take(10, 10_000);
      expect(chunk?.from).toBe(next);
      values.push(...(chunk?.records ?? []).map(({ value }) => String(value)));
      next = chunk?.next ?? 7n;
    }
    expect(values).toEqual(['0', '1', '2', '3']);
    await appendAll(kafka, topic, numbered(7, 1));
    expect(await take(reader, 1)).toEqual([7]);
    const records = await readAll(kafka, topic);
    expect(records.map(({ offset }) => offset)).toEqual([0n, 1n, 2n, 3n, 7n]);
    const last = records[3];
    for (const next of [4n, 5n, 7n]) {
      const last_record = last === undefined ? null : fingerprint(last);
      const again = await openReader(kafka, topic, {
        positions: () =>
          Promise.resolve(new Map([[`${topic}/0`, { next_offset: next, last_record }]])),
      });
      expect(await take(again, 1)).toEqual([7]);
    }
  });
});
