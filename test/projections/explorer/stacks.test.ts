import { expect, test } from 'vitest';
import { EMPTY_CHAIN } from '../../../projections/chain/chain.ts';
import { Stacks } from '../../../projections/explorer/stacks.ts';
import type { Changes, Loaded, Row } from '../../../projections/projection.ts';
import { TestChain } from '../../support/chain.ts';

function rowsOf(changes: Changes, kind: 'appends' | 'deletes' | 'upserts', table: string): readonly Row[] {
  return changes[kind].filter((each) => each.table.name === table).flatMap(({ rows }) => rows);
}

test('a block that comes and leaves within a batch leaves nothing behind', () => {
  const chain = new TestChain({ seed: 1 });
  const stacks = new Stacks(0, {});
  const first = chain.append(4);
  stacks.push(first);
  stacks.push(chain.append(6));
  stacks.pop(1);
  const changes = stacks.changes(EMPTY_CHAIN);
  expect(changes.cuts).toEqual([]);
  expect(rowsOf(changes, 'appends', 'blocks')).toHaveLength(1);
  expect(rowsOf(changes, 'appends', 'transactions').map(([seq]) => seq)).toEqual([0, 1, 2, 3]);
  expect(rowsOf(changes, 'deletes', 'accounts')).toEqual([]);
  const types = rowsOf(changes, 'upserts', 'transaction_types');
  expect(types.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(4);
});

test('a stored block that leaves is cut off every table, and the next one takes its ordinals', () => {
  const alice = Buffer.alloc(20, 1);
  const bob = Buffer.alloc(20, 2);
  const loaded: Loaded = {
    types: [
      { function_call_type: 'Transfer', transactions: '7' },
      { function_call_type: 'Mint', transactions: '1' },
    ],
    accounts: [{ address: alice, transactions: '5' }],
    reverted_accounts: [
      { address: alice, transactions: '5' },
      { address: bob, transactions: '1' },
    ],
    reverted_transactions: [
      { height: '3', first_seq: '6', from_address: alice, to_address: bob, function_call_type: 'Transfer' },
      { height: '3', first_seq: '6', from_address: alice, to_address: alice, function_call_type: 'Mint' },
    ],
  };
  const stacks = new Stacks(8, loaded);
  stacks.pop(3);
  const changes = stacks.changes(EMPTY_CHAIN);
  expect(changes.cuts.map(({ table, ...cut }) => ({ ...cut, table: table.name }))).toEqual([
    { table: 'blocks', column: 'height', from: 3 },
    { table: 'transactions', column: 'seq', from: 6 },
    {
      table: 'account_transactions',
      column: 'ordinal',
      within: 'address',
      groups: [
        [alice, 3],
        [bob, 0],
      ],
    },
  ]);
  expect(rowsOf(changes, 'upserts', 'accounts')).toEqual([[alice, 3]]);
  expect(rowsOf(changes, 'deletes', 'accounts')).toEqual([[bob]]);
  expect(rowsOf(changes, 'upserts', 'transaction_types')).toEqual([['Transfer', 6]]);
  expect(rowsOf(changes, 'deletes', 'transaction_types')).toEqual([['Mint']]);

  const chain = new TestChain({ seed: 9 });
  const next = chain.append(2);
  stacks.push(next);
  const after = stacks.changes(EMPTY_CHAIN);
  expect(rowsOf(after, 'appends', 'transactions').map(([seq]) => seq)).toEqual([6, 7]);
  expect(rowsOf(after, 'appends', 'blocks').map((row) => row.at(-1))).toEqual([6]);
});

test('a stored block without transactions leaves too', () => {
  const stacks = new Stacks(8, {
    reverted_transactions: [{ height: '3', first_seq: '8', from_address: null, to_address: null, function_call_type: null }],
  });
  stacks.pop(3);
  const { cuts } = stacks.changes(EMPTY_CHAIN);
  expect(cuts.slice(0, 2)).toMatchObject([{ from: 3 }, { from: 8 }]);
});

test('a block on the chain that the tables do not have is a bug, not a guess', () => {
  expect(() => new Stacks(8, {}).pop(3)).toThrow('block 3 is on the chain but not in the table of blocks');
});
