import { expect, test } from 'vitest';
import type {
  Changes,
  KeyedLoad,
  Row,
  Table,
} from '../../../../projections/contract/projection.ts';
import { DirtyRows } from '../../../../services/projector/engine/dirty-rows.ts';
import { CopyRows } from '../../../../services/runtime/postgres/copy-rows.ts';

const ACCOUNTS: Table = {
  name: 'accounts',
  columns: { balance: 'numeric', address: 'bytea', note: 'text' },
  key: ['address'],
};
const TYPES: Table = { name: 'types', columns: { type: 'text', count: 'int8' }, key: ['type'] };
const COUNTS: Table = { name: 'counts', columns: { at: 'int8', flag: 'bool' }, key: ['at'] };
const PAIRS: Table = {
  name: 'pairs',
  columns: { one: 'int8', other: 'int8' },
  key: ['one', 'other'],
};
const [A, B, C] = [Buffer.from('a'), Buffer.from('b'), Buffer.from('c')];

function load(...keys: readonly Buffer[]): KeyedLoad {
  return { name: 'accounts', table: ACCOUNTS, keys };
}

function upserting(table: Table, ...rows: readonly Row[]): Changes {
  return { cuts: [], deletes: [], appends: [], upserts: [{ table, rows }] };
}

function bytesOf(rows: CopyRows): unknown {
  return [rows.table.name, rows.length, Buffer.concat([...rows.pieces()]).toString('hex')];
}

test('a row is found by its key in its newest state', () => {
  const dirty = new DirtyRows();
  dirty.add(upserting(ACCOUNTS, [5n, A, null], [6n, B, 'x']).upserts);
  dirty.add(upserting(ACCOUNTS, [7n, A, 'y']).upserts);
  expect(dirty.find(load(A, C, B))).toEqual({
    rows: [
      { balance: 7n, address: A, note: 'y' },
      { balance: 6n, address: B, note: 'x' },
    ],
    missing: [C],
  });
});

test('each row is encoded once, in its newest state, with its key', () => {
  const dirty = new DirtyRows();
  const address = Buffer.from('a');
  dirty.add(upserting(ACCOUNTS, [5n, address, null], [6n, B, 'x']).upserts);
  dirty.add(upserting(ACCOUNTS, [7n, address, 'y']).upserts);
  // the buffer is a slice of one that is used again
  address.fill(0);
  expect(dirty.encoded().map(bytesOf)).toEqual([
    bytesOf(
      CopyRows.of(ACCOUNTS, [
        [7n, A, 'y'],
        [6n, B, 'x'],
      ]),
    ),
  ]);
});

test('tables have rows of their own, and keys of text and numbers', () => {
  const dirty = new DirtyRows();
  dirty.add(upserting(TYPES, ['a', 1]).upserts);
  dirty.add(upserting(COUNTS, [7, true]).upserts);
  expect(dirty.find({ name: 'types', table: TYPES, keys: ['a', '7'] })).toEqual({
    rows: [{ type: 'a', count: 1 }],
    missing: ['7'],
  });
  expect(dirty.find({ name: 'counts', table: COUNTS, keys: [7n] }).rows).toEqual([
    { at: 7n, flag: true },
  ]);
  expect(dirty.encoded().map(bytesOf)).toEqual([
    bytesOf(CopyRows.of(TYPES, [['a', 1]])),
    bytesOf(CopyRows.of(COUNTS, [[7, true]])),
  ]);
});

test('changes can be held only if they upsert rows of one key column within the bound', () => {
  const dirty = new DirtyRows(2);
  dirty.add(upserting(ACCOUNTS, [1n, A, null]).upserts);
  expect(dirty.canHold(upserting(ACCOUNTS, [1n, B, null]))).toBe(true);
  expect(dirty.canHold(upserting(ACCOUNTS, [1n, B, null], [1n, C, null]))).toBe(false);
  expect(dirty.canHold(upserting(PAIRS))).toBe(true);
  expect(dirty.canHold(upserting(PAIRS, [1, 2]))).toBe(false);
  const none = upserting(ACCOUNTS);
  expect(dirty.canHold({ ...none, deletes: [{ table: ACCOUNTS, rows: [[A]] }] })).toBe(false);
  expect(dirty.canHold({ ...none, cuts: [{ table: ACCOUNTS, column: 'balance', from: 1n }] })).toBe(
    false,
  );
});
