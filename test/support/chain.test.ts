import { expect, test } from 'vitest';
import { EMPTY_CHAIN, evolve, type Chain } from '../../projections/chain/chain.ts';
import type { BlockAppended, ChainEvent } from '../../schemas/chain.blocks/events.ts';
import { FUNCTION_CALL_TYPES } from '../../schemas/function-call.ts';
import { bigBlock, chainEvents, TestChain } from './chain.ts';

const EVENTS: readonly ChainEvent[] = [
  ...chainEvents({ seed: 11, blocks: 600, reorg_probability: 0.15 }),
];

function isBlock(event: ChainEvent): event is BlockAppended {
  return event.type === 'BlockAppended';
}

function fold(events: Iterable<ChainEvent>): Chain {
  let chain = EMPTY_CHAIN;
  for (const event of events) {
    const judged = evolve(chain, event, BigInt(event.sequence));
    if (judged.verdict !== 'applied')
      throw new Error(`event ${event.sequence} is ${judged.verdict}`);
    chain = judged.chain;
  }
  return chain;
}

test('the events apply one by one, and are the same for the same seed', () => {
  expect(fold(EVENTS).status).toBe('growing');
  expect([...chainEvents({ seed: 11, blocks: 600, reorg_probability: 0.15 })]).toEqual(EVENTS);
  expect([...chainEvents({ seed: 12, blocks: 2 })]).not.toEqual([
    ...chainEvents({ seed: 11, blocks: 2 }),
  ]);
});

test('a chain of infinite length is generated lazily', () => {
  const endless = chainEvents({ blocks: Infinity });
  expect(fold(endless.take(100)).status).toBe('growing');
});

test('reorganisations reach down to finality, and reverted transactions return under their hashes', () => {
  let chain: Chain = EMPTY_CHAIN;
  let toFinality = 0;
  for (const event of EVENTS) {
    const judged = evolve(chain, event, BigInt(event.sequence));
    if (judged.verdict !== 'applied') throw new Error('checked before');
    chain = judged.chain;
    if (
      event.type === 'BlockReverted' &&
      chain.status === 'growing' &&
      chain.top.height === chain.finalized_height
    )
      toFinality++;
  }
  expect(toFinality).toBeGreaterThan(3);
  const hashes = EVENTS.filter(isBlock).flatMap(({ transactions }) =>
    transactions.map(({ hash }) => hash.toString('hex')),
  );
  expect(new Set(hashes).size).toBeLessThan(hashes.length);
});

test('the chain has all call types, options and amounts', () => {
  const blocks = EVENTS.filter(isBlock);
  const transactions = blocks.flatMap((block) => block.transactions);
  expect(new Set(transactions.map((each) => each.function_call_type))).toEqual(
    new Set(FUNCTION_CALL_TYPES),
  );
  expect(blocks.some((block) => block.height > 0 && block.transactions.length === 0)).toBe(true);
  expect(transactions.some(({ from, to }) => from.equals(to))).toBe(true);
  for (const amount of [2n ** 53n, 2n ** 64n])
    expect(transactions.some((each) => each.amount > amount)).toBe(true);
  for (const referrer of ['referrer', 'request_referrer', 'offer_referrer'] as const) {
    expect(new Set(transactions.map((each) => each[referrer] === null))).toEqual(
      new Set([true, false]),
    );
  }
  expect(
    blocks.some(({ producer, transactions: inside }) =>
      inside.some(({ from }) => from.equals(producer)),
    ),
  ).toBe(true);
});

