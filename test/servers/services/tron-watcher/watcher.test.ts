/** Passes over real topics, a real read model and the devnet's TRON. */
import { expect, inject, test } from 'vitest';
import { toTronAddress } from '../../../../schemas/tron-address.ts';
import { transferPartition } from '../../../../schemas/tron-partition.ts';
import { depositIdOf } from '../../../../schemas/deposit-id.ts';
import { COUNTERFEIT, USDT } from '../../../support/tron.ts';
import { openTronWorld, type TronWorld } from '../../../support/tron-world.ts';
import { addressBytes, Watching } from '../../../services/tron-watcher/watching.ts';

const stack = inject('stack');

const PAYER = 'TKx29eiTfFinZhYoi3FbaMWyud8NMdZnMb';

async function worldOf(
  addresses: number,
): Promise<{ readonly world: TronWorld; readonly people: readonly Person[] }> {
  const world = await openTronWorld(stack);
  const people = (await world.request(addresses)).map((bytes) => ({
    bytes,
    base58: toTronAddress(bytes),
  }));
  return { world, people };
}

interface Person {
  readonly bytes: Buffer;
  readonly base58: string;
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new Error(`there is no item ${index}`);
  return item;
}

test('a solidified transfer is appended once, as in its receipt, and a check records its cursor', async () => {
  const { world, people } = await worldOf(2);
  const alice = at(people, 0);
  const id = await world.tron.transfer({
    to: alice.base58,
    value: '10000000',
    from: PAYER,
    solidified: true,
  });
  const watching = new Watching(world);
  expect(await watching.pass()).toBe(2);
  expect(await watching.pass()).toBe(2);
  const receipt = await world.tron.receipt(id);
  expect(watching.observed).toEqual([
    {
      type: 'TransferObserved',
      tx_id: Buffer.from(id, 'hex'),
      log_index: 0,
      block_number: receipt?.blockNumber,
      block_timestamp: receipt?.blockTimeStamp,
      contract: addressBytes(USDT),
      from: addressBytes(PAYER),
      to: alice.bytes,
      value: 10_000_000n,
      address_index: 0,
    },
  ]);
  const { timestamp } = await world.tron.head();
  expect([watching.until(alice.bytes), watching.until(at(people, 1).bytes)]).toEqual([
    timestamp,
    timestamp,
  ]);
  const partition = transferPartition(alice.bytes);
  const [record] = (await world.records())[partition] ?? [];
  expect({
    key: String(record?.key),
    timestamp: record?.timestamp,
    event_id: String(record?.headers['event_id']),
  }).toEqual({
    key: alice.base58,
    timestamp: receipt?.blockTimeStamp,
    event_id: `${id}:0`,
  });
});

test("a clock that is days ahead delays no address, since the provider's time caps that of a check", async () => {
  const { world, people } = await worldOf(1);
  const watching = new Watching(world, { now: () => Date.now() + 3 * 86_400_000 });
  expect(await watching.pass()).toBe(1);
  const { timestamp } = await world.tron.head();
  const [checked] = watching.events;
  expect(checked).toMatchObject({
    type: 'AddressesChecked',
    checked: [{ address: at(people, 0).bytes }],
  });
  expect(checked?.type === 'AddressesChecked' && checked.checked_at).toBeLessThanOrEqual(
    timestamp + 3_600_000,
  );
});

test('three logs of one transaction to two addresses are three transfers, each with its address', async () => {
  const { world, people } = await worldOf(8);
  const alice = at(people, 0);
  const bob =
    people.find(({ bytes }) => transferPartition(bytes) !== transferPartition(alice.bytes)) ??
    alice;
  const pays = [
    { to: PAYER, value: '7' },
    { to: alice.base58, value: '1' },
    { to: bob.base58, value: '2' },
    { to: alice.base58, value: '3' },
  ];
  const id = await world.tron.transfer({ to: PAYER, value: '1', logs: pays, solidified: true });
  const watching = new Watching(world);
  await watching.pass();
  await watching.pass();
  const told = new Map(
    watching.observed.map((event) => [
      event.log_index,
      `${event.value} to ${toTronAddress(event.to)}`,
    ]),
  );
  expect(told).toEqual(
    new Map([
      [1, `1 to ${alice.base58}`],
      [2, `2 to ${bob.base58}`],
      [3, `3 to ${alice.base58}`],
    ]),
  );
  // another check may find it again before the read model has it: the same event under the same id
  const ids = new Set(watching.observed.map((event) => depositIdOf(event.tx_id, event.log_index)));
  expect(ids.size).toBe(3);
  expect(watching.observed.every((event) => event.tx_id.toString('hex') === id)).toBe(true);
  const byPartition = await world.events();
  const places = byPartition.flatMap((events, partition) =>
    events.flatMap((event) =>
      event.type === 'TransferObserved' ? [transferPartition(event.to) === partition] : [],
    ),
  );
  expect(new Set(places)).toEqual(new Set([true]));
});

