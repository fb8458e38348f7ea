/** Forged records of each kind next to true deposits: writing to Kafka alone mints nothing. */
import { expect, inject, test } from 'vitest';
import { parseAddress } from '../../../../../schemas/address.ts';
import { depositIdOf } from '../../../../../schemas/deposit-id.ts';
import { transferPartition } from '../../../../../schemas/tron-partition.ts';
import type { TransferObserved } from '../../../../../schemas/tron.transfers/events.ts';
import type { DepositConfirmed } from '../../../../../schemas/treasury.ledger/events.ts';
import { NETWORK_LIMITS } from '../../../../../schemas/deposit-policy.ts';
import type { TronReceipt } from '../../../../../schemas/trongrid.ts';
import { ChainNode } from '../../../../../services/runtime/clt-node.ts';
import { Fault } from '../../../../../services/runtime/process/errors.ts';
import { never } from '../../../../support/kafka.ts';
import { confirmedEvent, depositEvents } from '../../../../support/deposit-events.ts';
import { accountAt, USDT_CONTRACT } from '../../../../support/deposit-log.ts';
import {
  addressOf,
  alice,
  BY,
  mallory,
  operatorsSet,
  signed,
} from '../../../../support/operators.ts';
import {
  credited,
  ownMintWorld,
  type MintWorld,
} from '../../../../services/treasury/mint-world.ts';
import { expectDeposits, startTreasury, transferTo } from '../../../../services/treasury/world.ts';

const stack = inject('stack');
const USD = 1_000_000n;
const GOVERNED = { operators: [addressOf(alice)] };

function idOf({ tx_id, log_index }: TransferObserved): string {
  return depositIdOf(tx_id, log_index);
}

/** The confirmation that an honest treasury writes of a first deposit. */
function confirmationOf(
  transfer: TransferObserved,
  change: Partial<DepositConfirmed> = {},
): DepositConfirmed {
  const { tx_id, log_index, to, value, address_index, block_number, block_timestamp } = transfer;
  return confirmedEvent({
    tx_id,
    log_index,
    deposit_address: to,
    clt_address: accountAt(address_index),
    gross: value,
    fee: 2n * USD,
    credit: value - 2n * USD,
    block_number,
    block_timestamp,
    transfer_partition: transferPartition(to),
    transfer_offset: 0,
    ...change,
  });
}

function word(bytes: Buffer): string {
  return bytes.toString('hex').padStart(64, '0');
}

/** TRON's receipt of the transaction of this transfer. */
function receiptOf(transfer: TransferObserved): TronReceipt {
  const topic = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
  return {
    tx_id: transfer.tx_id,
    block_number: transfer.block_number,
    block_timestamp: transfer.block_timestamp,
    succeeded: true,
    logs: [
      {
        contract: USDT_CONTRACT,
        topics: [topic, word(transfer.from), word(transfer.to)],
        data: transfer.value.toString(16).padStart(64, '0'),
      },
    ],
  };
}

test.each([
  ['without a transfer', {}, 0],
  ['at a position that the topic does not have', { transfer_offset: 7_000_000 }, 0],
  ['of a larger amount', { gross: 100n * USD, credit: 98n * USD }, 1],
  ['for another account', { clt_address: accountAt(3) }, 1],
] as const)(
  'a confirmation %s is held, also after an approval, until it is rejected, and others are minted',
  async (_what, change, records) => {
    const world = await ownMintWorld(stack);
    await world.world.openAddresses(4);
    const working = world.start({}, GOVERNED);
    await world.mine();
    await expect.poll(() => working.counted('treasury_policy_version')).toBe(1);
    await world.pinned();
    const transfer = transferTo(0, 10n * USD);
    const id = idOf(transfer);
    await world.tell(confirmationOf(transfer, change));
    if (records > 0) await world.world.observe(transfer);
    await expect.poll(() => world.storyOf(id)).toEqual(['DepositConfirmed', 'DepositHeld']);
    expect(await working.counted('treasury_deposits_unproven_total')).toBe(1);
    await world.decide(depositEvents(id).approved());
    await world.world.observe(transferTo(1, 10n * USD));
    await credited(world, working, 1);
    const held = ['DepositConfirmed', 'DepositHeld', 'DepositApproved', 'DepositHeld'];
    await expect.poll(() => world.storyOf(id)).toEqual(held);
    await working.stop();

    const next = world.start({}, GOVERNED);
    await world.decide(depositEvents(id).rejected());
    await world.world.observe(transferTo(2, 10n * USD));
    await credited(world, next, 2);
    expect(await world.storyOf(id)).toEqual([...held, 'DepositRejected']);
    await world.expectMinted();
  },
);

