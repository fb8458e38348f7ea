import { beforeAll, expect, inject, test } from 'vitest';
import type { ChainEvent } from '../../../../../schemas/chain.blocks/events.ts';
import { ensureTopics } from '../../../../../services/runtime/kafka/topics.ts';
import { readLogEnds } from '../../../../../services/runtime/kafka/ends.ts';
import { chainEvents, TestChain } from '../../../../support/chain.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { ownTopic } from '../../../../support/kafka.ts';
import {
  expectHalted,
  expectProjected,
  openOwnLog,
  openProjected,
  startRunner,
  type OwnLog,
  type Projected,
} from '../../../../services/projector/engine/running.ts';

const stack = inject('stack');
let writerUrl: string;

beforeAll(async () => {
  ({ writer_url: writerUrl } = await freshDatabase(stack));
});

async function open(): Promise<Projected> {
  return openProjected(await openOwnLog(stack), writerUrl);
}

const SOUND = [...chainEvents({ seed: 31, blocks: 12, reorg_probability: 0.1 })];
const REMEDY =
  /look at that record \(npx ops tail \S+ --partition 0 --from \d+ --limit 1\) .* at who wrote it.*ops quarantine skip \S+\/0@\d+ --actor/;

test('a record that breaks the chain halts the projection there, also after a restart', async () => {
  const { log, ...tables } = await open();
  const chain = new TestChain({ seed: 32 });
  const sound = [chain.append(2), chain.append(3), chain.revert()];
  chain.append(1);
  // it stands where it was written for, but on a block that is not in the log
  const broken = { ...chain.append(1), sequence: sound.length };
  const running = startRunner(log, tables);
  await log.append([...sound, broken, chain.append(1)]);
  const reason = new RegExp(
    `^${log.topic}/0: the record at offset 3 cannot be applied: BlockAppended 3 at height 2: the newest block is 0 [0-9a-f]{64}, to which it does not link$`,
  );
  await expectHalted(running, reason, REMEDY);
  await expectProjected(tables, sound);
  expect(await running.counted('projection_halted')).toBe(1);
  await running.stop();
  expect(running.runner.status).toMatchObject({ status: 'halted' });
  const again = startRunner(log, tables);
  await expectHalted(again, reason, REMEDY);
  await expectProjected(tables, sound);
  await again.stop();
});

test('a record that cannot be decoded halts the projection, with everything before it applied', async () => {
  const { log, ...tables } = await open();
  const running = startRunner(log, tables);
  await log.append(SOUND);
  await produceNull(log);
  await log.append(SOUND);
  const reason = `/0: the record at offset ${SOUND.length} cannot be applied: .*has no value`;
  await expectHalted(running, new RegExp(reason), REMEDY);
  await expectProjected(tables, SOUND);
});

/** The writer writes no record without a value, another producer may. */
async function produceNull(log: OwnLog): Promise<void> {
  const producer = log.kafka.raw.producer();
  await producer.connect();
  await producer.send({ topic: log.topic, messages: [{ key: '1', value: null }] });
  await producer.disconnect();
}

test('an event of another projection halts the projection', async () => {
  const { log, ...tables } = await open();
  const { isEvent } = tables.projection;
  const projection = {
    ...tables.projection,
    isEvent: (event: { type: string }): event is ChainEvent =>
      isEvent(event) && event.type !== 'BlockReverted',
  };
  const chain = new TestChain({ seed: 34 });
  const events = [chain.append(1), chain.append(1)];
  const running = startRunner(log, { ...tables, projection });
  await log.append([...events, chain.revert()]);
  await expectHalted(
    running,
    /offset 2 cannot be applied: BlockReverted is no event that explorer_\w+ folds/,
    REMEDY,
  );
  await expectProjected(tables, events);
});

async function recreate(log: OwnLog, events: readonly ChainEvent[]): Promise<void> {
  const admin = log.kafka.raw.admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [log.topic] });
  await expect.poll(async () => (await admin.listTopics()).includes(log.topic)).toBe(false);
  await expect
    .poll(() =>
      ensureTopics(log.kafka, [ownTopic({ name: log.topic })]).then(() => 'created', String),
    )
    .toBe('created');
  await admin.disconnect();
  const anew = await openOwnLog(log.stack, log.topic);
  await anew.append(events);
}

const OTHER = [...chainEvents({ seed: 35, blocks: 30, reorg_probability: 0.1 })];
const RESTORE = /restore the topic, or, if this log is the right one from now on/;

test.each([
  ['longer, with another history', OTHER],
  ['longer, with the same history written again', [...SOUND, ...SOUND]],
  ['shorter', OTHER.slice(0, 3)],
  ['empty', []],
])(
  'a topic deleted and created again, now %s, halts running and starting projectors',
  async (_, events) => {
    const { log, ...tables } = await open();
    const running = startRunner(log, tables);
    await log.append(SOUND);
    await expectProjected(tables, SOUND);
    await recreate(log, events);
    await expectHalted(running, /deleted and created again/, RESTORE);
    await running.stop();
    const again = startRunner(log, tables);
    await expectHalted(again, /deleted and created again/, RESTORE);
    await expectProjected(tables, SOUND);
  },
);

async function deleteRecords(log: OwnLog, upTo: number): Promise<void> {
  const admin = log.kafka.raw.admin();
  await admin.connect();
  // without having asked for the topic first, the client does not know its leader
  await admin.fetchTopicOffsets(log.topic);
  await admin.deleteTopicRecords({
    topic: log.topic,
    partitions: [{ partition: 0, offset: String(upTo) }],
  });
  await admin.disconnect();
  expect((await readLogEnds(log.kafka, log.topic, 0)).low).toBe(BigInt(upTo));
}

test.each([
  ['above the checkpoint', SOUND.length + 2],
  ['below the checkpoint', 2],
])('records deleted up to an offset %s halt one that starts', async (_, upTo) => {
  const { log, ...tables } = await open();
  await log.append(SOUND);
  const first = startRunner(log, tables);
  await expectProjected(tables, SOUND);
  await first.stop();
  await log.append(OTHER.slice(0, 5));
  await deleteRecords(log, upTo);
  const reason = new RegExp(
    `the log begins at offset ${upTo}, records 0 to ${upTo - 1} were deleted`,
  );
  const remedy = /restore the deleted records .*retention.ms must be -1/;
  const again = startRunner(log, tables);
  await expectHalted(again, reason, remedy);
  await expectProjected(tables, SOUND);
});

test('records deleted from the log halt a running projection', async () => {
  const { log, ...tables } = await open();
  await log.append(SOUND);
  const running = startRunner(log, tables);
  await expectProjected(tables, SOUND);
  await deleteRecords(log, 3);
  await expectHalted(
    running,
    /the log begins at offset 3, records 0 to 2 were deleted/,
    /restore the deleted records/,
  );
  await expectProjected(tables, SOUND);
});

test("a checkpoint of another cluster's log halts it before anything is read", async () => {
  const { log, ...tables } = await open();
  await log.append(SOUND);
  const first = startRunner(log, tables);
  await expectProjected(tables, SOUND);
  await first.stop();
  await tables.pool.query(
    "UPDATE projector.checkpoints SET cluster_id = 'elsewhere' WHERE projection = $1",
    [tables.projection.name],
  );
  const again = startRunner(log, tables);
  await expectHalted(
    again,
    /written against Kafka cluster elsewhere, this one is \S+/,
    /correct APP_KAFKA_BROKERS, or, if this log/,
  );
});
