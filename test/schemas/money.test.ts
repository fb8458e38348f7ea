import { assert, bigInt, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { AMOUNT_MAX, decodeDecimal, encodeDecimal, parseAmount } from '../../schemas/money.ts';

test.each([
  [0n, '00'],
  [1n, '01'],
  [-1n, 'ff'],
  [127n, '7f'],
  [128n, '0080'],
  [-128n, '80'],
  [-129n, 'ff7f'],
  [255n, '00ff'],
  [256n, '0100'],
  [-256n, 'ff00'],
  [2n ** 53n + 1n, '20000000000001'],
  [2n ** 63n - 1n, '7fffffffffffffff'],
  [2n ** 63n, '008000000000000000'],
  [-(2n ** 63n), '8000000000000000'],
  [AMOUNT_MAX, `00${'ff'.repeat(32)}`],
  [-AMOUNT_MAX, `ff${'00'.repeat(31)}01`],
])('%s is %s in two complement, as short as it can be', (value, hex) => {
  expect(encodeDecimal(value).toString('hex')).toBe(hex);
  expect(decodeDecimal(Buffer.from(hex, 'hex'))).toBe(value);
});

test('an amount round-trips in minimal bytes', () => {
  const roundTrip = property(bigInt({ min: -(1n << 2_000n), max: 1n << 2_000n }), (value) => {
    const bytes = encodeDecimal(value);
    expect(decodeDecimal(bytes)).toBe(value);
    if (bytes.length > 1) expect(BigInt.asIntN((bytes.length - 1) * 8, value)).not.toBe(value);
  });
  assert(roundTrip);
});

test('non-minimal bytes decode to the same amount', () => {
  const padded = property(bigInt({ min: -(1n << 300n), max: 1n << 300n }), (value) => {
    const sign = Buffer.alloc(3, value < 0n ? 255 : 0);
    expect(decodeDecimal(Buffer.concat([sign, encodeDecimal(value)]))).toBe(value);
  });
  assert(padded);
  expect(decodeDecimal(Buffer.alloc(0))).toBe(0n);
});

test('canonical decimal text up to 2^256 - 1 is an amount', () => {
  const roundTrip = property(bigInt({ min: 0n, max: AMOUNT_MAX }), (value) => {
    expect(parseAmount(String(value))).toBe(value);
  });
  assert(roundTrip);
  expect(parseAmount(String(AMOUNT_MAX))).toBe(AMOUNT_MAX);
});

test.each([
  '',
  ' ',
  '-1',
  '-0',
  '+1',
  '1.0',
  '1e3',
  '0x10',
  '00',
  '01',
  '1 ',
  ' 1',
  '1\n',
  '１',
  '1_000',
  'NaN',
  String(AMOUNT_MAX + 1n),
  `1${'0'.repeat(1_000)}`,
])('the text %j is no amount', (text) => {
  expect(parseAmount(text)).toBeUndefined();
});

test('text is an amount only in canonical form', () => {
  const exact = property(string({ maxLength: 6 }), (text) => {
    const amount = parseAmount(text);
    if (amount !== undefined) expect(String(amount)).toBe(text);
  });
  assert(exact);
});
