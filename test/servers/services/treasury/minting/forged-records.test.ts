/** Forged records of each kind next to true deposits: writing to Kafka alone mints nothing. */
import { expect, inject, test } from 'vitest';
import { depositIdOf } from '../../../../../schemas/deposit-id.ts';
import { transferPartition } from '../../../../../schemas/tron-partition.ts';
import type { TransferObserved } from '../../../../../schemas/tron.transfers/events.ts';
import type { DepositConfirmed } from '../../../../../schemas/treasury.ledger/events.ts';
import type { TronReceipt } from '../../../../../schemas/trongrid.ts';
import { confirmedEvent, depositEvents } from '../../../../support/deposit-events.ts';
import { accountAt, USDT_CONTRACT } from '../../../../support/deposit-log.ts';
import { addressOf, alice, mallory, operatorsSet, signed } from '../../../../support/operators.ts';
import { credited, ownMintWorld } from '../../../../services/treasury/mint-world.ts';
import { transferTo } from '../../../../services/treasury/world.ts';

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
  ['with a lower fee', { fee: 0n, credit: 10n * USD }, 1],
  ['of a larger amount', { gross: 100n * USD, credit: 98n * USD }, 1],
  ['for another account', { clt_address: accountAt(3) }, 1],
  ['of a policy that is not in force', { policy_version: 0 }, 1],
  ['of a later deposit', { address_ordinal: 1, fee: USD / 2n, credit: 9_500_000n }, 1],
] as const)(
  'a confirmation %s is held, also after an approval, until it is rejected, and others are minted',
  async (_what, change, records) => {
    const world = await ownMintWorld(stack);
    await world.world.openAddresses(4);
    const working = world.start({}, GOVERNED);
    await world.mine();
    await expect.poll(() => working.counted('treasury_policy_version')).toBe(1);
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
