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

test('the mainnet pilot takes 4.00 and 2.00, mints from 5.00 up to 100 alone, and 200 in 24 hours', () => {
  expect(mainnet).toEqual({
    first_fee: 4_000_000n,
    later_fee: 2_000_000n,
    minimum: 5_000_000n,
    single_cap: 100_000_000n,
    rolling_cap: 200_000_000n,
  });
});

test('the testnet takes 2.00 and 0.50, mints from 1.00 up to 1,000 alone, and 5,000 in 24 hours', () => {
  expect(testnet).toEqual({
    first_fee: 2_000_000n,
    later_fee: 500_000n,
    minimum: 1_000_000n,
    single_cap: 1_000_000_000n,
    rolling_cap: 5_000_000_000n,
  });
});

test('the first deposit of an address pays the first fee, all others the later one', () => {
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
])('of %d a fee of %d leaves %d, short of %d', (gross, fee, credit, shortfall) => {
  expect([creditOf(gross, fee), shortfallOf(gross, fee)]).toEqual([credit, shortfall]);
});

test('what arrives is credit and fee less what the fee was short of, to the micro-USDT', () => {
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

test('nothing is never minted without a person, even where there is no minimum', () => {
  expect(holdReasonOf({ ...testnet, minimum: 0n }, 0n)).toBe('below_minimum');
  expect(holdReasonOf({ ...testnet, minimum: 0n }, 1n)).toBeUndefined();
});

test('what is set takes the place of the limits of the network', () => {
  expect(limitsOf('testnet')).toEqual({ limits: testnet });
  expect(limitsOf('mainnet', { later_fee: 0n })).toEqual({ limits: { ...mainnet, later_fee: 0n } });
});

test('limits that contradict each other are refused, all that is wrong at once', () => {
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

test('limits are the same when all five are', () => {
  expect(sameLimits(testnet, { ...testnet })).toBe(true);
  for (const name of ['first_fee', 'later_fee', 'minimum', 'single_cap', 'rolling_cap'] as const) {
    expect(sameLimits(testnet, { ...testnet, [name]: testnet[name] + 1n })).toBe(false);
  }
});
