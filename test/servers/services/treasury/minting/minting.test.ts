/**
 * Minting on real topics and a real node: each deposit is minted once, despite failures of the node
 * and other users of the key.
 */
import { Wallet } from 'ethers';
import { expect, inject, test } from 'vitest';
import { depositIdOf } from '../../../../../schemas/deposit-id.ts';
import { NETWORK_LIMITS } from '../../../../../schemas/deposit-policy.ts';
import type { TransferObserved } from '../../../../../schemas/tron.transfers/events.ts';
import { toHex } from '../../../../../schemas/address.ts';
import { ChainNode } from '../../../../../services/runtime/clt-node.ts';
import { MintSigner } from '../../../../../services/treasury/minting/mint-signer.ts';
import { depositEvents } from '../../../../support/deposit-events.ts';
import { accountAt } from '../../../../support/deposit-log.ts';
import { never } from '../../../../support/kafka.ts';
import { addressOf, alice, BY, mallory, operatorsSet } from '../../../../support/operators.ts';
import {
  credited,
  ownMintWorld,
  type MintWorld,
} from '../../../../services/treasury/mint-world.ts';
import { expectHalted, transferTo } from '../../../../services/treasury/world.ts';

const stack = inject('stack');
const USD = 1_000_000n;
const DAY_MS = 86_400_000;
/** Decisions need the signature of an operator. */
const GOVERNED = { operators: [addressOf(alice)] };

function idOf({ tx_id, log_index }: TransferObserved): string {
  return depositIdOf(tx_id, log_index);
}

/** A Mint of the authority that the ledger does not request. */
async function mintUnrequested(world: MintWorld, amount: bigint): Promise<void> {
  const call = {
    function_call_type: 'Mint',
    arguments: { to: toHex(accountAt(5)), amount, reference: null },
  } as const;
  await world.devnet.send(world.authority, call);
}

test('a clock far ahead of the chain, or behind it, requests no mint and says so; with the right one minting goes on', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(1);
  const first = world.start();
  await world.world.observe(transferTo(0, 10n * USD));
  await credited(world, first, 1);
  await first.stop();
  const deposit = transferTo(0, 10n * USD);
  await world.world.observe(deposit);
  for (const years of [10, -10]) {
    const wrong = world.start({ now: () => Date.now() + years * 365 * DAY_MS });
    await expect
      .poll(() => wrong.treasury.problem)
      .toMatchObject({
        status: 'waiting',
        phase: 'minting',
        message: expect.stringContaining('clock'),
      });
    expect(await wrong.counted('treasury_minting_closed')).toBe(1);
    // it works, and could have requested the mint before
    const later = transferTo(0, 3n * USD);
    await world.world.observe(later);
    await expect.poll(() => world.storyOf(idOf(later))).toEqual(['DepositConfirmed']);
    expect(await world.storyOf(idOf(deposit))).toEqual(['DepositConfirmed']);
    await wrong.stop();
  }
  const right = world.start();
  await credited(world, right, 4);
  expect(await world.balanceOf(0)).toBe(22_500_000n);
  await right.ready();
});

test('a deposit above the single cap waits for a person; one above the rolling cap is minted when the window has moved', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(3);
  const limits = { ...NETWORK_LIMITS.testnet, single_cap: 50n * USD, rolling_cap: 100n * USD };
  // yesterday first: the brokers take no record from the future
  let shift = -DAY_MS;
  const minting = { now: () => Date.now() + shift, clock_apart_max_ms: 0 };
  const working = world.start(minting, { limits });
  const [fits, single, waits] = [
    transferTo(0, 52n * USD),
    transferTo(1, 62n * USD),
    transferTo(2, 51n * USD),
  ];
  await world.world.observe(fits);
  await credited(world, working, 1);
  await world.world.observe(single);
  await expect.poll(() => world.storyOf(idOf(single))).toEqual(['DepositConfirmed', 'DepositHeld']);
  await world.tell(depositEvents(idOf(single)).approved());
  await world.world.observe(waits);
  await credited(world, working, 2);
  expect([await world.balanceOf(0), await world.balanceOf(1), await world.balanceOf(2)]).toEqual([
    50n * USD,
    0n,
    49n * USD,
  ]);
  expect(await working.counted('treasury_deposits_waiting')).toBe(1);
  expect(working.treasury.remarks.notes).toEqual([
    expect.stringMatching(
      /^the rolling cap of 100000000 micro-USDT within 24 hours is full: 1 deposits of together 60000000 wait, and there is room for the first at 20\d\d-/,
    ),
  ]);
  expect(await world.storyOf(idOf(single))).toEqual([
    'DepositConfirmed',
    'DepositHeld',
    'DepositApproved',
  ]);
  shift = 0;
  await credited(world, working, 3);
  expect(await world.balanceOf(1)).toBe(60n * USD);
  await world.expectMinted();
});

