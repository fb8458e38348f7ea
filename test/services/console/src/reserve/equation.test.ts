import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { positionOf, statusOf, surplusOf } from '../../../../../projections/reserve/position.ts';
import { verdictOf } from '../../../../../schemas/explorer-api/words.ts';
import {
  coverOf,
  partsOf,
  unexplainedOf,
} from '../../../../../services/console/src/reserve/equation.ts';

/** Figures of a run of which nobody could see why it was amber. */
const DRIFT = {
  ledger_liability: '4998989800',
  custody_reported: '9007208249143211',
  held: '9007203165940995',
  retained_fees: '83202216',
  minting: '0',
  waiting: '0',
  booked_surplus: '0',
  refunded: '0',
  surplus: '1010200',
  frozen: '0',
};

test('the parts of a drift are those by which it is judged', () => {
  expect(Object.fromEntries(partsOf(DRIFT))).toEqual({
    liability: 4_998_989_800n,
    minting: 0n,
    waiting: 0n,
    held: 9_007_203_165_940_995n,
    fees: 83_202_216n,
    surplus: 1_010_200n,
  });
});

test.each([
  ['100', '100', '0', '1.0000'],
  ['100', '99', '0', '0.9900'],
  ['1000000', '999999', '0', '0.9999'],
  ['100', '120', '30', '0.9000'],
  ['100', '100', '100', '0.0000'],
  ['100', '50', '60', '0.0000'],
  ['1', '12345', '0', '12,345.0000'],
  ['0', '5', '0', undefined],
  ['-5', '5', '0', undefined],
])(
  'a liability of %s with custody of %s of which %s are frozen is covered %s : 1',
  (liability, custody, frozen, cover) => {
    const run = { ...DRIFT, ledger_liability: liability, custody_reported: custody, frozen };
    expect(coverOf(run)).toBe(cover);
  },
);

test('money that is owed to others covers nothing', () => {
  expect(coverOf(DRIFT)).toBe('1.0002');
});

const LEDGER = {
  ledger_offset: 1n,
  treasury_minted: 100n,
  held: 0n,
  minting: 0n,
  waiting: 0n,
  unproven: 0n,
  unminted: 0n,
  retained_fees: 0n,
  booked_surplus: 0n,
  refunded: 0n,
  unproven_refunds: 0n,
};

test.each([
  ['of which nothing is missing', {}, 100n, 0n, 1_100n, 'ok', '1.0000'],
  ['with a forged deposit', { held: 50n, unproven: 50n }, 100n, 0n, 1_100n, 'ok', '1.0000'],
  ['short of what waits', { held: 50n, waiting: 50n }, 120n, 0n, 1_100n, 'uncovered', '1.2000'],
  ['of which all custody is frozen', {}, 100n, 100n, 1_100n, 'uncovered', '0.0000'],
  ['of which supply is missing', {}, 100n, 0n, 1_095n, 'mismatch', '1.0000'],
  ['with more than is explained', {}, 120n, 0n, 1_100n, 'over_backed_drift', '1.2000'],
] as const)(
  'a run %s is judged as minting is',
  (_, changed, custody, frozen, supply, is, cover) => {
    const block = { height: 1, hash: Buffer.alloc(32), timestamp: 0 };
    const final = { ...block, supply, genesis_allocation: 1_000n, burned: 0n };
    const position = positionOf({ ...LEDGER, ...changed }, final, custody, frozen);
    const texts = Object.entries({ ...position, surplus: surplusOf(position) });
    const run = Object.assign(
      { ...DRIFT, uncovered: '0' },
      Object.fromEntries(texts.map(([name, value]) => [name, String(value)])),
    );
    expect(verdictOf({ ...run, status: statusOf(position, 10n) })).toBe(is);
    expect(coverOf(run)).toBe(cover);
  },
);

test('supply that nothing explains is named', () => {
  const run = { onchain_supply: '110', genesis_allocation: '100', ledger_liability: '4' };
  expect(unexplainedOf(run)).toBe(6n);
});

test('custody is the sum of its parts, whatever the figures', () => {
  const amount = fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n });
  const figures = fc.record({
    ledger_liability: amount,
    custody_reported: amount,
    held: amount,
    retained_fees: amount,
    minting: amount,
    waiting: amount,
    booked_surplus: amount,
    refunded: amount,
  });
  fc.assert(
    fc.property(figures, (run) => {
      const texts = Object.entries(run).map(([name, value]) => [name, String(value)]);
      const shown = Object.assign({ ...DRIFT }, Object.fromEntries(texts), {
        surplus: String(surplusOf(run)),
      });
      expect(partsOf(shown).reduce((sum, [, of]) => sum + of, 0n)).toBe(run.custody_reported);
    }),
  );
});
