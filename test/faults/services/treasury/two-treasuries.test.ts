import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { TREASURY_LEDGER, TRON_TRANSFERS } from '../../../../schemas/topics.ts';
import type { TransferEvent } from '../../../../schemas/tron.transfers/events.ts';
import { readLogEnds } from '../../../../services/runtime/kafka/ends.ts';
import { transferLog } from '../../../support/deposit-log.ts';
import { insisting } from '../../../support/kafka.ts';
import { plainArrivals } from '../../../support/plain-money.ts';
import { Random } from '../../../support/random.ts';
import { startStack, type ServiceHandle, type Stack } from '../../../support/stack.ts';
import { until } from '../../../support/until.ts';
import { figureOf } from '../../../faults/processes.ts';
import { expectLedger } from '../../../services/treasury/plain-decisions.ts';
import { openWorld, requests, type World } from '../../../services/treasury/world.ts';

/**
 * Two treasuries are killed while they read logs with every kind of record, on topics of their own.
 * `test/faults/deposits.test.ts` also kills the brokers and the read model.
 */
const SEED = 90_210;
const STAGES = 3;
/** in each stage so many more have an address */
const ACCOUNTS = 6;
const PIECE = 8;
const APP_KAFKA_PREFIX = `${randomUUID()}.`;

/**
 * One part of the log, by partition: transfers in separate transactions to the accounts of all
 * stages so far.
 */
function stageOf(stage: number): readonly (readonly TransferEvent[])[] {
  const partitions = transferLog({
    seed: SEED + stage,
    accounts: ACCOUNTS * (stage + 1),
    events: 400,
  });
  const ofStage = (event: TransferEvent): TransferEvent =>
    event.type === 'TransferObserved'
      ? { ...event, tx_id: Buffer.concat([Buffer.from([stage]), event.tx_id.subarray(1)]) }
      : event;
  return partitions.map((events) => events.map(ofStage));
}

const stages = Array.from({ length: STAGES }, (_, stage) => stageOf(stage));
const log = Array.from({ length: TRON_TRANSFERS.partitions }, (_, partition) =>
  stages.flatMap((stage) => stage[partition] ?? []),
);
let stack: Stack;
let world: World;
let both: ServiceHandle[] = [];

beforeAll(async () => {
  stack = await startStack({ others: inject('stack') });
  world = await openWorld(stack.addresses, true, APP_KAFKA_PREFIX);
});

afterAll(async () => {
  await world?.close();
  await stack?.stop();
});

function spawnTreasury(): Promise<ServiceHandle> {
  return stack.spawnService('treasury', { APP_KAFKA_PREFIX });
}

async function endOfLedger(): Promise<bigint> {
  return (
    await insisting('the end of the ledger', () =>
      readLogEnds(world.kafka, TREASURY_LEDGER.name, 0),
    )
  ).high;
}

/**
 * One part of the log, alternating between all partitions; its new accounts get their addresses
 * after transfers to them.
 */
async function feed(stage: number): Promise<void> {
  const partitions = stages[stage] ?? [];
  const longest = Math.max(...partitions.map((events) => events.length));
  for (let at = 0; at < longest; at += PIECE) {
    for (const [partition, events] of partitions.entries())
      await world.tellTransfers(partition, events.slice(at, at + PIECE));
    if (at + PIECE >= longest / 2)
      await world.tellAddresses(requests(ACCOUNTS * stage, ACCOUNTS * (stage + 1)));
  }
}

/** Feeds a part and kills one while it is decided. */
async function killDuring(stage: number, random: Random): Promise<void> {
  for (const each of both) await each.ready();
  let fed = false;
  const from = await endOfLedger();
  const records = BigInt(1 + random.below(60));
  const feeding = feed(stage).then(() => (fed = true));
  await until(
    async () => fed || (await endOfLedger()) >= from + records,
    'more records in the ledger, or the end of the part',
  );
  const victim = random.below(2);
  await both[victim]?.kill();
  both[victim] = await spawnTreasury();
  await feeding;
}

async function expectAllDecided(): Promise<void> {
  const expected = plainArrivals(log).flat().length;
  for (const each of both) {
    await each.ready();
    await expect.poll(() => figureOf(each, 'treasury_deposits_confirmed_total')).toBe(expected);
    await expect.poll(() => figureOf(each, 'treasury_transfers_waiting')).toBe(0);
  }
  expectLedger(await world.wholeLedger(), log);
}

test('two treasuries, each killed again and again, decide every transfer once, drain with exit code 0 and leave nothing to a third', async () => {
  const random = new Random(SEED);
  await world.openAddresses(ACCOUNTS);
  both = [await spawnTreasury(), await spawnTreasury()];
  for (let stage = 0; stage < STAGES; stage++) await killDuring(stage, random);
  await expectAllDecided();
  const held = await Promise.all(both.map((each) => figureOf(each, 'lease_held')));
  expect(held.reduce((sum, each) => sum + each)).toBe(1);

  for (const each of both) await each.kill('SIGTERM');
  for (const each of both) expect(await each.waitExit()).toEqual({ code: 0, signal: null });
  const before = await endOfLedger();
  const next = await spawnTreasury();
  both = [next];
  await expectAllDecided();
  expect(await endOfLedger()).toBe(before);
  await expect.poll(() => figureOf(next, 'treasury_lag_records')).toBe(0);
  expect(await figureOf(next, 'treasury_policy_version')).toBe(1);
});