test('counterfeits, reverts, approvals, TRX, TRC-10, unsolidified and dropped transactions are no transfers', async () => {
  const { world, people } = await worldOf(1);
  const { base58: to } = at(people, 0);
  const value = '5000000';
  const { tron } = world;
  await tron.transfer({ to, value, contract: COUNTERFEIT, solidified: true });
  await tron.transfer({ to, value, outcome: 'REVERT', listed: true, solidified: true });
  await tron.transfer({ to, value, outcome: 'OUT_OF_ENERGY', listed: true, solidified: true });
  await tron.transfer({
    to,
    value: String((1n << 256n) - 1n),
    event: 'Approval',
    solidified: true,
  });
  await tron.transfer({ to, value, asset: 'TRX', solidified: true });
  await tron.transfer({ to, value, asset: 'TRC10', solidified: true });
  const open = await tron.transfer({ to, value, solidified: false });
  const [dropped = ''] = await tron.block({ to, value, solidified: false });
  await world.devnet.admin('/admin/tron/drop', { transaction_id: dropped });
  const watching = new Watching(world);
  for (let pass = 0; pass < 3; pass++) await watching.pass();
  expect(watching.observed).toEqual([]);
  // a transaction with a counterfeit and a real transfer
  const mixed = await tron.transfer({
    to,
    value,
    logs: [
      { to, value, contract: COUNTERFEIT },
      { to, value: '42' },
    ],
    solidified: true,
  });
  await watching.pass();
  expect(watching.payments).toEqual([`${mixed}:1 42 to ${at(people, 0).bytes.toString('hex')}`]);
  await tron.solidify(open);
  await watching.pass();
  expect(watching.observed.map(({ tx_id }) => tx_id.toString('hex'))).toEqual([mixed, open]);
});

test('a missing receipt keeps the cursor before it and is requested again', async () => {
  const { world, people } = await worldOf(1);
  const { base58: to, bytes } = at(people, 0);
  const first = await world.tron.transfer({ to, value: '1', solidified: true });
  const late = await world.tron.transfer({ to, value: '2', solidified: true });
  const timeOfLate = (await world.tron.receipt(late))?.blockTimeStamp ?? 0;
  const real = new Watching(world).provider;
  let answered = 0;
  const provider = {
    head: () => real.head(),
    list: (question: Parameters<typeof real.list>[0]) => real.list(question),
    balance: (address: Buffer) => real.balance(address),
    balances: (all: readonly Buffer[]) => real.balances(all),
    failing: () => real.failing(),
    idle: () => real.idle(),
    receipt: (txId: Buffer) =>
      txId.toString('hex') === late && answered++ < 2
        ? Promise.resolve(undefined)
        : real.receipt(txId),
  };
  const watching = new Watching(world, { provider, overlap_ms: 0 });
  for (let pass = 0; pass < 2; pass++) {
    await watching.pass();
    expect(watching.observed.map(({ tx_id }) => tx_id.toString('hex'))).toEqual([first]);
    expect(watching.until(bytes)).toBe(timeOfLate - 1);
  }
  await watching.pass();
  expect(watching.observed.map(({ tx_id }) => tx_id.toString('hex'))).toEqual([first, late]);
  await watching.pass();
  expect(watching.until(bytes)).toBe((await world.tron.head()).timestamp);
});

test('450 transfers of one block time are read across page borders, repeated rows and small receipt limits', async () => {
  const { world, people } = await worldOf(2);
  const [alice, bob] = [at(people, 0), at(people, 1)];
  for (const { base58: to } of [alice, bob])
    await world.tron.block(
      ...Array.from({ length: 450 }, (_, index) => ({
        to,
        value: String(index + 1),
        solidified: true,
      })),
    );
  // the first pages have none before them
  await world.tron.fault('repeat', 4);
  const whole = new Watching(world);
  // each of the two lists fails once
  await whole.pass();
  await whole.pass();
  expect(new Set(whole.payments).size).toBe(900);
  expect(whole.payments.length).toBe(900);
  expect(whole.outcomes).toContain('bad_answer');

  const [carol] = (await world.request(1)).map((bytes) => ({
    bytes,
    base58: toTronAddress(bytes),
  }));
  if (carol === undefined) throw new Error('nobody');
  const transfers = Array.from({ length: 450 }, (_, index) => ({
    to: carol.base58,
    value: String(index + 1),
    solidified: true,
  }));
  const [id = ''] = await world.tron.block(...transfers);
  const time = (await world.tron.receipt(id))?.blockTimeStamp ?? 0;
  const piecemeal = new Watching(world, { receipts_max: 200 });
  for (const count of [200, 400, 450]) {
    await piecemeal.pass();
    expect(new Set(piecemeal.payments).size).toBe(count);
    expect((piecemeal.until(carol.bytes) ?? 0) >= time).toBe(count === 450);
  }
});
