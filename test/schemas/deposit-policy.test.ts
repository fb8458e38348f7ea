import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  creditOf,
  feeOf,
  holdReasonOf,
  limitsOf,
  NETWORK_LIMITS,
  problemsOf,
  sameLimits,
  shortfallOf,
} from '../../schemas/deposit-policy.ts';

const { mainnet, testnet } = NETWORK_LIMITS;

test('mainnet limits: fees 4 and 2, minimum 5, single cap 100, rolling cap 200 USDT', () => {
  expect(mainnet).toEqual({
    first_fee: 4_000_000n,
    later_fee: 2_000_000n,
    minimum: 5_000_000n,
    single_cap: 100_000_000n,
    rolling_cap: 200_000_000n,
  });
});

test('testnet limits: fees 2 and 0.5, minimum 1, single cap 1,000, rolling cap 5,000 USDT', () => {
  expect(testnet).toEqual({
    first_fee: 2_000_000n,
    later_fee: 500_000n,
    minimum: 1_000_000n,
    single_cap: 1_000_000_000n,
    rolling_cap: 5_000_000_000n,
  });
});

test('the first deposit of an account pays first_fee, later ones later_fee', () => {
  expect([0, 1, 2, 1_000_000].map((ordinal) => feeOf(mainnet, ordinal))).toEqual([
    4_000_000n,
    2_000_000n,
    2_000_000n,
    2_000_000n,
  ]);
});

test.each([
  [10_000_000n, 4_000_000n, 6_000_000n, 0n],
  [4_000_001n, 4_000_000n, 1n, 0n],
  [4_000_000n, 4_000_000n, 0n, 0n],
  [3_999_999n, 4_000_000n, 0n, 1n],
  [1n, 4_000_000n, 0n, 3_999_999n],
  [2n ** 200n, 1n, 2n ** 200n - 1n, 0n],
])(
  'a gross of %d with a fee of %d gives a credit of %d and a shortfall of %d',
  (gross, fee, credit, shortfall) => {
    expect([creditOf(gross, fee), shortfallOf(gross, fee)]).toEqual([credit, shortfall]);
  },
);

test('gross = credit + fee - shortfall', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 1n, max: 2n ** 256n - 1n }),
      fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
      (gross, fee) => {
        expect(creditOf(gross, fee) + fee - shortfallOf(gross, fee)).toBe(gross);
      },
    ),
  );
});

test.each([
  [0n, 'below_minimum'],
  [4_999_999n, 'below_minimum'],
  [5_000_000n, undefined],
  [5_000_001n, undefined],
  [99_999_999n, undefined],
  [100_000_000n, undefined],
  [100_000_001n, 'over_single_cap'],
  [2n ** 255n, 'over_single_cap'],
])('on the mainnet a credit of %d is held: %s', (credit, reason) => {
  expect(holdReasonOf(mainnet, credit)).toBe(reason);
});

test('a credit of 0 is held even without a minimum', () => {
  expect(holdReasonOf({ ...testnet, minimum: 0n }, 0n)).toBe('below_minimum');
  expect(holdReasonOf({ ...testnet, minimum: 0n }, 1n)).toBeUndefined();
});

test("overrides replace the network's limits", () => {
  expect(limitsOf('testnet')).toEqual({ limits: testnet });
  expect(limitsOf('mainnet', { later_fee: 0n })).toEqual({ limits: { ...mainnet, later_fee: 0n } });
});

test('contradicting limits are refused with every problem', () => {
  expect(limitsOf('testnet', { first_fee: -1n, minimum: 2_000_000_000n, rolling_cap: 1n })).toEqual(
    {
      problems: [
        'first_fee is below 0',
        'minimum is above single_cap: no deposit would ever be minted without a person',
        'single_cap is above rolling_cap: a deposit between the two would wait for ever',
      ],
    },
  );
  expect(problemsOf({ ...mainnet, minimum: 1n, single_cap: 1n, rolling_cap: 1n })).toEqual([]);
});

test('limits are equal when all five are', () => {
  expect(sameLimits(testnet, { ...testnet })).toBe(true);
  for (const name of ['first_fee', 'later_fee', 'minimum', 'single_cap', 'rolling_cap'] as const) {
    expect(sameLimits(testnet, { ...testnet, [name]: testnet[name] + 1n })).toBe(false);
  }
});
