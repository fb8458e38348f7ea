import { assert, bigInt, property } from 'fast-check';
import { expect, test } from 'vitest';
import { grouped, shortened } from '../../../../../services/console/src/format.ts';
import {
  askedText,
  heightIn,
  isDepositId,
  isOfTron,
  isRunId,
  namedHits,
} from '../../../../../services/console/src/search/typed.ts';

test('a height is found in every spelling that a page shows', () => {
  assert(
    property(bigInt(0n, 10n ** 15n), (height) => {
      const spellings = [`${height}`, grouped(height), `#${grouped(height)}`, `Block ${height}`];
      for (const typed of spellings) expect(askedText(` ${typed} `)).toBe(String(height));
    }),
  );
});

test.each([
  ['1.234.567', '1234567'],
  ["1'234", '1234'],
  ['1 234', '1234'],
  ['12,34', '12,34'],
  ['0xAB', '0xAB'],
  ['', ''],
])('%s is asked for as %s', (typed, asked) => {
  expect(askedText(typed)).toBe(asked);
});

test.each(['ä', '1', 'ab', ' x', '1,234', 'block '])(
  'ten thousand times %j is asked for in an address that every gateway takes',
  (piece) => {
    const asked = askedText(piece.repeat(10_000));
    expect(encodeURIComponent(asked).length).toBeLessThan(1_000);
  },
);

test('a shortened hash is asked for by how it begins', () => {
  const hash = `0x${'0123456789abcdef'.repeat(4)}`;
  expect(hash.startsWith(askedText(shortened(hash)))).toBe(true);
  expect(askedText(shortened(hash)).length).toBeGreaterThan(4);
});

test.each([
  ['res', ['Reserve']],
  ['RidePay', ['Ride Pay']],
  ['ride p', ['Ride Pay']],
  ['charts', ['Charts']],
  ['', []],
  ['0x12', []],
])('%s names %j', (typed, names) => {
  expect(namedHits(typed, new Map()).map(({ name }) => name)).toEqual(names);
});

test('an account is found by any word of its name, those that the reader named first', () => {
  const validators = Array.from(
    { length: 20 },
    (_, at) => [`0x${at}`, { name: `Validator ${at}`, is_own: false }] as const,
  );
  const names = new Map([
    ['0x0a', { name: 'Reward pool', is_own: false }],
    ...validators,
    ['0x0b', { name: 'Valeria, our driver', is_own: true }],
  ]);
  const addresses = (typed: string): readonly string[] =>
    namedHits(typed, names).map(({ identifier }) => identifier);
  expect(addresses(' POOL ')).toEqual(['0x0a']);
  expect(addresses('our dri')).toEqual(['0x0b']);
  expect(addresses('val')).toHaveLength(9);
  expect(addresses('val').slice(0, 2)).toEqual(['/validators', '0x0b']);
  // a height
  expect(addresses('5')).toEqual([]);
  expect(addresses('re')).toEqual(['/reserve', '0x0a']);
});

test.each([
  ['#100', 100n],
  ['#0100', 100n],
  ['block 1,234', 1234n],
  ['1.234', 1234n],
  ['100', undefined],
  ['0x100', undefined],
])('%s names the height %s', (typed, height) => {
  expect(heightIn(typed)).toBe(height);
});

test('an id is one of a run or of a deposit, and texts of TRON are told apart', () => {
  const both = ' 6DB65FD5-9fd3-86f6-b291-40571b5bcd6b ';
  for (const typed of [both, '1042:1200', '6db65fd5'])
    expect([isDepositId(typed), isRunId(typed)]).toEqual([typed === both, typed !== '6db65fd5']);
  expect(isOfTron('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t')).toBe(true);
  expect(isOfTron('a'.repeat(64))).toBe(true);
  expect(isOfTron(`0x${'a'.repeat(64)}`)).toBe(false);
  expect(isOfTron('nothing')).toBe(false);
});
