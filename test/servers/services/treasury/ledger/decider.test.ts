import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { NETWORK_LIMITS } from '../../../../../schemas/deposit-policy.ts';
import { transferPartition } from '../../../../../schemas/tron-partition.ts';
import type { TreasuryEvent } from '../../../../../schemas/treasury.ledger/events.ts';
import { KafkaWriter } from '../../../../../services/runtime/kafka/writer.ts';
import { TREASURY_LEDGER, TRON_TRANSFERS } from '../../../../../schemas/topics.ts';
import { depositIdOf } from '../../../../../schemas/deposit-id.ts';
import { TRANSFERS_OF_EACH } from '../../../../../services/treasury/ledger/decider.ts';
import { toEntries } from '../../../../../services/treasury/ledger/ledger-writer.ts';
import { confirmedEvent, depositEvents } from '../../../../support/deposit-events.ts';
import { accountAt, depositKey, transferLog } from '../../../../support/deposit-log.ts';
import { plainArrivals } from '../../../../support/plain-money.ts';
import { readLogEnds } from '../../../../../services/runtime/kafka/ends.ts';
import { expectLedger } from '../../../../services/treasury/plain-decisions.ts';
import {
  expectDeposits,
  ownWorld,
  requests,
  startTreasury,
  transferTo,
  type World,
} from '../../../../services/treasury/world.ts';

const stack = inject('stack');

/** Appends `rival` immediately before the next append to the ledger. */
function writeBefore(world: World, rival: readonly TreasuryEvent[]): void {
  const append: unknown = Reflect.get(KafkaWriter.prototype, 'append');
  if (typeof append !== 'function') throw new Error('a writer without append');
  let written = false;
  const spy = vi.spyOn(KafkaWriter.prototype, 'append').mockImplementation(async function (
    this: KafkaWriter,
    ...batch
  ) {
    if (batch[0] === world.topics.ledger.name && !written) {
      written = true;
      await world.write(...rival);
    }
    return Reflect.apply(append, this, batch);
  });
  onTestFinished(() => spy.mockRestore());
}

test('the first of two confirmations of one transfer counts, and the loser decides nothing again', async () => {
  const world = await ownWorld(stack);
  await world.openAddresses(1);
  const working = startTreasury(world);
  await working.ready();
  const transfer = transferTo(0, 2_100_000n);
  const of = {
    deposit_address: transfer.to,
    clt_address: accountAt(0),
    transfer_partition: transferPartition(transfer.to),
    tx_id: transfer.tx_id,
  };
  const theirs = confirmedEvent({
    ...of,
    sequence: 1,
    gross: 2_100_000n,
    credit: 100_000n,
    decided_at: 77,
  });
  writeBefore(world, [
    theirs,
    { ...depositEvents(theirs.deposit_id).held('below_minimum'), sequence: 2 },
  ]);
  await world.observe(transfer);
  await expect.poll(() => working.counted('treasury_races_lost_total')).toBe(1);
  await expect.poll(() => working.counted('treasury_transfers_waiting')).toBe(0);
  expect((await world.wholeLedger()).map(({ type, sequence }) => [type, sequence])).toEqual([
    ['PolicySet', 0],
    ['DepositConfirmed', 1],
    ['DepositHeld', 2],
    ['DepositConfirmed', 1],
    ['DepositHeld', 2],
  ]);
  expect(await world.deposits()).toMatchObject([theirs]);
});

test('a batch that lost a race is decided again on the ledger of the winner', async () => {
  const world = await ownWorld(stack);
  await world.openAddresses(1);
  const working = startTreasury(world);
  await working.ready();
  const { testnet } = NETWORK_LIMITS;
  writeBefore(world, [
    {
      type: 'PolicySet',
      sequence: 1,
      version: 2,
      network: 'testnet',
      ...testnet,
      first_fee: 3_000_000n,
      decided_at: 77,
    },
  ]);
  await world.observe(transferTo(0, 10_000_000n));
  const [deposit] = await expectDeposits(world, { ledger_of: working, deposits: 1 });
  expect(deposit).toMatchObject({
    sequence: 3,
    policy_version: 2,
    fee: 3_000_000n,
    credit: 7_000_000n,
  });
  expect(await working.counted('treasury_races_lost_total')).toBe(1);
  expect(await working.counted('treasury_policy_is_own')).toBe(0);
  await working.stop();
  expect((await world.ledger()).map(({ type }) => type)).toEqual([
    'PolicySet',
    'PolicySet',
    'DepositConfirmed',
  ]);
});

