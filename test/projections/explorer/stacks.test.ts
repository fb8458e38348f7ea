import { expect, test } from 'vitest';
import { EMPTY_CHAIN } from '../../../projections/chain/chain.ts';
import { Stacks } from '../../../projections/explorer/stacks.ts';
import type { Changes, Loaded, LoadedRow, Row } from '../../../projections/contract/projection.ts';
import { ChainByHand, named } from '../../support/chain-by-hand.ts';
import { TestChain } from '../../support/chain.ts';
import { plainRows, rowsIn } from '../../support/plain-rows.ts';

const ALICE = named('alice');
const BOB = named('bob');
const CAROL = named('carol');

function rowsOf(
  changes: Changes,
  kind: 'appends' | 'deletes' | 'upserts',
  table: string,
): readonly Row[] {
  return changes[kind].filter((each) => each.table.name === table).flatMap(rowsIn);
}

function account(address: Buffer, figures: LoadedRow): LoadedRow {
  const none = {
    balance: '0',
    nonce: '0',
    transactions: '0',
    activities: '0',
    unsigned_debits: '0',
    blocks_produced: '0',
  };
  return { address, ...none, ...figures };
}

/**
 * Eight transactions are stored, two of them in block 3, which is reverted: Alice, who has other
 * blocks, moved 4 to Bob, who has none, and minted to herself; one debit of Alice's is unsigned. It
 * is Carol's first block.
 */
const TOP: Loaded = {
  types: [
    { function_call_type: 'Transfer', transactions: '7' },
    { function_call_type: 'Mint', transactions: '1' },
  ],
  reverted_blocks: [{ height: '3', first_seq: '6', producer: CAROL }],
  reverted_transactions: [
    {
      height: '3',
      from_address: ALICE,
      to_address: BOB,
      function_call_type: 'Transfer',
      nonce: '20',
    },
    {
      height: '3',
      from_address: ALICE,
      to_address: ALICE,
      function_call_type: 'Mint',
      nonce: '21',
    },
  ],
  reverted_activity: [
    {
      height: '3',
      address: ALICE,
      activities: '3',
      delta: '-18446744073709551617',
      unsigned_debits: '1',
    },
    { height: '3', address: BOB, activities: '1', delta: '4', unsigned_debits: '0' },
  ],
  reverted_accounts: [
    account(ALICE, {
      balance: '5',
      nonce: '22',
      transactions: '5',
      activities: '10',
      unsigned_debits: '1',
      blocks_produced: '2',
    }),
    account(BOB, { balance: '4', transactions: '1', activities: '1' }),
    account(CAROL, { blocks_produced: '1' }),
  ],
};

test('a block added and reverted in one batch leaves no row', () => {
  const chain = new TestChain({ seed: 1 });
  const [stayed, left] = [0, 1].map(
    () => new Stacks({ transactions: 0, validators: 0 }, {}, plainRows),
  );
  if (stayed === undefined || left === undefined) throw new Error('there are two');
  const first = chain.append(4);
  stayed.push(first);
  left.push(first);
  left.push(chain.append(6));
  left.pop(1);
  expect(left.changes(EMPTY_CHAIN)).toEqual(stayed.changes(EMPTY_CHAIN));
  expect(left.changes(EMPTY_CHAIN).cuts).toEqual([]);
  expect(rowsOf(left.changes(EMPTY_CHAIN), 'appends', 'transactions').map(([seq]) => seq)).toEqual([
    0, 1, 2, 3,
  ]);
});

test('reverting a stored block cuts every table and restores the accounts', () => {
  const stacks = new Stacks({ transactions: 8, validators: 2 }, TOP, plainRows);
  stacks.pop(3);
  const changes = stacks.changes(EMPTY_CHAIN);
  const cuts = changes.cuts.map(({ table, ...cut }) => ({ ...cut, table: table.name }));
  expect(cuts).toHaveLength(5);
  expect(cuts).toEqual(
    expect.arrayContaining([
      { table: 'blocks', column: 'height', from: 3 },
      { table: 'transactions', column: 'seq', from: 6 },
      {
        table: 'account_transactions',
        column: 'ordinal',
        within: 'address',
        groups: [
          [ALICE, 3],
          [BOB, 0],
        ],
      },
      {
        table: 'activity',
        column: 'ordinal',
        within: 'address',
        groups: [
          [ALICE, 7],
          [BOB, 0],
        ],
      },
      { table: 'validators', column: 'ordinal', from: 1 },
    ]),
  );
  expect(rowsOf(changes, 'upserts', 'accounts')).toEqual([
    [ALICE, 18446744073709551622n, 20, 3, 7, 0, 2],
  ]);
  expect(rowsOf(changes, 'deletes', 'accounts')).toEqual([[BOB], [CAROL]]);
  expect(rowsOf(changes, 'upserts', 'transaction_types')).toEqual([['Transfer', 6]]);
  expect(rowsOf(changes, 'deletes', 'transaction_types')).toEqual([['Mint']]);
});

test('a block after a reverted one reuses its seqs and ordinals', () => {
  const stacks = new Stacks({ transactions: 8, validators: 2 }, TOP, plainRows);
  stacks.pop(3);
  const chain = new ChainByHand();
  const next = chain.append({
    producer: BOB,
    transactions: [{ from: ALICE, to: ALICE, nonce: 20 }],
    effects: [{ address: ALICE, delta: -2n, tx_index: 0 }],
  });
  stacks.push(next);
  const changes = stacks.changes(EMPTY_CHAIN);
  expect(rowsOf(changes, 'appends', 'blocks').map((row) => row.at(-2))).toEqual([6]);
  expect(rowsOf(changes, 'appends', 'transactions').map(([seq]) => seq)).toEqual([6]);
  expect(rowsOf(changes, 'appends', 'account_transactions')).toEqual([[ALICE, 3, 6]]);
  expect(rowsOf(changes, 'appends', 'activity')).toEqual([
    [ALICE, 7, 'transfer_in', -2n, 18446744073709551620n, 0, 6, null],
  ]);
  expect(rowsOf(changes, 'appends', 'validators')).toEqual([[1, BOB]]);
  expect(rowsOf(changes, 'upserts', 'accounts')).toEqual([
    [ALICE, 18446744073709551620n, 21, 4, 8, 0, 2],
    [BOB, 0n, 0, 0, 0, 0, 1],
  ]);
  expect(rowsOf(changes, 'deletes', 'accounts')).toEqual([[CAROL]]);
});

test('a stored block without transactions is reverted', () => {
  const stacks = new Stacks(
    { transactions: 8, validators: 2 },
    {
      reverted_blocks: [{ height: '3', first_seq: '8', producer: CAROL }],
      reverted_accounts: [account(CAROL, { blocks_produced: '2' })],
    },
    plainRows,
  );
  stacks.pop(3);
  const changes = stacks.changes(EMPTY_CHAIN);
  expect(changes.cuts.slice(0, 2)).toMatchObject([{ from: 3 }, { from: 8 }]);
  expect(changes.cuts.map(({ table }) => table.name)).not.toContain('validators');
  expect(rowsOf(changes, 'upserts', 'accounts')).toEqual([[CAROL, 0n, 0, 0, 0, 0, 1]]);
});

test('reverting a block that the tables lack throws', () => {
  const stacks = new Stacks({ transactions: 8, validators: 1 }, {}, plainRows);
  expect(() => stacks.pop(3)).toThrow('block 3 is on the chain but not in the table of blocks');
});