test.each([
  ['with a lower fee', { fee: 0n, credit: 10n * USD }],
  ['with a negative fee', { fee: -USD, credit: 11n * USD }],
  ['of less than nothing', { gross: -5n * USD, fee: 0n, credit: -5n * USD }],
  ['of a policy that is not in force', { policy_version: 2 }],
  ['of a later deposit', { address_ordinal: 1, fee: USD / 2n, credit: 9_500_000n }],
] as const)('a confirmation %s has no effect, and the deposit is minted', async (_what, change) => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(1);
  const working = world.start({}, GOVERNED);
  await world.mine();
  await world.pinned();
  const transfer = transferTo(0, 10n * USD);
  await world.tell(confirmationOf(transfer, change));
  await world.world.observe(transfer);
  await credited(world, working, 1);
  expect(await world.balanceOf(0)).toBe(8n * USD);
  expect(await world.mints()).toHaveLength(1);
});

/** A treasury whose gate is closed, with a deposit of 10 USDT that waits. */
async function withWaiting(world: MintWorld) {
  await world.world.openAddresses(3);
  await world.mine();
  const gate: { closed: string | undefined } = { closed: 'not yet' };
  const working = world.start({ allowed: () => gate.closed }, GOVERNED);
  await world.pinned();
  const transfer = transferTo(0, 10n * USD);
  await world.world.observe(transfer);
  await expect.poll(() => working.counted('treasury_deposits_waiting')).toBe(1);
  return { working, gate, transfer, events: depositEvents(idOf(transfer)) };
}

test.each([
  ['the next one', 0],
  ['far away', 2 ** 50],
] as const)(
  'a forged intent, its nonce %s, has no effect: nobody waits for it, and every deposit is minted',
  async (_where, nonce) => {
    const world = await ownMintWorld(stack);
    const { working, gate, events } = await withWaiting(world);
    const forged = { nonce, tx_hash: Buffer.alloc(32, 7) };
    const intent = events.intended({ to: accountAt(0), amount: 8n * USD, ...forged });
    await world.tell(intent);
    await world.decide(intent, mallory);
    await world.world.observe(transferTo(1, 10n * USD));
    gate.closed = undefined;
    await credited(world, working, 2);
    expect([await world.balanceOf(0), await world.balanceOf(1)]).toEqual([8n * USD, 8n * USD]);
    expect(await world.mints()).toHaveLength(2);
    await working.ready();
  },
);

test('a deposit that a forged intent and a forged credit call credited is minted all the same', async () => {
  const world = await ownMintWorld(stack);
  const { working, gate, events } = await withWaiting(world);
  const hash = Buffer.alloc(32, 7);
  await world.tellTogether(
    events.intended({ to: accountAt(0), amount: 8n * USD, nonce: 0, tx_hash: hash }),
    events.credited(hash),
  );
  await world.world.observe(transferTo(1, 10n * USD), transferTo(2, 10n * USD));
  gate.closed = undefined;
  await credited(world, working, 3);
  for (const account of [0, 1, 2]) expect(await world.balanceOf(account)).toBe(8n * USD);
  expect(await world.mints()).toHaveLength(3);
  await working.ready();
});

test.each([
  ['requests', 0, false],
  ['requests far away', 2 ** 50, false],
  ['calls credited', 0, true],
] as const)(
  'a mint that an older ledger %s, and that our key did not make, is voided: its deposit is minted, and nobody waits for its nonce',
  async (_what, nonce, isCredited) => {
    const world = await ownMintWorld(stack);
    await world.world.openAddresses(2);
    await world.mine();
    const transfer = transferTo(0, 10n * USD);
    const before = startTreasury(world.world, { ...GOVERNED, limits: NETWORK_LIMITS.testnet });
    await world.world.observe(transfer);
    await expectDeposits(world.world, { ledger_of: before, deposits: 1 });
    await before.stop();
    const { address } = world.authority;
    await world.tell({
      type: 'AuthoritySet',
      ...BY,
      version: 1,
      authority: parseAddress(address) ?? Buffer.alloc(20),
    });
    const events = depositEvents(idOf(transfer));
    const hash = Buffer.alloc(32, 7);
    await world.tellTogether(
      events.intended({ to: accountAt(0), amount: 8n * USD, nonce, tx_hash: hash }),
      ...(isCredited ? [events.credited(hash)] : []),
    );
    const working = world.start({}, GOVERNED);
    await world.world.observe(transferTo(1, 10n * USD));
    // the forged credit counts as one
    await credited(world, working, isCredited ? 3 : 2);
    expect([await world.balanceOf(0), await world.balanceOf(1)]).toEqual([8n * USD, 8n * USD]);
    expect(await world.mints()).toHaveLength(2);
    expect(await working.counted('treasury_mints_total', 'MintVoided')).toBe(1);
    await working.ready();
  },
);

