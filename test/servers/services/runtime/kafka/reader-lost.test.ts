import { expect, inject, test } from 'vitest';
import { readLogEnds } from '../../../../../services/runtime/kafka/ends.ts';
import {
  appendAll,
  deleteRecordsBefore,
  numbered,
  readAll,
  recreateTopic,
  testKafka,
  topicOf,
} from '../../../../support/kafka.ts';
import { applied, lossOf, openReader, take } from '../../../../support/reader.ts';

const kafka = testKafka(inject('stack'));
const HALTED =
  /the log ends at offset|is not the one that was applied|was deleted and created again while it was read/;

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

test('a log with a hole, as a transactional producer makes it, halts the reader before the hole', async () => {
  const topic = await topicOf(kafka, 3);
  const producer = kafka.raw.producer({
    transactionalId: topic,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  const transaction = await producer.transaction();
  await transaction.send({ topic, messages: [{ value: '3' }] });
  await transaction.commit();
  await producer.disconnect();
  // the end of the transaction takes offset 4
  await expect.poll(async () => (await readLogEnds(kafka, topic, 0)).high).toBe(5n);
  await appendAll(kafka, topic, numbered(5, 1));
  const reader = await openReader(kafka, topic);
  const lost = await lossOf(reader);
  expect(lost.message).toContain(
    'the log has no record at offset 4, after the one before it comes 5',
  );
  expect(lost.remedy).toContain('look at who writes to this topic');
});
