import { expect, inject, test } from 'vitest';
import { NETWORK_LIMITS } from '../../../../schemas/deposit-policy.ts';
import { transferPartition } from '../../../../schemas/tron-partition.ts';
import { ensureTopics } from '../../../../services/runtime/kafka/topics.ts';
import type { Topic } from '../../../../schemas/topics.ts';
import { BEGIN, depositKey, XPUB } from '../../../support/deposit-log.ts';
import { deleteRecordsBefore, withRawAdmin } from '../../../support/kafka.ts';
import {
  expectDeposits,
  expectHalted,
  ownWorld,
  requests,
  schemePinned,
  startTreasury,
  transferTo,
  type World,
} from '../../../services/treasury/world.ts';

const stack = inject('stack');
const ACCOUNTS = 8;

/** A world with a deposit of each account, and no treasury at work. */
async function settled(): Promise<World> {
  const world = await ownWorld(stack);
  await world.openAddresses(ACCOUNTS);
  await world.observe(
    ...Array.from({ length: ACCOUNTS }, (_, index) => transferTo(index, 5_000_000n)),
  );
  const working = startTreasury(world);
  await expectDeposits(world, { ledger_of: working, deposits: ACCOUNTS });
  await working.stop();
  return world;
}

async function recreate({ kafka }: World, topic: Topic): Promise<void> {
  await withRawAdmin(kafka, (admin) => admin.deleteTopics({ topics: [topic.name] }));
  await expect
    .poll(() => ensureTopics(kafka, [topic]).then(() => 'created', String))
    .toBe('created');
}

/** It halts, and nothing was written. */
async function expectRefused(world: World, why: RegExp): Promise<void> {
  const before = await world.wholeLedger();
  const working = startTreasury(world);
  await expectHalted(working, why);
  expect(await working.counted('treasury_halted')).toBe(1);
  await working.stop();
  expect(await world.wholeLedger()).toEqual(before);
}

test('a transfers topic that was recreated while no treasury ran is refused, with the same length, longer or empty', async () => {
  const world = await settled();
  const again = Array.from({ length: ACCOUNTS }, (_, index) => transferTo(index, 5_000_000n));
  await recreate(world, world.topics.transfers);
  await expectRefused(
    world,
    /the log ends at offset 0, below the \d+ that was applied.*nothing is written/,
  );
  await world.observe(...again);
  await expectRefused(
    world,
    /the record at offset \d+ is not the one that was applied.*restore the topic/,
  );
  await world.observe(...again);
  await expectRefused(world, /the record at offset \d+ is not the one that was applied/);
});

test('recreating the transfers topic halts a running treasury', async () => {
  const world = await settled();
  const working = startTreasury(world);
  await working.ready();
  await recreate(world, world.topics.transfers);
  await world.observe(
    ...Array.from({ length: 60 }, (_, at) => transferTo(at % ACCOUNTS, 5_000_000n)),
  );
  await expectHalted(
    working,
    /deleted and created again|is not the one that was applied|the log ends at offset/,
  );
  expect(await world.deposits()).toHaveLength(ACCOUNTS);
});

test('recreating the ledger halts a running treasury, which writes nothing to the new one', async () => {
  const world = await settled();
  const working = startTreasury(world);
  await working.ready();
  await recreate(world, world.topics.ledger);
  await expectHalted(
    working,
    /deleted and created again|is not the one that was applied|the log ends at offset/,
  );
  await world.observe(transferTo(0, 5_000_000n));
  await working.stop();
  expect(await world.wholeLedger()).toEqual([]);
});

test('a recreated addresses topic with other owners, or none, is refused', async () => {
  const world = await settled();
  await recreate(world, world.topics.addresses);
  await world.tellAddresses([
    { type: 'SchemePinned', scheme: 'hd', extended_public_key: XPUB, pinned_at: BEGIN },
  ]);
  await expectRefused(
    world,
    /went to T\w{33} of account 0x[0-9a-f]{40}, which deposit.addresses does not say.*restore deposit.addresses/,
  );
  await world.tellAddresses(requests(0, ACCOUNTS).toReversed());
  await expectRefused(world, /which deposit.addresses does not say/);
});

test('addresses that are derived from another key than ours halt the treasury', async () => {
  const world = await ownWorld(stack);
  const working = startTreasury(world);
  await working.ready();
  await world.tellAddresses([schemePinned(Buffer.alloc(32, 0xbd))]);
  await expectHalted(working, /pinned to the key with fingerprint 0x(?:bd){32}, /);
});

test.each([
  ['an address of his own', 0, Buffer.alloc(20, 0xbd)],
  ['the address of another account', 1, depositKey().addressAt(0)],
])(
  'a deposit to an account that somebody has given %s halts the treasury',
  async (_what, index, deposit_address) => {
    const world = await ownWorld(stack);
    const [first, second] = requests(0, 2);
    if (first === undefined || second === undefined) throw new Error('there are two requests');
    const forged = { ...(index === 0 ? first : second), deposit_address };
    const honest = index === 0 ? [] : [first];
    await world.tellAddresses([schemePinned(depositKey().fingerprint), ...honest, forged]);
    await world.observe(transferTo(index, 5_000_000n, { to: deposit_address }));
    await expectHalted(startTreasury(world), /which APP_DEPOSIT_XPUB does not derive/);
    expect(await world.deposits()).toEqual([]);
  },
);

test.each(['addresses', 'transfers', 'ledger'] as const)(
  'an undecodable record of %s halts the treasury',
  async (which) => {
    const world = await settled();
    const partition = which === 'transfers' ? transferPartition(depositKey().addressAt(0)) : 0;
    await world.appendRaw(world.topics[which], partition, [
      { key: '?', value: Buffer.from('no avro'), headers: {}, timestamp: 0 },
    ]);
    const working = startTreasury(world);
    await expectHalted(
      working,
      /the record at offset \d+ cannot be applied: .*look at that record/,
    );
  },
);

test('an event of another topic in the ledger halts the treasury', async () => {
  const world = await settled();
  const stray = { type: 'SchemePinned', scheme: 'hd', extended_public_key: XPUB, pinned_at: BEGIN };
  await world.appendRaw(world.topics.ledger, 0, [
    { key: 'scheme', value: world.codec.encode(stray), headers: {}, timestamp: 0 },
  ]);
  await expectHalted(startTreasury(world), /SchemePinned is no event that the treasury folds/);
});

test.each(['addresses', 'ledger'] as const)(
  'the deleted beginning of %s halts the treasury',
  async (which) => {
    const world = await settled();
    await deleteRecordsBefore(world.kafka, world.topics[which].name, 3);
    await expectHalted(
      startTreasury(world),
      /the log begins at offset 3, records 0 to 2 were deleted/,
    );
  },
);

test('a ledger of another network is refused', async () => {
  const world = await settled();
  const working = startTreasury(world, { network: 'mainnet', limits: NETWORK_LIMITS.mainnet });
  await expectHalted(
    working,
    /the ledger is of testnet, the settings are for mainnet.*correct APP_NETWORK/,
  );
});