test('the topic accepts the largest possible batch in one append', async () => {
  const world = await ownWorld(stack);
  const large = 10n ** 77n;
  const far = 2 ** 52;
  const events = Array.from({ length: TRANSFERS_OF_EACH * TRON_TRANSFERS.partitions }, (_, at) => {
    const places = {
      sequence: far,
      block_number: far,
      address_ordinal: far,
      transfer_offset: far,
      log_index: 2 ** 31 - 1,
    };
    const tx_id = Buffer.alloc(32, at);
    const confirmed = confirmedEvent({
      ...places,
      tx_id,
      gross: large,
      fee: large,
      credit: large,
      policy_version: 2 ** 31 - 1,
    });
    return [
      confirmed,
      { ...depositEvents(depositIdOf(tx_id, 0)).held('over_single_cap'), sequence: far },
    ];
  }).flat();
  const entries = toEntries(world.codec, events);
  const bytes = entries.reduce(
    (sum, { key, value, headers }) =>
      sum + key.length + value.length + JSON.stringify(headers).length + 32,
    0,
  );
  expect(bytes).toBeLessThan(Number(TREASURY_LEDGER.config['max.message.bytes']));
  expect(await world.appendTogether(entries)).toBe(0n);
});

test('more transfers than a batch holds are decided in order, batch by batch', async () => {
  const world = await ownWorld(stack);
  await world.openAddresses(2);
  const count = 3 * TRANSFERS_OF_EACH + 7;
  const transfers = Array.from({ length: count }, (_, at) =>
    transferTo(at % 2, 5_000_000n + BigInt(at)),
  );
  await world.observe(...transfers);
  const working = startTreasury(world);
  const deposits = await expectDeposits(world, { ledger_of: working, deposits: count });
  for (const index of [0, 1])
    expect(
      deposits
        .filter(({ deposit_address: depositAddress }) =>
          depositAddress.equals(depositKey().addressAt(index)),
        )
        .map(({ gross }) => gross),
    ).toEqual(
      transfers.filter(({ address_index }) => address_index === index).map(({ value }) => value),
    );
});

test('a partition that is held up stops reading when its queue is full, until its address is assigned', async () => {
  const world = await ownWorld(stack);
  await world.openAddresses(1);
  const home = transferPartition(depositKey().addressAt(0));
  const unknown = Array.from({ length: 50 }, (_, at) => at + 1).find(
    (index) => transferPartition(depositKey().addressAt(index)) === home,
  );
  if (unknown === undefined) throw new Error('no address shares the partition');
  await world.observe(transferTo(unknown, 5_000_000n));
  const working = startTreasury(world);
  await expect.poll(() => working.counted('treasury_partitions_held_up')).toBe(1);
  const behind = Array.from({ length: 3_000 }, (_, at) => transferTo(0, 5_000_000n + BigInt(at)));
  await world.observe(...behind);
  // a chunk of 500 records is taken whole
  await expect
    .poll(() => working.counted('treasury_transfers_waiting'))
    .toBeGreaterThanOrEqual(2_000);
  expect(await working.counted('treasury_transfers_waiting')).toBeLessThan(2_500);
  await world.tellAddresses(requests(1, unknown + 1));
  const deposits = await expectDeposits(world, { ledger_of: working, deposits: 3_001 });
  expect(deposits.map(({ gross }) => gross)).toEqual([
    5_000_000n,
    ...behind.map(({ value }) => value),
  ]);
});

test.each([11, 12])(
  'three treasuries over a random log (seed %i) decide every transfer once, in the order of its partition',
  async (seed) => {
    const world = await ownWorld(stack);
    const log = transferLog({ seed, accounts: 25, events: 800 });
    await world.openAddresses(25);
    const half = log.map((events) => events.slice(0, events.length / 2));
    for (const [partition, events] of half.entries()) await world.tellTransfers(partition, events);
    const working = [startTreasury(world), startTreasury(world), startTreasury(world)];
    for (const [partition, events] of log.entries())
      await world.tellTransfers(partition, events.slice(half[partition]?.length));
    for (const each of working)
      await expectDeposits(world, {
        ledger_of: each,
        deposits: plainArrivals(log).flat().length,
      });
    for (const each of working)
      await expect.poll(() => each.counted('treasury_transfers_waiting')).toBe(0);
    expectLedger(await world.wholeLedger(), log);
    const { high } = await readLogEnds(world.kafka, world.topics.ledger.name, 0);
    for (const each of working)
      expect(await each.counted('treasury_position', world.topics.ledger.name)).toBe(Number(high));
  },
);
