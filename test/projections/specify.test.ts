import { expect, test } from 'vitest';
import type { Changes, Loaded } from '../../projections/contract/projection.ts';
import type { DepositAddressEvent } from '../../schemas/deposit.addresses/events.ts';
import { panels } from '../docs/panels/panels.ts';
import { indexSql } from '../services/projector/engine/loading.ts';
import { FoldedTables } from './folded-tables.ts';
import { specify } from './specify.ts';

const [ALICE, BOB] = [Buffer.alloc(20, 1), Buffer.alloc(20, 2)];
const OPENED = { type: 'PanelOpened', clt_address: ALICE, opened_at: 7 } as const;
const [TABLE] = panels.tables;
const NONE: Changes = { cuts: [], deletes: [], appends: [], upserts: [] };

/** The projection with these changes for each batch. */
function changing(changes: Partial<Changes>, projection = panels): () => void {
  const outcomes = { applied: 1, replayed: 0, ignored: 0 };
  const fold = () => ({ changes: { ...NONE, ...changes }, outcomes, announced: [] });
  return () =>
    specify({ ...projection, fold })
      .given([OPENED])
      .when([OPENED])
      .thenRows({});
}

function rows(...values: readonly (readonly [Buffer, number | string | null, number])[]) {
  if (TABLE === undefined) throw new Error('the projection has no table');
  return [{ table: TABLE, rows: values }];
}

/** The error of a wrong specification. */
function failure(openings: number, projection = panels): unknown {
  try {
    specify(projection)
      .when([OPENED, OPENED])
      .thenRows({ panels: [{ openings }] });
  } catch (error) {
    return error;
  }
  return undefined;
}

test('a row that is otherwise is shown beside the one that was expected', () => {
  expect(failure(3)).toMatchObject({
    message: expect.stringContaining('in batches of up to 1000'),
    expected: { panels: [{ openings: '3' }] },
    actual: { panels: [{ openings: '2' }] },
  });
});

test('a fold that needs a row for which its loads do not ask fails where the log is cut', () => {
  expect(failure(2)).toBeUndefined();
  expect(failure(2, { ...panels, loads: () => [] })).toMatchObject({
    message: expect.stringContaining('in batches of up to 1:'),
  });
});

test.each([
  ['appends a row that is there', { appends: rows([ALICE, 1, 7]) }, 'UNIQUE constraint failed'],
  ['changes a row twice', { upserts: rows([ALICE, 1, 7], [ALICE, 2, 7]) }, 'a row twice'],
  ['lacks a value', { upserts: rows([ALICE, null, 7]) }, 'NOT NULL constraint failed'],
  ['writes a value of another type', { upserts: rows([ALICE, 'one', 7]) }, 'cannot store TEXT'],
])('a fold that %s fails', (_, changes, message) => {
  expect(changing(changes)).toThrow(message);
});

test('a fold that deletes a row that is not there fails', () => {
  const deletes = rows().map(({ table }) => ({ table, rows: [[ALICE]] }));
  expect(changing({ deletes })).toThrow('is deleted that is not there');
});

test.each(['appends', 'upserts'] as const)(
  'a fold whose %s break a unique index fails',
  async (kind) => {
    const text = 'CREATE UNIQUE INDEX panels_time ON panels (last_opened_at) INCLUDE (openings);\n';
    const unique = { ...panels, index_sql: await indexSql(text) };
    const changes = { [kind]: rows([ALICE, 1, 7], [BOB, 1, 7]) };
    expect(changing(changes, unique)).toThrow('UNIQUE constraint failed: panels.last_opened_at');
  },
);

/** The rows that a SELECT loads when the panels of Alice, then of Bob were opened. */
function loadedBy(text: string): Loaded[string] {
  let rowsLoaded: Loaded[string] = [];
  const tables = new FoldedTables<DepositAddressEvent>({
    ...panels,
    loads: () => [{ name: 'asked', text, values: [] }],
    fold(loaded, batch, newRows) {
      rowsLoaded = loaded['asked'] ?? [];
      return panels.fold({}, batch, newRows);
    },
  });
  tables.apply({ events: [OPENED, { ...OPENED, clt_address: BOB }] });
  tables.apply({ events: [OPENED], from: 2 });
  return rowsLoaded;
}

test('a load without ORDER BY gets its rows in another order than they were written', () => {
  const text = 'SELECT clt_address FROM panels';
  const addresses = [{ clt_address: ALICE }, { clt_address: BOB }];
  expect(loadedBy(`${text} ORDER BY clt_address`)).toEqual(addresses);
  expect(loadedBy(text)).toEqual(addresses.toReversed());
});

test('a load that adds up no rows gets null, and none for those that are null', () => {
  const text = 'SELECT sum(openings) AS openings FROM panels';
  expect(loadedBy(text)).toEqual([{ openings: '2' }]);
  expect(loadedBy(`${text} WHERE openings < 0`)).toEqual([{ openings: null }]);
  expect(loadedBy('SELECT sum(null) AS openings FROM panels')).toEqual([{ openings: null }]);
});
