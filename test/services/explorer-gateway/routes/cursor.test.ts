import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CURSOR } from '../../../../schemas/explorer-api/bounds.ts';
import { cursorOf, placeOf } from '../../../../services/explorer-gateway/routes/cursor.ts';

const place = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });

test('a cursor gives back its place, of any size, to its own list', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), place, (list, at) => {
      const cursor = cursorOf(list, at);
      expect(cursor).toMatch(CURSOR);
      expect(placeOf(list, cursor)).toBe(at);
    }),
  );
});

test('a cursor of one list is none of another', () => {
  const lists = ['blocks', 'transactions', 'transactions ', '', 'transactions["5"]'];
  for (const own of lists) {
    for (const other of lists) {
      expect(placeOf(other, cursorOf(own, 5n))).toBe(own === other ? 5n : undefined);
    }
  }
});

test('a cursor with any one character changed is none', () => {
  const cursor = cursorOf('blocks', 9_007_199_254_740_993n);
  for (let at = 0; at < cursor.length; at++) {
    const other = cursor[at] === 'B' ? 'C' : 'B';
    expect(placeOf('blocks', cursor.slice(0, at) + other + cursor.slice(at + 1))).toBeUndefined();
  }
});

test('any other text is none', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[A-Za-z0-9_-]{15,17}$/));
  fc.assert(
    fc.property(text, (each) => {
      expect(placeOf('blocks', each)).toBeUndefined();
    }),
  );
});
