import { expect, test } from 'vitest';
import { CopyRows } from '../../../../services/runtime/postgres/copy-rows.ts';
import type {
  Changes,
  KeyedLoad,
  Row,
  Table,
} from '../../../../projections/contract/projection.ts';
import { RowMemory } from '../../../../services/projector/load/row-memory.ts';

const ACCOUNTS: Table = {
  name: 'accounts',
  columns: { address: 'bytea', balance: 'numeric' },
  key: ['address'],
};
const TYPES: Table = { name: 'types', columns: { type: 'text', count: 'int8' }, key: ['type'] };
const PAIRS: Table = {
  name: 'pairs',
  columns: { one: 'int8', other: 'int8' },
  key: ['one', 'other'],
};
const [A, B, C] = ['a', 'b', 'c'].map((name) => Buffer.from(name));

function changes(rows: readonly Row[], more: Partial<Changes> = {}): Changes {
  return { cuts: [], deletes: [], appends: [], upserts: [{ table: ACCOUNTS, rows }], ...more };
}

function accounts(...keys: (Buffer | undefined)[]): KeyedLoad {
  return { name: 'accounts', table: ACCOUNTS, keys: keys.filter((key) => key !== undefined) };
}

const row = (address: Buffer | undefined, balance: bigint): Row => [address ?? null, balance];

test('what was written last is remembered where the tables stand as it left them, and asked for anywhere else', () => {
  const memory = new RowMemory();
  memory.at(0n, 'a');
  expect(memory.recall(accounts(A, B))).toEqual({ rows: [], missing: [A, B] });
  memory.remember(changes([row(A, 5n)]), 3n);
  memory.at(3n, 'a');
  expect(memory.recall(accounts(A, B))).toEqual({
    rows: [{ address: A, balance: 5n }],
    missing: [B],
  });
  memory.remember(changes([row(A, 6n), row(B, 1n)]), 4n);
  memory.at(4n, 'a');
  expect(memory.recall(accounts(B, A)).rows).toEqual([
    { address: B, balance: 1n },
    { address: A, balance: 6n },
  ]);
  // as after a commit that failed, or somebody else's
  memory.at(3n, 'a');
  expect(memory.recall(accounts(A)).missing).toEqual([A]);
  memory.at(4n, 'a');
  expect(memory.recall(accounts(A)).missing).toEqual([A]);
});

test('what was deleted is not remembered, and after a cut only what was written with it', () => {
  const memory = new RowMemory();
  memory.at(0n, 'a');
  memory.remember(changes([row(A, 5n), row(B, 6n)]), 1n);
  memory.remember(changes([], { deletes: [{ table: ACCOUNTS, rows: [[A ?? null]] }] }), 2n);
  memory.at(2n, 'a');
  expect(memory.recall(accounts(A, B))).toEqual({
    rows: [{ address: B, balance: 6n }],
    missing: [A],
  });
  memory.remember(
    changes([row(C, 7n)], { cuts: [{ table: ACCOUNTS, column: 'balance', from: 6n }] }),
    3n,
  );
  memory.at(3n, 'a');
  expect(memory.recall(accounts(A, B, C))).toEqual({
    rows: [{ address: C, balance: 7n }],
    missing: [A, B],
  });
});

test('of other tables nothing is remembered, though they stand at the same offset', () => {
  const memory = new RowMemory();
  memory.at(0n, 'a');
  memory.remember(changes([row(A, 5n)]), 1n);
  memory.at(1n, 'b');
  expect(memory.recall(accounts(A)).missing).toEqual([A]);
  memory.remember(changes([row(A, 6n)]), 2n);
  memory.at(2n, 'b');
  expect(memory.recall(accounts(A)).rows).toEqual([{ address: A, balance: 6n }]);
});

test('tables are kept apart, and a table of several key columns is left alone', () => {
  const memory = new RowMemory();
  memory.at(0n, 'a');
  const upserts = [
    { table: TYPES, rows: [['a', 1]] },
    { table: ACCOUNTS, rows: [row(A, 2n)] },
    { table: PAIRS, rows: [[1, 2]] },
  ];
  memory.remember(changes([], { upserts }), 1n);
  memory.at(1n, 'a');
  expect(memory.recall({ name: 'types', table: TYPES, keys: ['a', 'accounts a'] })).toEqual({
    rows: [{ type: 'a', count: 1 }],
    missing: ['accounts a'],
  });
  expect(memory.recall(accounts(A)).rows).toEqual([{ address: A, balance: 2n }]);
});

function encoded(rows: CopyRows): unknown {
  return {
    table: rows.table.name,
    length: rows.length,
    bytes: Buffer.concat([...rows.pieces()]).toString('hex'),
  };
}

function numbered(at: number): Buffer {
  return Buffer.from(String(at));
}

test('it holds two generations at most: what is written again stays, what is not is forgotten', () => {
  const memory = new RowMemory(10);
  memory.at(0n, 'a');
  for (let at = 0; at < 100; at++)
    memory.remember(changes([row(A, BigInt(at)), row(numbered(at), 1n)]), BigInt(at));
  memory.at(99n, 'a');
  const all = Array.from({ length: 100 }, (_, at) => numbered(at));
  const { rows } = memory.recall(accounts(A, ...all));
  expect(rows[0]).toEqual({ address: A, balance: 99n });
  expect(rows.length).toBeGreaterThan(9);
  expect(rows.length).toBeLessThan(21);
});

test('what is held is given once, as it was last, and is not forgotten before', () => {
  const memory = new RowMemory(4);
  memory.at(0n, 'a');
  expect(memory.hold(changes([row(A, 1n), row(B, 2n)]), 1n).upserts).toEqual([]);
  expect(memory.hold(changes([row(A, 3n)]), 2n).upserts).toEqual([]);
  expect(memory.holds(changes([row(A, 0n), row(C, 0n)]))).toBe(true);
  expect(memory.holds(changes([row(A, 0n), row(B, 0n), row(C, 0n)]))).toBe(false);
  expect(memory.holds(changes([], { upserts: [{ table: PAIRS, rows: [] }] }))).toBe(true);
  expect(memory.holds(changes([], { upserts: [{ table: PAIRS, rows: [[1, 2]] }] }))).toBe(false);
  memory.hold(changes([row(numbered(1), 1n), row(numbered(2), 1n)]), 3n);
  memory.at(3n, 'a');
  expect(memory.recall(accounts(A, B)).rows).toEqual([
    { address: A, balance: 3n },
    { address: B, balance: 2n },
  ]);
  expect(memory.release().map(encoded)).toEqual([
    encoded(
      CopyRows.of(ACCOUNTS, [row(A, 3n), row(B, 2n), row(numbered(1), 1n), row(numbered(2), 1n)]),
    ),
  ]);
  expect(memory.release().map(({ length }) => length)).toEqual([0]);
  expect(memory.recall(accounts(A)).rows).toEqual([{ address: A, balance: 3n }]);
});