test('each deposit is minted once despite lost answers, false answers and a person who takes nonces', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(10);
  const working = world.start();
  const modes = [
    'accept_then_timeout',
    'already_known',
    'nonce_too_low',
    'unknown_transaction',
    'human_takes_nonce',
    'status_503',
    'reset',
  ] as const;
  let count = 0;
  for (const [at, mode] of modes.entries()) {
    await world.devnet.admin('/admin/faults', { target: 'node', mode, times: 1, delay_ms: 50 });
    await world.world.observe(transferTo(at, 10n * USD));
    await credited(world, working, ++count);
    await world.devnet.admin('/admin/faults', undefined, 'DELETE');
  }
  for (const at of modes.keys()) expect(await world.balanceOf(at)).toBe(8_000_000n);
  expect(await working.counted('treasury_mints_total', 'MintDead')).toBe(1);
  expect(await working.counted('treasury_broadcasts_total', 'nonce_too_low')).toBeGreaterThan(0);
  await world.expectMinted();
});

test('a mint in a reverted block is broadcast again and credited once it is final', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(1);
  for (let blocks = 0; blocks < 3; blocks++) await world.mine();
  const working = world.start();
  await world.world.observe(transferTo(0, 10n * USD));
  await world.mineUntil(async () => (await world.mints()).length === 1, 'the mint in a block');
  expect((await world.devnet.admin('/admin/clt/reorg', { depth: 1 })).status).toBe(200);
  await world.sync();
  await credited(world, working, 1);
  expect(await world.balanceOf(0)).toBe(8_000_000n);
  await world.expectMinted();
});

test('two treasuries at once, neither with a lease, lose races and mint each deposit once', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(8);
  const both = [world.start(), world.start()] as const;
  const transfers = Array.from({ length: 40 }, (_, at) =>
    transferTo(at % 8, 10n * USD + BigInt(at)),
  );
  for (let at = 0; at < transfers.length; at += 5) {
    await world.world.observe(...transfers.slice(at, at + 5));
    await world.mine();
  }
  for (const each of both) await credited(world, each, transfers.length);
  expect((await world.mints()).length).toBe(transfers.length);
  await world.expectMinted();
  const lost = await Promise.all(both.map((each) => each.counted('treasury_races_lost_total')));
  expect(Math.max(...lost)).toBeGreaterThan(0);
});

test('an unrequested Mint by the authority halts minting, and deposits are still confirmed', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(2);
  await mintUnrequested(world, 1n);
  const working = world.start();
  await working.ready();
  for (let blocks = 0; blocks < 4; blocks++) await world.mine();
  await expect
    .poll(() => working.treasury.problem?.message)
    .toMatch(/^minting halted: .* with nonce 0 in final block 1 was never requested.*What to do: /);
  await world.world.observe(transferTo(0, 10n * USD));
  await expect.poll(() => working.counted('treasury_deposits_confirmed_total')).toBe(1);
  await working.stop();
  // the next one finds it at its start
  const next = world.start();
  await expect.poll(() => next.treasury.problem?.message).toMatch(/^minting halted: /);
  expect(await next.counted('treasury_minting_closed')).toBe(1);
  expect((await world.world.ledger()).filter(({ type }) => type === 'MintIntended')).toEqual([]);
});

test('a closed gate stops intents and broadcasts; waiting deposits are minted once it opens', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(1);
  let closed: string | undefined = 'the reserve does not match';
  const working = world.start({ allowed: () => closed });
  await world.world.observe(transferTo(0, 10n * USD));
  await expect.poll(() => working.counted('treasury_deposits_waiting')).toBe(1);
  for (let blocks = 0; blocks < 3; blocks++) await world.mine();
  expect(await working.counted('treasury_minting_closed')).toBe(1);
  expect(working.treasury.problem).toBe(undefined);
  expect(working.treasury.remarks.alarms).toEqual([
    'minting is closed: the reserve does not match',
  ]);
  expect(await world.mints()).toEqual([]);
  closed = undefined;
  await credited(world, working, 1);
  expect(await working.counted('treasury_minting_closed')).toBe(0);
  expect(working.treasury.remarks).toEqual({ alarms: [], notes: [] });
});

