import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { EMPTY_CHAIN, evolve, type Chain } from '../../projections/chain/chain.ts';
import type { BlockAppended, ChainEvent } from '../../schemas/chain.blocks/events.ts';
import { plainFold } from '../support/plain-fold.ts';
import { GeneratedChain, type ChainCounts } from './generator.ts';

function generate(
  transactions: number,
  seed: number,
): { readonly events: readonly ChainEvent[]; readonly counts: ChainCounts } {
  const chain = new GeneratedChain({ transactions, seed });
  return { events: [...chain.events()], counts: chain.counts() };
}

function digest(events: readonly ChainEvent[]): string {
  const hash = createHash('sha256');
  for (const event of events)
    hash.update(
      JSON.stringify(event, (_, value: unknown) =>
        typeof value === 'bigint' ? `${value}n` : value,
      ),
    );
  return hash.digest('hex');
}

/** The blocks that stand in the end. */
function standing(events: readonly ChainEvent[]): readonly BlockAppended[] {
  const blocks: BlockAppended[] = [];
  for (const event of events) {
    if (event.type === 'BlockAppended') blocks.push(event);
    if (event.type === 'BlockReverted') blocks.pop();
  }
  return blocks;
}

test('the same seed gives the same bytes, another seed other bytes', () => {
  const [first, again, other] = [generate(3_000, 1), generate(3_000, 1), generate(3_000, 2)];
  expect(digest(again.events)).toBe(digest(first.events));
  expect(digest(other.events)).not.toBe(digest(first.events));
});

test('every event applies at its offset, also after reorganisations', () => {
  const { events } = generate(30_000, 3);
  let chain: Chain = EMPTY_CHAIN;
  for (const [offset, event] of events.entries()) {
    const judged = evolve(chain, event, BigInt(offset));
    if (judged.verdict !== 'applied')
      throw new Error(`record ${offset} is ${JSON.stringify(judged)}`);
    chain = judged.chain;
  }
  expect(events.filter(({ type }) => type === 'BlockReverted').length).toBeGreaterThan(1);
});

test('counts() equals a plain fold of the events', () => {
  const { events, counts } = generate(20_000, 4);
  const tables = plainFold(events);
  const rowsOf = (table: string): readonly string[] => tables[table] ?? [];
  expect({
    transactions: rowsOf('transactions').length,
    blocks: rowsOf('blocks').length,
    validators: rowsOf('validators').length,
    activity: rowsOf('activity').length,
    account_transactions: rowsOf('account_transactions').length,
    accounts: rowsOf('accounts').length,
  }).toEqual({
    transactions: counts.transactions,
    blocks: counts.blocks,
    validators: counts.validators,
    activity: counts.activity,
    account_transactions: counts.account_transactions,
    accounts: counts.accounts,
  });
  expect(counts.transactions).toBe(20_000);
  for (const { address, transactions, activities, balance } of [counts.hot, counts.rare]) {
    const row = rowsOf('accounts').find((text) => text.includes(address.toString('hex')));
    expect(JSON.parse(row ?? '{}')).toMatchObject({
      transactions: String(transactions),
      activities: String(activities),
      balance: String(balance),
    });
  }
});

test('no balance is negative, and their sum is the minted less the burned amount', () => {
  const { events, counts } = generate(20_000, 5);
  const balances = new Map<string, bigint>();
  const negative: bigint[] = [];
  for (const { balance_effects: effects } of standing(events)) {
    for (const { address, delta } of effects) {
      const balance = (balances.get(address.toString('hex')) ?? 0n) + delta;
      if (balance < 0n) negative.push(balance);
      balances.set(address.toString('hex'), balance);
    }
  }
  expect(negative).toEqual([]);
  expect([...balances.values()].reduce((sum, balance) => sum + balance, 0n)).toBe(counts.supply);
});

test('half are transfers, a third has the hot address, all nine calls occur, and blocks range from empty to full', () => {
  const { events, counts } = generate(60_000, 6);
  const share = (count: number): number => count / counts.transactions;
  expect(share(counts.transactions_of_type['Transfer'] ?? 0)).toBeCloseTo(0.5, 1);
  expect(share(counts.hot.transactions)).toBeCloseTo(1 / 3, 1);
  expect(counts.rare.transactions).toBeGreaterThan(150);
  expect(Object.values(counts.transactions_of_type).filter((count) => count > 0)).toHaveLength(9);
  const sizes = standing(events).map(({ transactions }) => transactions.length);
  expect(Math.min(...sizes)).toBe(0);
  expect(Math.max(...sizes)).toBe(5_000);
});

test('the producer gets a fee for each transaction except its own, acceptances and those of the first blocks', () => {
  const { events } = generate(20_000, 7);
  for (const block of standing(events)) {
    const paid = block.balance_effects.filter(({ kind }) => kind === 'tx_fee_paid');
    if (paid.length === 0) continue;
    const owing = block.transactions.filter(
      (each) => !each.from.equals(block.producer) && each.function_call_type !== 'RideAcceptance',
    );
    expect(paid.map(({ tx_index: index }) => index)).toEqual(owing.map(({ index }) => index));
    expect(paid.every(({ counterparty }) => counterparty?.equals(block.producer) === true)).toBe(
      true,
    );
    const earned = block.balance_effects.filter(({ kind }) => kind === 'tx_fee_earned');
    expect(earned).toMatchObject([{ delta: BigInt(paid.length) * 1_000n, tx_index: null }]);
  }
});
