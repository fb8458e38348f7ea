import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { surplusOf } from '../../../../../projections/reserve/position.ts';
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
  expect(coverOf(DRIFT)).toBe('1.0002');
});

test.each([
  ['100', '0', '1.0000'],
  ['100', '-1', '0.9900'],
  ['1000000', '-1', '0.9999'],
  ['3', '-4', '−0.3334'],
  ['1', '12344', '12,345.0000'],
  ['0', '5', undefined],
  ['-5', '5', undefined],
])('a liability of %s with a surplus of %s is covered %s : 1', (liability, surplus, cover) => {
  expect(coverOf({ ...DRIFT, ledger_liability: liability, surplus })).toBe(cover);
});

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
