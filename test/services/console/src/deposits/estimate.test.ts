import { expect, test } from 'vitest';
import { NETWORK_LIMITS } from '../../../../../schemas/deposit-policy.ts';
import { withExactNumbers } from '../../../../../services/console/src/api/deposits.ts';
import { estimate, turnOf } from '../../../../../services/console/src/deposits/estimate.ts';
import { amountText, baseUnits } from '../../../../../services/console/src/format.ts';

const EMPTY = {
  as_of: '2026-11-21T07:00:00.000Z',
  cap_left: '5000000000',
  waiting: '0',
  waiting_count: '0',
  is_stopped: false,
  leaving: [],
};

test.each([
  ['100', true, '2.00', '98.00', 'minted'],
  ['100', false, '0.50', '99.50', 'minted'],
  ['1', true, '2.00', '0.00', 'below_minimum'],
  ['2.999999', true, '2.00', '0.999999', 'below_minimum'],
  ['3', true, '2.00', '1.00', 'minted'],
  ['1,002.000001', true, '2.00', '1,000.000001', 'over_single_cap'],
  ['9007199254740993', true, '2.00', '9,007,199,254,740,991.00', 'over_single_cap'],
])(
  '%s USDT, first %s, have the fee %s and the credit %s, then %s',
  (text, isFirst, ...expected) => {
    const { fee, credit, outcome } = estimate(
      NETWORK_LIMITS.testnet,
      baseUnits(text) ?? -1n,
      isFirst,
      EMPTY,
    );
    expect([amountText(fee), amountText(credit), outcome]).toEqual(expected);
  },
);

test.each(['', '.', '1.0000001', '-1', '1e3', '0x10', '1 000', ',5'])(
  '"%s" is no amount',
  (text) => {
    expect(baseUnits(text)).toBeUndefined();
  },
);

test('numbers of JSON keep their digits, and texts stay as they are', () => {
  const json = '{"gross":18446744073709551617,"note":"12 \\"3\\" é","list":[0,null,true,-1.5e3]}';
  expect(JSON.parse(withExactNumbers(json))).toEqual({
    gross: '18446744073709551617',
    note: '12 "3" é',
    list: ['0', null, true, '-1.5e3'],
  });
});

const LATER = '2026-11-21T09:00:00.000Z';
const FULL = {
  ...EMPTY,
  cap_left: '10',
  waiting: '30',
  leaving: [
    { at: '2026-11-21T08:00:00.000Z', amount: '20' },
    { at: LATER, amount: '70' },
  ],
};

test.each([
  [{ ...FULL, waiting: '0' }, 10n, { outcome: 'minted' }],
  [FULL, 10n, { outcome: 'waits', at: LATER }],
  [FULL, 70n, { outcome: 'waits', at: LATER }],
  [FULL, 71n, { outcome: 'waits' }],
  [{ ...FULL, is_stopped: true, waiting: '0' }, 1n, { outcome: 'stopped' }],
  [undefined, 1n, { outcome: 'unknown' }],
])('behind a queue of %j a credit of %s is %j', (queue, credit, turn) => {
  expect(turnOf(queue, credit, queue?.waiting)).toEqual(turn);
});
