import { expect, test } from 'vitest';
import type { Changes } from '../../projections/contract/projection.ts';
import { panels } from '../docs/panels/panels.ts';
import { specify } from './specify.ts';

const ALICE = Buffer.alloc(20, 1);
const OPENED = { type: 'PanelOpened', clt_address: ALICE, opened_at: 7 } as const;
const [TABLE] = panels.tables;
const NONE: Changes = { cuts: [], deletes: [], appends: [], upserts: [] };

/** The projection with these changes for each batch. */
function changing(changes: Partial<Changes>): () => void {
  const outcomes = { applied: 1, replayed: 0, ignored: 0 };
  const fold = () => ({ changes: { ...NONE, ...changes }, outcomes, announced: [] });
  return () =>
    specify({ ...panels, fold })
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
