import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CURSOR_PATTERN } from '../../../../schemas/explorer-api/parameters.ts';
import {
  decodeCursor,
  encodeCursor,
} from '../../../../services/explorer-gateway/routes/responses.ts';
import { anyCharacter } from '../../../support/any-character.ts';

const ordinal = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });

test('a cursor gives its ordinal, of any size, for its own list', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), ordinal, (list, at) => {
      const cursor = encodeCursor(list, at);
      expect(cursor).toMatch(new RegExp(CURSOR_PATTERN));
      expect(decodeCursor(list, cursor)).toBe(at);
    }),
  );
});

test('a cursor stays good: its text is for ever', () => {
  expect(encodeCursor('blocks', 1n)).toBe('AAAAAAAAAAEI40ao');
});

test('a cursor of one list is invalid for another', () => {
  const lists = ['blocks', 'transactions', 'transactions ', '', 'transactions["5"]'];
  for (const own of lists) {
    for (const other of lists) {
      expect(decodeCursor(other, encodeCursor(own, 5n))).toBe(own === other ? 5n : undefined);
    }
  }
});

test('a cursor with one character changed is invalid', () => {
  const cursor = encodeCursor('blocks', 9_007_199_254_740_993n);
  for (let at = 0; at < cursor.length; at++) {
    const other = cursor[at] === 'B' ? 'C' : 'B';
    expect(
      decodeCursor('blocks', cursor.slice(0, at) + other + cursor.slice(at + 1)),
    ).toBeUndefined();
  }
});

test('any other text is invalid', () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.stringMatching(/^[A-Za-z0-9_-]{15,17}$/),
  );
  fc.assert(
    fc.property(text, (each) => {
      expect(decodeCursor('blocks', each)).toBeUndefined();
    }),
  );
});
