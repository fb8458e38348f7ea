import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { ChainEvent } from '../../../../../schemas/chain.blocks/events.ts';
import { rebuild } from '../../../../../services/projector/rebuild/rebuild.ts';
import { chainEvents, TestChain } from '../../../../support/chain.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { differences, plainFold, readTables } from '../../../../support/plain-fold.ts';
import { never, silentLog } from '../../../../support/kafka.ts';
import { opsHere, type Ended } from '../../../../services/ops/operator.ts';
import {
  appliedUpTo,
  expectHalted,
  expectProjected,
  openOwnLog,
  openProjected,
  startRunner,
  type OwnLog,
  type Projected,
} from '../../../../services/projector/engine/running.ts';

const stack = inject('stack');
const folder = mkdtempSync(join(tmpdir(), 'clt-quarantine-'));
const stackFile = join(folder, 'stack.json');
const BY = ['--actor', 'a', '--reason', 'b'];
const HALTED = /cannot be applied: the value does not begin as Avro/;
const REMEDY = /ops quarantine skip \S+\/0@\d+ --actor NAME --reason TEXT/;
/** Stands for a record that says nothing. */
const NOTHING: ChainEvent = { ...new TestChain({ seed: 1 }).append(0), sequence: -1 };

/** `ops quarantine` */
function ops(...words: readonly string[]): Promise<Ended> {
  return opsHere(['quarantine', ...words, '--stack', stackFile]);
}

let writerUrl: string;

beforeAll(async () => {
  const database = await freshDatabase(stack);
  writerUrl = database.writer_url;
  writeFileSync(stackFile, JSON.stringify({ ...stack, postgres_reader_url: database.reader_url }));
});

afterAll(() => rmSync(folder, { recursive: true }));

const GARBAGE = { key: '1', value: Buffer.from('no Avro'), headers: {}, timestamp: 0 };

/** A chain with one undecodable record, and sequences after it that count it. */
function chainAround(seed: number, garbageAt: number): readonly ChainEvent[] {
  const events = [...chainEvents({ seed, blocks: 20, reorg_probability: 0.1 })];
  const before = events.slice(0, garbageAt);
  const after = events
    .slice(garbageAt)
    .map((event) => Object.assign(event, { sequence: event.sequence + 1 }));
  return [...before, NOTHING, ...after];
}

async function appendWithGarbage(log: OwnLog, events: readonly ChainEvent[]): Promise<void> {
  for (const event of events)
    await (event === NOTHING ? log.appendRaw([GARBAGE]) : log.append([event]));
}

test('a poison record halts the projection until a person skips it, and replays skip the same', async () => {
  const world = await openProjected(await openOwnLog(stack), writerUrl);
  const { name } = world.projection;
  const events = chainAround(71, 9);
  const running = startRunner(world.log, world);
  await appendWithGarbage(world.log, events);
  await expectHalted(running, HALTED, REMEDY);
  await expectProjected(world, events.slice(0, 9));
  expect(await running.counted('projection_halted')).toBe(1);

  const list = await ops('list', '--json');
  const halting: readonly { projection: string }[] = JSON.parse(list.stdout);
  expect(halting.filter(({ projection }) => projection === name)).toMatchObject([
    {
      topic: world.log.topic,
      partition: 0,
      offset: '9',
      state: 'halts',
      skipped_at: null,
      error: expect.stringContaining('does not begin as Avro'),
    },
  ]);
  const record = `${world.log.topic}/0@9`;
  const skipping = ['skip', record, '--actor', 'alice', '--reason', 'a test wrote it'];
  expect(await ops(...skipping)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(
      `the skip of ${world.log.topic}/0@9 was decided now: projector.skips/0@`,
    ),
    stderr: expect.stringMatching(/names its writer \(npx ops tail .*npx ops audit/),
  });
  await expectProjected(world, events);
  expect(running.runner.status).toEqual({ status: 'running' });
  expect(await running.counted('projection_records_total', 'skipped')).toBe(1);
  expect((await ops('list')).stdout).toMatch(
    new RegExp(`^${name} +${world.log.topic}/0@9 +SKIPPED +[-\\d]+ [:\\d]+ `, 'm'),
  );
  expect(await ops(...skipping)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`the skip of ${record} was decided before`),
  });
  await running.stop();

  // another projection, loaded from offset 0, and a rebuild do not halt
  const replayed = await openProjected(world.log, writerUrl);
  const again = startRunner(world.log, replayed);
  await expectProjected(replayed, events);
  expect(await digestOf(replayed)).toEqual(await digestOf(world));
  await again.stop();
  const options = {
    ...world,
    postgres_url: writerUrl,
    kafka: world.log.kafka,
    codec: world.log.codec,
    signal: never,
  };
  const rebuilt = await rebuild({ ...options, log: silentLog() });
  expect(rebuilt).toMatchObject({ version: world.projection.version });
  expect(differences(await readTables(world.pool, name), plainFold(events))).toEqual([]);
  expect(await digestOf(world)).toEqual(await digestOf(replayed));
});

async function digestOf({ pool, projection }: Projected): Promise<unknown> {
  const { rows } = await pool.query<object>(
    'SELECT next_offset, digest, last_record FROM projector.checkpoints WHERE projection = $1',
    [projection.name],
  );
  return rows;
}

test('the last and the first record can be skipped; a skip is for that record alone', async () => {
  const log = await openOwnLog(stack);
  const world = await openProjected(log, writerUrl);
  await log.appendRaw([GARBAGE]);
  const running = startRunner(log, world);
  await expectHalted(running, HALTED, REMEDY);
  expect((await ops('skip', `${log.topic}/0@0`, ...BY)).code).toBe(0);
  await expect.poll(() => appliedUpTo(world)).toBe(1n);
  await log.appendRaw([GARBAGE]);
  await expectHalted(running, HALTED, REMEDY);
  expect(await appliedUpTo(world)).toBe(1n);
});

test('after a skipped block the next block breaks the chain and halts the projection again', async () => {
  const log = await openOwnLog(stack);
  const world = await openProjected(log, writerUrl);
  const chain = new TestChain({ seed: 72 });
  const first = chain.append(1);
  const lost = chain.append(1);
  await log.append([first, { ...lost, parent_hash: Buffer.alloc(32, 9) }, chain.append(1)]);
  const running = startRunner(log, world);
  await expectHalted(running, /offset 1 cannot be applied: .* does not link/, REMEDY);
  expect((await ops('skip', `${log.topic}/0@1`, ...BY)).code).toBe(0);
  await expect
    .poll(() => running.runner.status)
    .toMatchObject({
      status: 'halted',
      reason: expect.stringMatching(/offset 2 cannot be applied: .* does not link/),
    });
});

test('a wrong skip is refused before anything is written', async () => {
  const refused = [
    await ops(),
    await ops('skp'),
    await ops('skip', 'deposits'),
    await ops('skip', 'explorer', ...BY),
  ];
  expect(refused.map(({ code }) => code)).toEqual([1, 1, 1, 1]);
  expect(refused.map(({ stderr }) => stderr)).toEqual([
    expect.stringContaining('a command is missing'),
    expect.stringContaining('did you mean skip?'),
    expect.stringContaining('Missing required arguments: actor, reason'),
    expect.stringContaining('explorer names no record: give TOPIC/PARTITION@OFFSET'),
  ]);
});