test('a mint in flight that is called credited before a block has it is sent until one has', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(2);
  await world.mine();
  const node = new ChainNode(world.devnet.node_url, never);
  let isAway = true;
  node.submit = (raw) =>
    isAway
      ? Promise.reject(new Fault('node_away', 'away', { retry: true }))
      : world.node.submit(raw);
  const working = world.start({ node }, GOVERNED);
  const transfer = transferTo(0, 10n * USD);
  await world.world.observe(transfer);
  await expect.poll(() => working.counted('treasury_mints_in_flight')).toBe(1);
  const intent = (await world.world.ledger()).find((event) => event.type === 'MintIntended');
  await world.tell(depositEvents(idOf(transfer)).credited(intent?.tx_hash ?? Buffer.alloc(32)));
  await expect.poll(() => working.counted('treasury_mints_in_flight')).toBe(0);
  await expect
    .poll(() => working.treasury.problem?.message)
    .toContain('is credited in the ledger, and its mint with nonce 0 is in no final block');
  isAway = false;
  await world.mineUntil(async () => (await world.balanceOf(0)) === 8n * USD, 'the mint');
  await world.mineUntil(() => working.treasury.problem === undefined, 'the final block');
  expect(await world.mints()).toHaveLength(1);
  expect(await world.storyOf(idOf(transfer))).not.toContain('MintVoided');
});

test('a stranger who writes the first policy of a ledger chooses nothing', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(1);
  await world.mine();
  const forged = { ...NETWORK_LIMITS.testnet, first_fee: 0n, rolling_cap: 10n ** 15n };
  const policy = { version: 1, network: 'testnet', ...forged };
  await world.tell({ type: 'PolicySet', ...BY, ...policy });
  const working = world.start({}, GOVERNED);
  await world.world.observe(transferTo(0, 10n * USD));
  await credited(world, working, 1);
  expect(await world.balanceOf(0)).toBe(8n * USD);
  const policies = (await world.world.ledger()).filter((event) => event.type === 'PolicySet');
  expect(policies.at(-1)).toMatchObject(NETWORK_LIMITS.testnet);
});

test('limits that nobody has signed and that are not those of the settings pin no ledger until an operator signs some', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(1);
  const before = startTreasury(world.world, { ...GOVERNED, limits: NETWORK_LIMITS.testnet });
  await before.ready();
  await world.tell(operatorsSet(alice));
  await before.stop();
  await world.mine();
  const limits = { ...NETWORK_LIMITS.testnet, rolling_cap: 2_000n * USD };
  const working = world.start({}, { ...GOVERNED, limits });
  await world.world.observe(transferTo(0, 10n * USD));
  await expect
    .poll(() => working.treasury.problem?.message)
    .toMatch(/^nobody has signed the policy in force/);
  expect((await world.world.ledger()).map(({ type }) => type)).not.toContain('LedgerPinned');
  await world.decide({ type: 'PolicySet', ...BY, version: 2, network: 'testnet', ...limits });
  await credited(world, working, 1);
  expect(await world.mints()).toHaveLength(1);
});

test('a transfer that TRON does not know is not minted, and held after a while; one that it shows is', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(2);
  const [forged, other, paid] = [
    transferTo(0, 10n * USD),
    transferTo(0, 11n * USD),
    transferTo(1, 10n * USD),
  ];
  const receipts = new Map([
    [idOf(paid), receiptOf(paid)],
    [idOf(other), { ...receiptOf({ ...other, value: 3n * USD }) }],
  ]);
  const receipt = (txId: Buffer): Promise<TronReceipt | undefined> =>
    Promise.resolve(receipts.get(depositIdOf(txId, 0)));
  const working = world.start({ receipt, late_ms: 300 });
  await world.world.observe(forged, other, paid);
  await credited(world, working, 1);
  expect(await world.storyOf(idOf(paid))).toContain('MintCredited');
  for (const each of [forged, other])
    await expect.poll(() => world.storyOf(idOf(each))).toEqual(['DepositConfirmed', 'DepositHeld']);
  await world.decide(depositEvents(idOf(forged)).approved());
  const held = ['DepositConfirmed', 'DepositHeld', 'DepositApproved', 'DepositHeld'];
  await expect.poll(() => world.storyOf(idOf(forged))).toEqual(held);
  receipts.set(idOf(forged), receiptOf(forged));
  await world.decide(depositEvents(idOf(forged)).approved());
  await expect
    .poll(() => world.storyOf(idOf(forged)))
    .toEqual([...held, 'DepositApproved', 'MintIntended']);
  await credited(world, working, 2);
  await world.expectMinted();
});

