import { assert, bigInt, property } from 'fast-check';
import { expect, test } from 'vitest';
import {
  age,
  amountPadding,
  amountText,
  grouped,
  localClock,
  localTime,
  shortened,
  tickLabels,
  timeLabels,
} from '../../../../services/console/src/format.ts';

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

test('a time of day has its date once it may be that of another day', () => {
  const at = Date.parse('2026-11-21T07:28:02Z');
  const date = localTime(new Date(at).toISOString());
  expect(date).toContain(localClock(at, at + 43_200_000));
  expect(localClock(at, at + 43_200_001)).toBe(date);
});

test.each([
  [0n, '0000'],
  [1_500_000n, '0000'],
  [-1_234_567n, ''],
  [1n, ''],
  [1_000n, '000'],
])('%s base units are padded with %j to six decimals', (base, padding) =>
  expect(amountPadding(base)).toBe(padding),
);

test('figures of an axis are as short as they are true', () => {
  expect(tickLabels([0, 10_000, 20_000])).toEqual(['0', '10K', '20K']);
  expect(tickLabels([1_000, 1_010, 1_020])).toEqual(['1K', '1.01K', '1.02K']);
  expect(tickLabels([20_002_253_550, 20_002_253_600])).toEqual([
    '20,002,253,550',
    '20,002,253,600',
  ]);
  expect(tickLabels([0.001, 0.002])).toEqual(['0.001', '0.002']);
  expect(tickLabels([0, 2.5, 5])).toEqual(['0', '2.5', '5']);
  expect(tickLabels([0.1, 0.2, 0.1 + 0.2])).toEqual(['0.1', '0.2', '0.3']);
});

test('times of an axis name the day where it changes', () => {
  const midnight = new Date(2026, 10, 21).getTime() / 1_000;
  const [before = '', at = ''] = timeLabels([midnight - 3_600, midnight], 3_600);
  expect(before).toMatch(/\d:00/);
  expect(at).toMatch(/21/);
});

test('an axis of days names days in UTC', () => {
  const day = Date.UTC(2026, 2, 1) / 1_000;
  const labels = timeLabels([day, day + 3_600], 86_400, true);
  expect(labels[0]).toMatch(/\b0?1\b/);
  expect(labels[1]).toBe(labels[0]);
});
