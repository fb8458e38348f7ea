/** A treasury that believes no node alone: forged transactions, and a second node that lies. */
import { expect, inject, onTestFinished, test } from 'vitest';
import { ChainNode } from '../../../../../services/runtime/clt-node.ts';
import { never } from '../../../../support/kafka.ts';
import { LyingNode, type Lie } from '../../../../support/lying-node.ts';
import {
  credited,
  ownMintWorld,
  type MintWorld,
} from '../../../../services/treasury/mint-world.ts';
import { transferTo, type Working } from '../../../../services/treasury/world.ts';

const stack = inject('stack');
const USD = 1_000_000n;

async function withSecond(): Promise<{
  readonly world: MintWorld;
  readonly node: LyingNode;
  readonly working: Working;
}> {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(2);
  const node = await LyingNode.open(world.devnet.node_url);
  onTestFinished(() => node.close());
  const working = world.start({ second_node: new ChainNode(node.url, never, 2_000) });
  await world.world.observe(transferTo(0, 10n * USD));
  await credited(world, working, 1);
  return { world, node, working };
}

test.each<Lie>(['another_hash', 'no_transactions'])(
  'a second node that tells %s halts minting: nothing is minted or concluded any more',
  async (lie) => {
    const { world, node, working } = await withSecond();
    expect(await working.counted('treasury_second_node_height')).toBeGreaterThan(0);
    await world.world.observe(transferTo(1, 10n * USD));
    await expect.poll(() => working.counted('treasury_mints_in_flight')).toBe(1);
    node.lie = lie;
    await world.mineUntil(
      () => working.treasury.problem?.status === 'halted',
      'the treasury to see that the nodes disagree',
    );
    expect(await working.counted('treasury_chain_contradicted', 'second_node')).toBe(1);
    node.lie = 'none';
    await world.world.observe(transferTo(0, 10n * USD));
    await expect.poll(() => working.counted('treasury_deposits_waiting')).toBe(1);
    for (let blocks = 0; blocks < 6; blocks++) await world.mine();
    expect(await working.counted('treasury_mints_in_flight')).toBe(1);
    expect(await working.counted('treasury_mints_total', 'MintCredited')).toBe(1);
    await working.stop();

    const again = world.start({ second_node: new ChainNode(node.url, never, 2_000) });
    await credited(world, again, 3);
    await world.expectMinted();
  },
);

test('a second node that is away stops minting, and /status says so until it answers', async () => {
  const { world, node, working } = await withSecond();
  node.lie = 'away';
  await world.mineUntil(
    () => working.treasury.problem?.status === 'waiting',
    'the treasury to wait for the second node',
  );
  expect(working.treasury.problem).toMatchObject({ phase: 'minting', waits_for: 'node' });
  await world.world.observe(transferTo(1, 10n * USD));
  await expect.poll(() => working.counted('treasury_deposits_waiting')).toBe(1);
  await world.mine();
  expect(await world.mints()).toHaveLength(1);
  node.lie = 'none';
  await credited(world, working, 2);
  await world.expectMinted();
});

test('a second node whose blocks do not become final delays conclusions, then stops minting', async () => {
  const { world, node, working } = await withSecond();
  node.lie = 'behind';
  await world.world.observe(transferTo(1, 10n * USD));
  await expect
    .poll(() => working.counted('treasury_broadcasts_total', 'accepted'))
    .toBeGreaterThan(1);
  await world.mineUntil(
    () => working.treasury.problem?.waits_for === 'node',
    'the treasury to wait for the second node',
  );
  expect(await world.mints()).toHaveLength(2);
  expect(await working.counted('treasury_mints_total', 'MintCredited')).toBe(1);
  node.lie = 'none';
  await credited(world, working, 2);
  await world.expectMinted();
});

test('a block that claims another transaction of the mint authority than its bytes prove halts minting, and the mint in flight stays the only one', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(1);
  const working = world.start();
  await world.world.observe(transferTo(0, 10n * USD));
  await expect.poll(() => working.counted('treasury_mints_in_flight')).toBe(1);
  world.told = (block) => ({
    ...block,
    transactions: block.transactions.map((each) => ({ ...each, raw: Buffer.from('00', 'hex') })),
  });
  await world.mineUntil(
    () => working.treasury.problem?.status === 'halted',
    'the treasury to see the forged transaction',
  );
  expect(await working.counted('treasury_chain_contradicted', 'bytes')).toBe(1);
  await world.mine();
  const types = (await world.world.ledger()).map(({ type }) => type);
  expect(types.filter((type) => type.startsWith('Mint'))).toEqual(['MintIntended']);
  expect(await world.mints()).toHaveLength(1);
});