test.each([
  ['for another account', { clt_address: accountAt(1) }],
  ['of a smaller amount', { gross: 3n * USD, credit: USD }],
  ['of a larger amount', { gross: 900n * USD, credit: 898n * USD }],
  ['at another address', { deposit_address: transferTo(1, USD).to, clt_address: accountAt(1) }],
  ['at an offset without it', { transfer_offset: 7_000_000 }],
] as const)(
  'a transfer that a stranger confirms %s stays owed until a person rejects it',
  async (_what, change) => {
    const world = await ownMintWorld(stack);
    await world.world.openAddresses(3);
    const transfer = transferTo(0, 10n * USD);
    const id = idOf(transfer);
    const invented = transferTo(2, 20n * USD);
    const receipt = (txId: Buffer): Promise<TronReceipt | undefined> =>
      Promise.resolve(txId.equals(transfer.tx_id) ? receiptOf(transfer) : undefined);
    const working = world.start({ receipt }, GOVERNED);
    const { treasury } = working;
    await expect.poll(() => working.counted('treasury_policy_version')).toBe(1);
    await world.pinned();
    await world.tell(confirmationOf(transfer, change));
    await world.tell(confirmationOf(invented, { transfer_offset: 7_000_000 }));
    await world.world.observe(transfer);
    for (const each of [transfer, invented])
      await expect
        .poll(() => world.storyOf(idOf(each)))
        .toEqual(['DepositConfirmed', 'DepositHeld']);
    const { to, value } = transfer;
    await expect.poll(() => treasury.proofs.displaced()).toMatchObject([{ to, value }]);
    expect(treasury.proofs.isProven(id)).toBe(false);
    await world.decide(depositEvents(id).rejected());
    await expect.poll(() => treasury.proofs.displaced()).toEqual([]);
  },
);

test('a deposit that was held before its transfer was recorded counts as arrived after a restart', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(1);
  const transfer = transferTo(0, 10n * USD);
  const id = idOf(transfer);
  const receipt = (): Promise<TronReceipt> => Promise.resolve(receiptOf(transfer));
  const working = world.start({ receipt }, GOVERNED);
  await expect.poll(() => working.counted('treasury_policy_version')).toBe(1);
  await world.pinned();
  await world.tell(confirmationOf(transfer));
  await expect.poll(() => world.storyOf(id)).toEqual(['DepositConfirmed', 'DepositHeld']);
  await expect.poll(() => working.treasury.proofs.displaced()).toHaveLength(1);
  expect(working.treasury.proofs.isProven(id)).toBe(false);
  await working.stop();
  await world.world.observe(transfer);
  const { treasury } = world.start({ receipt }, GOVERNED);
  await expect
    .poll(() => [treasury.proofs.displaced(), treasury.proofs.isProven(id)])
    .toEqual([[], true]);
});

test('approvals and operators without the signature of one in force mint nothing', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(2);
  const small = transferTo(0, 2_500_000n);
  const working = world.start({}, GOVERNED);
  await world.world.observe(small);
  const held = ['DepositConfirmed', 'DepositHeld'];
  await expect.poll(() => world.storyOf(idOf(small))).toEqual(held);
  const { length: sequence } = await world.world.wholeLedger();
  const approval = depositEvents(idOf(small)).approved();
  await world.tell(approval);
  await world.tell(signed({ ...approval, sequence: sequence + 1 }, mallory));
  await world.tell({ ...operatorsSet(mallory), version: 2 });
  await world.tell({ ...operatorsSet(mallory), version: 1 });
  await world.tell(signed({ ...approval, sequence: sequence + 4 }, mallory));
  await world.world.observe(transferTo(1, 10n * USD));
  await credited(world, working, 1);
  expect(working.treasury.problem?.message).toBe(undefined);
  expect(await world.mints()).toHaveLength(1);
  await world.decide(approval);
  await credited(world, working, 2);
});
