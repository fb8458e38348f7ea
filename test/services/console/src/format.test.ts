import { assert, bigInt, property } from 'fast-check';
import { expect, test } from 'vitest';
import { age, amountText, grouped, shortened } from '../../../../services/console/src/format.ts';

test.each([
  [0n, '0.00'],
  [1n, '0.000001'],
  [1_234_500_000n, '1,234.50'],
  [-1_000n, '−0.001'],
  [20_002_253_508_000_001n, '20,002,253,508.000001'],
])('%s base units are %s', (base, text) => expect(amountText(base)).toBe(text));

test('no digit of an amount is lost', () => {
  assert(
    property(bigInt(-(2n ** 80n), 2n ** 80n), (base) => {
      const [whole = '', fraction = ''] = amountText(base).replaceAll(',', '').split('.');
      expect(BigInt(`${whole.replace('−', '-')}${fraction.padEnd(6, '0')}`)).toBe(base);
    }),
  );
});

test('digits are grouped by three', () => {
  expect([0, 999, 1_000, 1_234_567].map(grouped)).toEqual(['0', '999', '1,000', '1,234,567']);
});

test('a hash is shortened in the middle, a short text is not', () => {
  expect(shortened(`0x${'ab'.repeat(32)}`)).toBe('0xababab…ababab');
  expect(shortened('0x1234')).toBe('0x1234');
});

test.each([
  [-5, '0 s'],
  [99, '99 s'],
  [100, '1 min'],
  [5_999, '99 min'],
  [6_000, '1 h'],
  [172_800, '2 d'],
])('%s seconds ago is shown as %s', (seconds, text) => {
  const now = Date.parse('2026-11-21T07:28:02.500Z');
  expect(age(new Date(now - seconds * 1_000).toISOString(), now)).toBe(text);
});
