import { expect, inject, test } from 'vitest';
import { NETWORK_LIMITS } from '../../../../schemas/deposit-policy.ts';
import { isDepositEvent } from '../../../../schemas/treasury.ledger/events.ts';
import { depositIdOf } from '../../../../schemas/deposit-id.ts';
import { transferPartition } from '../../../../schemas/tron-partition.ts';
import type { Held } from '../../../../services/runtime/kafka/lease.ts';
import { accountAt, BEGIN, CUSTODY, depositKey } from '../../../support/deposit-log.ts';
import {
  expectDeposits,
  ownWorld,
  requests,
  startTreasury,
  transferTo,
} from '../../../services/treasury/world.ts';

const stack = inject('stack');

/** A lease that this process has from the start. */
class ScriptedLease implements Held {
  /** so many more looks at it find it held */
  looks = Number.POSITIVE_INFINITY;
  term = 1;
  #changed = Promise.withResolvers<void>();

  get is_held(): boolean {
    return this.looks-- > 0;
  }

  get changed(): Promise<void> {
    return this.#changed.promise;
  }

  held(): Promise<void> {
    return this.looks > 0 ? Promise.resolve() : this.changed;
  }

  yield(): void {
    throw new Error('nothing halts here');
  }

  /** Lost and gained again. */
  gain(): void {
    this.looks = Number.POSITIVE_INFINITY;
    this.term++;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

test('each transfer becomes a deposit with its fee, held outside the limits', async () => {
  const world = await ownWorld(stack);
  await world.openAddresses(6);
  const transfers = [
    // the first of an address costs 2.00, each later one 0.50
    [transferTo(0, 10_000_000n), 2_000_000n, 8_000_000n, undefined],
    [transferTo(0, 10_000_000n), 500_000n, 9_500_000n, undefined],
    [transferTo(1, 2_500_000n), 2_000_000n, 500_000n, 'below_minimum'],
    // the next of that address is no first one any more, although nothing was minted
    [transferTo(1, 1_499_999n), 500_000n, 999_999n, 'below_minimum'],
    [transferTo(1, 1_500_000n), 500_000n, 1_000_000n, undefined],
    [transferTo(2, 1_002_000_000n), 2_000_000n, 1_000_000_000n, undefined],
    [transferTo(3, 1_002_000_001n), 2_000_000n, 1_000_000_001n, 'over_single_cap'],
    [transferTo(4, 1_999_999n), 2_000_000n, 0n, 'below_minimum'],
    [transferTo(5, 2_000_000n), 2_000_000n, 0n, 'below_minimum'],
    [transferTo(5, 10n ** 60n), 500_000n, 10n ** 60n - 500_000n, 'over_single_cap'],
    [
      transferTo(0, 5_000_000n, { from: depositKey().addressAt(5) }),
      500_000n,
      4_500_000n,
      'internal_transfer',
    ],
    [transferTo(0, 5_000_000n, { from: CUSTODY }), 500_000n, 4_500_000n, 'internal_transfer'],
  ] as const;
  await world.observe(...transfers.map(([transfer]) => transfer));
  const working = startTreasury(world);
  const deposits = await expectDeposits(world, { ledger_of: working, deposits: transfers.length });

  for (const [transfer, fee, credit, held] of transfers) {
    const id = depositIdOf(transfer.tx_id, transfer.log_index);
    const ofThis = (await world.ledger()).filter(
      (event) => isDepositEvent(event) && event.deposit_id === id,
    );
    expect(ofThis).toMatchObject([
      {
        type: 'DepositConfirmed',
        tx_id: transfer.tx_id,
        gross: transfer.value,
        fee,
        credit,
        policy_version: 1,
      },
      ...(held === undefined ? [] : [{ type: 'DepositHeld', reason: held }]),
    ]);
    const [confirmed] = ofThis;
    expect(confirmed).toMatchObject({
      deposit_address: transfer.to,
      clt_address: accountAt(transfer.address_index),
    });
    if (held !== undefined) expect(ofThis[1]?.sequence).toBe((confirmed?.sequence ?? 0) + 1);
  }
  expect(
    deposits
      .filter(({ deposit_address: depositAddress }) =>
        depositAddress.equals(depositKey().addressAt(1)),
      )
      .map((each) => each.address_ordinal),
  ).toEqual([0, 1, 2]);
  expect((await world.ledger())[0]).toMatchObject({
    type: 'PolicySet',
    version: 1,
    network: 'testnet',
    ...NETWORK_LIMITS.testnet,
  });
  await working.ready();
  expect(await working.counted('treasury_deposits_held_total', 'below_minimum')).toBe(4);
  expect(await working.counted('treasury_deposits_held_total', 'over_single_cap')).toBe(2);
  expect(await working.counted('treasury_deposits_held_total', 'internal_transfer')).toBe(2);
  expect(await working.counted('treasury_policy_version')).toBe(1);
  await expect.poll(() => working.counted('treasury_lag_records')).toBe(0);
});

test('a repeated transfer is one deposit, two logs of one transaction are two, and refused transfers are none', async () => {
  const world = await ownWorld(stack);
  await world.openAddresses(3);
  const seen = transferTo(0, 7_000_000n);
  const [one, two] = [0, 1].map((log_index) =>
    transferTo(1, 5_000_000n, { tx_id: Buffer.alloc(32, 7), log_index }),
  );
  if (one === undefined || two === undefined) throw new Error('two were made');
  const own = depositKey().addressAt(2);
  const working = startTreasury(world);
  await world.observe(seen, one, two);
  await expectDeposits(world, { ledger_of: working, deposits: 3 });
  await world.observe(seen, two);
  await world.observe(
    transferTo(2, 0n),
    transferTo(2, 1_000_000n, { from: own }),
    transferTo(2, 1_000_000n, { contract: Buffer.alloc(20, 1) }),
    transferTo(2, 1_000_000n, { to: Buffer.from(own), address_index: 1 }),
    seen,
  );
  await world.tellTransfers((transferPartition(own) + 1) % 6, [transferTo(2, 1_000_000n)]);
  await world.tellTransfers(transferPartition(own), [
    { type: 'AddressesChecked', checked_at: BEGIN, checked: [{ address: own, until: BEGIN }] },
  ]);
  await world.observe(
    transferTo(0, 3_000_000n),
    transferTo(1, 3_000_000n),
    transferTo(2, 3_000_000n),
  );
  const deposits = await expectDeposits(world, { ledger_of: working, deposits: 6 });
  expect(deposits.map(({ gross }) => Number(gross)).toSorted((a, b) => a - b)).toEqual([
    3e6, 3e6, 3e6, 5e6, 5e6, 7e6,
  ]);
  await expect.poll(() => working.counted('treasury_transfers_refused_total')).toBe(5);
  for (const reason of [
    'zero_value',
    'self_transfer',
    'wrong_contract',
    'wrong_partition',
    'other_address',
  ])
    expect(await working.counted('treasury_transfers_refused_total', reason)).toBe(1);
  expect(await working.counted('treasury_transfers_waiting')).toBe(0);
});

test('a transfer to an unknown address holds up its partition alone until the address is assigned', async () => {
  const world = await ownWorld(stack);
  await world.openAddresses(10);
  const unknown = 10;
  const home = transferPartition(depositKey().addressAt(unknown));
  const known = Array.from({ length: 10 }, (_, index) => index);
  const besides = known.filter(
    (index) => transferPartition(depositKey().addressAt(index)) !== home,
  );
  const behind = known.filter((index) => transferPartition(depositKey().addressAt(index)) === home);
  const first = transferTo(unknown, 9_000_000n);
  await world.observe(
    first,
    ...behind.map((index) => transferTo(index, 4_000_000n)),
    ...besides.map((index) => transferTo(index, 5_000_000n)),
  );
  const working = startTreasury(world);
  const deposits = await expectDeposits(world, { ledger_of: working, deposits: besides.length });
  expect(deposits.every(({ gross }) => gross === 5_000_000n)).toBe(true);
  await expect
    .poll(() => working.treasury.problem?.message)
    .toMatch(
      new RegExp(
        `/${home} is held up at offset 0: .* index ${unknown}, .*What to do: look at who wrote it`,
      ),
    );
  expect(await working.counted('treasury_partitions_held_up')).toBe(1);
  expect(await working.counted('treasury_transfers_waiting')).toBe(1 + behind.length);

  await world.tellAddresses(requests(10, unknown + 1));
  const all = await expectDeposits(world, { ledger_of: working, deposits: 11 });
  expect(all[besides.length]).toMatchObject({
    tx_id: first.tx_id,
    clt_address: accountAt(unknown),
    transfer_offset: 0,
  });
  await working.ready();
});

test('a restarted treasury continues from its ledger and decides nothing twice', async () => {
  const world = await ownWorld(stack);
  await world.openAddresses(20);
  const firsts = Array.from({ length: 20 }, (_, index) => transferTo(index, 5_000_000n));
  const first = startTreasury(world);
  await world.observe(...firsts);
  await expectDeposits(world, { ledger_of: first, deposits: 20 });
  await first.stop();
  const written = await world.wholeLedger();

  await world.observe(
    ...firsts.slice(3, 9),
    ...Array.from({ length: 20 }, (_, index) => transferTo(index, 6_000_000n)),
  );
  const second = startTreasury(world);
  const deposits = await expectDeposits(world, { ledger_of: second, deposits: 40 });
  expect((await world.wholeLedger()).slice(0, written.length)).toEqual(written);
  expect(
    deposits.slice(20).every(({ gross, fee }) => gross === 6_000_000n && fee === 500_000n),
  ).toBe(true);
  await second.ready();
});

test('a treasury that gets the lease again works on, also when no record comes', async () => {
  const world = await ownWorld(stack);
  await world.openAddresses(1);
  const lease = new ScriptedLease();
  const working = startTreasury(world, { lease });
  await working.ready();
  lease.gain();
  expect(working.treasury.problem).toMatchObject({ phase: 'taking_over' });
  await working.ready();
});

test('a treasury that loses the lease while it decides follows the one that works', async () => {
  const world = await ownWorld(stack);
  await world.openAddresses(1);
  const lease = new ScriptedLease();
  const loser = startTreasury(world, { lease });
  await loser.ready();
  // held as it begins to decide, and lost as it appends
  lease.looks = 1;
  await world.observe(transferTo(0, 10_000_000n));
  await expect.poll(() => lease.looks).toBeLessThan(0);
  const winner = startTreasury(world);
  await expectDeposits(world, { ledger_of: winner, deposits: 1 });
  await expectDeposits(world, { ledger_of: loser, deposits: 1 });
  await expect.poll(() => loser.counted('treasury_transfers_waiting')).toBe(0);

  lease.gain();
  await loser.ready();
  expect(await world.wholeLedger()).toEqual(await world.ledger());
});
