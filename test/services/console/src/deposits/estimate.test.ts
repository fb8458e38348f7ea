import { expect, test } from 'vitest';
import { NETWORK_LIMITS } from '../../../../../schemas/deposit-policy.ts';
import { withExactNumbers } from '../../../../../services/console/src/api/deposits.ts';
import {
  estimate,
  isAllowedBy,
  turnOf,
} from '../../../../../services/console/src/deposits/estimate.ts';
import { amountText, baseUnits } from '../../../../../services/console/src/format.ts';

const EMPTY = {
  cap_left: '5000000000',
  waiting: '0',
  waiting_count: '0',
  is_stopped: false,
  is_allowed: true,
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

const FULL = {
  ...EMPTY,
  cap_left: '10',
  waiting: '30',
  leaving: [
    { at: '2026-11-21T08:59:00.000Z', amount: '20' },
    { at: '2026-11-21T09:59:00.000Z', amount: '70' },
  ],
};

test.each([
  [{ ...FULL, waiting: '0' }, 10n, { outcome: 'minted' }],
  // it fits by itself, and may pass those before it at any time
  [FULL, 10n, { outcome: 'waits' }],
  // mints of the hour may have left since its beginning
  [FULL, 30n, { outcome: 'waits', at: '2026-11-21T08:00:00.000Z' }],
  [FULL, 31n, { outcome: 'waits', at: '2026-11-21T09:00:00.000Z' }],
  // above the cap
  [FULL, 101n, { outcome: 'unknown' }],
  [{ ...FULL, waiting: '0', waiting_count: '999' }, 10n, { outcome: 'minted' }],
  [{ ...FULL, waiting: '0', waiting_count: '1000' }, 10n, { outcome: 'unknown' }],
  [{ ...FULL, waiting: '0', is_allowed: false }, 10n, { outcome: 'unknown' }],
  [{ ...FULL, is_stopped: true, is_allowed: false }, 1n, { outcome: 'stopped' }],
  [undefined, 1n, { outcome: 'unknown' }],
])('behind a queue of %j a credit of %s is %j', (queue, credit, turn) => {
  expect(turnOf(queue, credit, queue?.waiting)).toEqual(turn);
});

const RUN = { status: 'ok', uncovered: '0', run_at: '2026-11-21T07:00:00.000Z' } as const;
const AT = Date.parse(RUN.run_at);

test.each([
  [RUN, AT, true],
  [{ ...RUN, status: 'over_backed_drift' }, AT, true],
  [{ ...RUN, status: 'mismatch' }, AT, false],
  [{ ...RUN, uncovered: '1' }, AT, false],
  // of a gateway of an older version
  [{ status: RUN.status, run_at: RUN.run_at }, AT, false],
  [RUN, AT + 3_600_000, true],
  [RUN, AT + 3_600_001, false],
  [RUN, AT - 3_600_001, false],
  [undefined, AT, false],
] as const)('after the run %j, at %d, minting is allowed: %s', (run, now, isAllowed) => {
  expect(isAllowedBy(run, now)).toBe(isAllowed);
});
