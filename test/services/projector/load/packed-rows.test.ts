import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Row, Table } from '../../../../projections/contract/projection.ts';
import { PackedRows } from '../../../../services/projector/load/packed-rows.ts';

const TABLE: Table = {
  name: 'things',
  columns: {
    number: 'int8',
    key: 'bytea',
    amount: 'numeric',
    flag: 'bool',
    words: 'text',
    at: 'timestamptz',
    hash: 'bytea',
  },
  key: ['key'],
};
const KEY_AT = 1;

const values = fc.tuple(
  fc.oneof(fc.constant(null), fc.maxSafeInteger(), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n)),
  fc.oneof(
    fc.constant(null),
    fc.bigInt(),
    fc.constantFrom(2n ** 63n, 2n ** 63n - 1n, -(2n ** 63n), -(2n ** 63n) - 1n, 2n ** 80n, 0n),
  ),
  fc.oneof(fc.constant(null), fc.boolean()),
  fc.oneof(fc.constant(null), fc.string()),
  fc.oneof(fc.constant(null), fc.maxSafeInteger()),
  fc.oneof(
    fc.constant(null),
    fc.uint8Array({ maxLength: 32 }).map((bytes) => Buffer.from(bytes)),
  ),
);
const deed = fc.record({
  key: fc.nat({ max: 1_500 }).map((at) => Buffer.from(`key ${at}`)),
  what: fc.constantFrom('set', 'set', 'set', 'mark', 'remove'),
  values,
});

function byKey(one: Row, other: Row): number {
  return String(one[KEY_AT]) < String(other[KEY_AT]) ? -1 : 1;
}

test('rows come out as they were put in: of any size, null or not, replaced, removed and added again, marked or not', () => {
  fc.assert(
    fc.property(fc.array(deed, { minLength: 1, maxLength: 2_500 }), (deeds) => {
      const plain = new Map<string, { row: Row; isMarked: boolean }>();
      const packed = new PackedRows(TABLE);
      for (const {
        key,
        what,
        values: [number, amount, flag, words, at, hash],
      } of deeds) {
        const name = key.toString();
        const known = plain.get(name);
        const place = packed.find(key);
        expect(place !== -1).toBe(known !== undefined);
        if (known !== undefined)
          expect(Object.values(packed.loaded(place, key))).toEqual(known.row);
        if (what === 'remove') {
          if (known !== undefined) packed.remove(place);
          plain.delete(name);
          continue;
        }
        const row = [number, key, amount, flag, words, at, hash];
        const isMarked = what === 'mark';
        packed.set(row, isMarked);
        plain.set(name, { row, isMarked: isMarked || known?.isMarked === true });
      }
      const marked = [...plain.values()].filter(({ isMarked }) => isMarked).map(({ row }) => row);
      expect(packed.marked).toBe(marked.length);
      expect([...packed.markedRows()].toSorted(byKey)).toEqual(marked.toSorted(byKey));
      packed.unmark();
      expect([packed.marked, [...packed.markedRows()]]).toEqual([0, []]);
      for (const [name, { row }] of plain) {
        const key = Buffer.from(name);
        expect(Object.values(packed.loaded(packed.find(key), key))).toEqual(row);
      }
    }),
    { numRuns: 20 },
  );
});

test('a key may be of any type, and comes back as it was', () => {
  const table: Table = { name: 'counts', columns: { name: 'text', count: 'int8' }, key: ['name'] };
  const packed = new PackedRows(table);
  for (const [at, key] of ['a', true, 7].entries()) packed.set([key, at], true);
  expect(packed.find(7n)).toBe(2);
  expect([...packed.markedRows()]).toEqual([
    ['a', 0],
    [true, 1],
    [7, 2],
  ]);
});

test('what is no number in a column of numbers stays what it is', () => {
  const packed = new PackedRows(TABLE);
  const key = Buffer.from('a');
  packed.set([Number.NaN, key, 1n, true, '', 0, null], false);
  expect(packed.loaded(packed.find(key), key)['number']).toBeNaN();
  packed.set([5, key, 1n, true, '', 0, null], false);
  expect(packed.loaded(packed.find(key), key)['number']).toBe(5);
});