test('operators stop all minting at once, and open it again', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(1);
  await world.mine();
  const working = world.start({}, GOVERNED);
  await world.pinned();
  await world.decide({ type: 'MintingSet', ...BY, open: false });
  await world.world.observe(transferTo(0, 10n * USD));
  await expect.poll(() => working.counted('treasury_deposits_waiting')).toBe(1);
  await expect
    .poll(() => working.treasury.remarks.alarms[0])
    .toMatch(/^minting is closed: operators have stopped all minting/);
  for (let blocks = 0; blocks < 3; blocks++) await world.mine();
  expect((await world.world.ledger()).filter(({ type }) => type === 'MintIntended')).toEqual([]);
  await world.decide({ type: 'MintingSet', ...BY, open: true });
  await credited(world, working, 1);
});

test('a key that is not the mint authority halts the treasury with the setting to correct', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(1);
  await world.mine();
  const working = world.start({ signer: new MintSigner(`0x${'1'.repeat(64)}`, 7777) });
  await world.world.observe(transferTo(0, 10n * USD));
  await expectHalted(
    working,
    new RegExp(`whose mint authority is ${world.authority.address}; .* correct .*APP_MINT_KEY`),
  );
  expect(await world.mints()).toEqual([]);
  expect((await world.world.ledger()).filter(({ type }) => type === 'MintIntended')).toEqual([]);
});

test('a mint that is in no block for long is a health problem until a block has it', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(1);
  await world.mine();
  const working = world.start({ late_ms: 150 });
  await world.world.observe(transferTo(0, 10n * USD));
  await expect.poll(() => working.counted('treasury_mints_in_flight')).toBe(1);
  await expect
    .poll(() => working.treasury.problem?.message)
    .toMatch(
      /^the mint of deposit \S+, with nonce 0, was requested \d+ s ago and is in no block.*What to do: /,
    );
  // a block that is made before the node has the mint would be the last one, without it
  await expect
    .poll(() => working.counted('treasury_broadcasts_total', 'accepted'))
    .toBeGreaterThan(0);
  await world.mine();
  await working.ready();
  await credited(world, working, 1);
});

test('a MintDead of a stranger has no effect; one of our key is not believed without a displacing final block, and minting halts once the mint is final', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(1);
  await world.mine();
  const transfer = transferTo(0, 10n * USD);
  const working = world.start({}, GOVERNED);
  await world.world.observe(transfer);
  await expect
    .poll(() => working.counted('treasury_broadcasts_total', 'accepted'))
    .toBeGreaterThan(0);
  const intent = (await world.world.ledger()).find((event) => event.type === 'MintIntended');
  if (intent === undefined) throw new Error('nothing was requested');
  const dead = depositEvents(idOf(transfer)).dead(intent.tx_hash, intent.nonce);
  await world.tell(dead);
  await world.decide(dead, mallory);
  expect(await working.counted('treasury_mints_in_flight')).toBe(1);
  await world.decide(dead, new Wallet(world.authority.signing_key.privateKey));
  await expect.poll(() => working.counted('treasury_deposits_waiting')).toBe(1);
  for (let blocks = 0; blocks < 6; blocks++) await world.mine();
  await expect
    .poll(() => working.treasury.problem?.message)
    .toMatch(/^minting halted: .* was given up in the ledger/);
  expect(await world.mints()).toHaveLength(1);
  expect(await world.balanceOf(0)).toBe(8n * USD);

  // acknowledged, it ends the halt, and its deposit is not minted a second time
  const [mint] = await world.minted();
  if (mint === undefined) throw new Error('nothing is minted');
  await world.decide({ type: 'MintAcknowledged', ...BY, ...mint });
  await world.world.observe(transferTo(0, 10n * USD));
  await credited(world, working, 1);
  expect(await world.balanceOf(0)).toBe(8n * USD + 9_500_000n);
});

test('an acknowledged Mint ends the halt without a restart, and minting goes on', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(1);
  await mintUnrequested(world, 7n);
  const working = world.start({}, GOVERNED);
  for (let blocks = 0; blocks < 4; blocks++) await world.mine();
  await expect.poll(() => working.treasury.problem?.message).toMatch(/^minting halted: /);
  await world.world.observe(transferTo(0, 10n * USD));
  const [mint] = await world.minted();
  if (mint === undefined) throw new Error('nothing is minted');
  const acknowledged = { type: 'MintAcknowledged', ...BY, ...mint } as const;
  // nobody's word, and then an operator's
  await world.tell(acknowledged);
  await expect.poll(() => working.counted('treasury_deposits_waiting')).toBe(1);
  expect(working.treasury.problem?.message).toMatch(/^minting halted: /);
  await world.decide(acknowledged);
  await credited(world, working, 1);
  expect(await world.balanceOf(0)).toBe(8n * USD);
  await working.ready();
});