test('the chain has all kinds of balance effects', () => {
  const blocks = EVENTS.filter(isBlock);
  const effects = blocks.flatMap(({ balance_effects: own, transactions }) =>
    own.map((effect) => ({
      ...effect,
      by: effect.tx_index === null ? null : transactions[effect.tx_index],
    })),
  );
  expect(new Set(blocks.map(({ producer }) => producer.toString('hex'))).size).toBe(5);
  const unsigned = effects.filter(
    ({ address, delta, by }) => delta < 0n && by?.from.equals(address) !== true,
  );
  expect(
    new Set(unsigned.map(({ kind, by }) => `${kind} of ${by?.function_call_type ?? 'the block'}`)),
  ).toEqual(
    new Set(['ride_pay of RidePay', 'ride_refund of RideCancel', 'block_reward of the block']),
  );
  expect(new Set(unsigned.map(({ address }) => address.toString('hex'))).size).toBe(2);
  const referred = Map.groupBy(
    effects.filter(({ kind, delta }) => kind === 'referrer_fee' && delta > 0n),
    ({ by }) => by,
  );
  expect(new Set([...referred.values()].map((each) => each.length))).toEqual(new Set([1, 2]));
  const moved = new Set(
    effects.filter(({ delta }) => delta !== 0n).map(({ address }) => address.toString('hex')),
  );
  const unmoved = effects.filter(({ delta }) => delta === 0n);
  expect(new Set(unmoved.map(({ address }) => moved.has(address.toString('hex'))))).toEqual(
    new Set([true, false]),
  );
  expect(new Set(unmoved.map(({ tx_index: index }) => index === null))).toEqual(
    new Set([true, false]),
  );
});

test('balances are never negative, effects sum up to minted less burned, nonces are consecutive', () => {
  const balances = new Map<string, bigint>();
  const nonces = new Map<string, number>();
  const standing: BlockAppended[] = [];
  const move = ({ balance_effects: effects }: BlockAppended, sign: bigint): void => {
    for (const { address, delta } of effects) {
      const key = address.toString('hex');
      balances.set(key, (balances.get(key) ?? 0n) + sign * delta);
    }
  };
  for (const event of EVENTS) {
    if (event.type === 'BlockReverted') {
      const block = standing.pop();
      if (block === undefined) throw new Error('a revert of nothing');
      move(block, -1n);
      for (const { from } of block.transactions)
        nonces.set(from.toString('hex'), (nonces.get(from.toString('hex')) ?? 0) - 1);
    }
    if (!isBlock(event)) continue;
    standing.push(event);
    move(event, 1n);
    const sum = (kinds: (kind: string) => boolean): bigint =>
      event.balance_effects.reduce(
        (total, { kind, delta }) => (kinds(kind) ? total + delta : total),
        0n,
      );
    expect(sum(() => true)).toBe(sum((kind) => kind === 'mint' || kind === 'burn'));
    const following = event.transactions.map(({ from, nonce }) => {
      const next = nonces.get(from.toString('hex')) ?? 0;
      nonces.set(from.toString('hex'), nonce + 1);
      return next;
    });
    expect(event.transactions.map(({ nonce }) => nonce)).toEqual(following);
    expect(balances.values().find((balance) => balance < 0n)).toBeUndefined();
  }
});

function feesOf(block: BlockAppended): bigint {
  return block.balance_effects.reduce(
    (sum, { kind, delta }) => (kind === 'tx_fee_paid' ? sum - delta : sum),
    0n,
  );
}

test('every block from the first with fees has one, unless its transactions are free', () => {
  const chain = new TestChain({ fees_from: 3 });
  const blocks = Array.from({ length: 5 }, (_, at) => chain.append(at === 0 ? 0 : 20));
  expect(blocks.map((block) => feesOf(block) > 0n)).toEqual([false, false, false, true, true]);
  for (const block of blocks) {
    const earned = block.balance_effects
      .filter(({ kind }) => kind === 'tx_fee_earned')
      .reduce((sum, { delta }) => sum + delta, 0n);
    expect(earned).toBe(feesOf(block));
  }
});

test('impossible options are refused', () => {
  const chain = new TestChain();
  chain.append(1);
  expect(() => chain.revert()).toThrow('the first block cannot be reverted');
  chain.append(1);
  chain.finalize(1);
  expect(() => chain.revert()).toThrow('block 1 cannot be reverted');
  expect(() => chain.finalize(1)).toThrow('not one that could become final');
  expect(() => chain.finalize(7)).toThrow('not one that could become final');
});

test('a big block has the requested number of transactions', () => {
  const block = bigBlock(20_000);
  expect(block).toMatchObject({ sequence: 0, height: 0 });
  expect(block.transactions.map(({ index }) => index)).toEqual(
    Array.from({ length: 20_000 }, (_, at) => at),
  );
  expect(fold([block]).status).toBe('growing');
});
