import { assert, property, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import { parseAddress, parseHash, toHex } from '../../schemas/address.ts';

test.each([
  ['an address', 20, parseAddress],
  ['a hash', 32, parseHash],
])(
  '%s is parsed in any case, with and without 0x, and printed as 0x + lower case',
  (_what, length, parse) => {
    const roundTrip = property(uint8Array({ minLength: length, maxLength: length }), (bytes) => {
      const shown = toHex(bytes);
      expect(shown).toMatch(/^0x[0-9a-f]+$/);
      for (const text of [
        shown,
        shown.slice(2),
        shown.toUpperCase(),
        shown.slice(2).toUpperCase(),
      ]) {
        expect(parse(text)).toEqual(Buffer.from(bytes));
      }
    });
    assert(roundTrip);
  },
);

const DIGITS = '0123456789abcdef'.repeat(4);

test.each([
  ['', parseAddress],
  ['0x', parseAddress],
  [DIGITS.slice(0, 39), parseAddress],
  [DIGITS.slice(0, 41), parseAddress],
  [`${DIGITS.slice(0, 39)}g`, parseAddress],
  [`0x0x${DIGITS.slice(0, 36)}`, parseAddress],
  [`${DIGITS.slice(0, 40)}\n`, parseAddress],
  [` ${DIGITS.slice(0, 40)}`, parseAddress],
  [DIGITS, parseAddress],
  [DIGITS.slice(0, 63), parseHash],
  [`${DIGITS}\n`, parseHash],
  [`0x${DIGITS}0`, parseHash],
  [DIGITS.slice(0, 40), parseHash],
])('the text %j is refused', (text, parse) => {
  expect(parse(text)).toBeUndefined();
});

test('toHex prints a view of a larger buffer alone', () => {
  expect(toHex(Buffer.from('00112233', 'hex').subarray(1, 3))).toBe('0x1122');
});