test('a chain that has minted before goes on from the pinned baseline', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(1);
  await mintUnrequested(world, 7n);
  for (let blocks = 0; blocks < 4; blocks++) await world.mine();
  const { hash } = (await world.node.block(1)) ?? { hash: Buffer.alloc(32) };
  await world.tell(operatorsSet(alice));
  const supply = { supply: 10n ** 15n, liability: 7n };
  await world.decide({
    type: 'BaselinePinned',
    ...BY,
    block_height: 1,
    block_hash: hash,
    ...supply,
  });
  const working = world.start({}, GOVERNED);
  await world.world.observe(transferTo(0, 10n * USD));
  await credited(world, working, 1);
  await working.ready();
});

/** Does something else instead of submitting a mint, once. */
class Interrupted extends ChainNode {
  interrupt: (() => Promise<void>) | undefined;

  override async submit(raw: string): ReturnType<ChainNode['submit']> {
    const { interrupt } = this;
    if (interrupt === undefined) return super.submit(raw);
    this.interrupt = undefined;
    await interrupt();
    return { code: 'nonce_too_low', json: {} };
  }
}

test('after a rotation the treasury with the key before waits, and one with the new key mints on, also a deposit whose mint was dead', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(3);
  let closed: string | undefined;
  const node = new Interrupted(world.devnet.node_url, never);
  const before = world.start({ node, allowed: () => closed }, GOVERNED);
  await world.world.observe(transferTo(0, 10n * USD));
  await credited(world, before, 1);
  // a person uses the nonce of the next mint, and minting closes
  node.interrupt = async () => {
    closed = 'the key is rotated';
    const args = { to: toHex(accountAt(5)), amount: 1n };
    await world.devnet.send(world.authority, { function_call_type: 'Transfer', arguments: args });
  };
  await world.world.observe(transferTo(1, 10n * USD));
  await world.mineUntil(
    async () => (await before.counted('treasury_mints_total', 'MintDead')) === 1,
    'a mint that is dead',
  );
  await world.devnet.admin('/admin/clt/authority', { address: mallory.address.toLowerCase() });
  await world.decide({ type: 'AuthoritySet', ...BY, version: 2, authority: addressOf(mallory) });
  closed = undefined;
  await world.mine();
  await expect
    .poll(() => before.treasury.problem)
    .toMatchObject({
      status: 'waiting',
      message: expect.stringMatching(/mint authority.*What to do: /),
    });
  await world.world.observe(transferTo(2, 10n * USD));
  await expect.poll(() => before.counted('treasury_deposits_confirmed_total')).toBe(3);
  const intents = (await world.world.ledger()).filter(({ type }) => type === 'MintIntended').length;

  const after = world.start({ signer: new MintSigner(mallory.privateKey, 7777) }, GOVERNED);
  await credited(world, after, await before.counted('treasury_deposits_confirmed_total'));
  expect(await world.balanceOf(1)).toBe(8n * USD);
  expect(await world.balanceOf(2)).toBe(8n * USD);
  const requested = (await world.world.ledger()).filter((event) => event.type === 'MintIntended');
  const nonces = requested.slice(intents).map(({ nonce }) => nonce);
  expect(nonces).toEqual(nonces.map((_, at) => at));
  await after.ready();
  await world.expectMinted();
});

test("a key other than the ledger's mints nothing, although the chain accepts it", async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(1);
  const before = world.start();
  await world.world.observe(transferTo(0, 10n * USD));
  await credited(world, before, 1);
  await before.stop();
  await world.devnet.admin('/admin/clt/authority', { address: mallory.address.toLowerCase() });
  const after = world.start({ signer: new MintSigner(mallory.privateKey, 7777) });
  await expect
    .poll(() => after.treasury.problem?.message)
    .toMatch(
      /^the mint authority of the ledger is 0x\w+ \(version 1\), and APP_MINT_KEY.*What to do: /,
    );
  await world.world.observe(transferTo(0, 10n * USD));
  await expect.poll(() => after.counted('treasury_deposits_waiting')).toBe(1);
  for (let blocks = 0; blocks < 3; blocks++) await world.mine();
  expect((await world.world.ledger()).filter(({ type }) => type === 'MintIntended')).toHaveLength(
    1,
  );
});
