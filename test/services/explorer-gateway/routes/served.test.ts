import { expect, test } from 'vitest';
import { BLOCK_DETAIL } from '../../../../schemas/explorer-api/blocks.ts';
import { EFFECT } from '../../../../schemas/explorer-api/accounts.ts';
import { RECORDED_RUN } from '../../../../schemas/explorer-api/reserve.ts';
import { SERIES_ITEM } from '../../../../schemas/explorer-api/network.ts';
import { TRANSACTION } from '../../../../schemas/explorer-api/transactions.ts';
import { withStringAmounts } from '../../../../services/explorer-gateway/routes/served.ts';

test.each([
  [BLOCK_DETAIL, ['block_reward', 'total_fees']],
  [TRANSACTION, ['amount', 'fee', 'request_referrer_fee', 'offer_referrer_fee']],
  [EFFECT, ['delta', 'amount', 'balance']],
  [SERIES_ITEM, ['fees', 'fares', 'supply']],
  [
    RECORDED_RUN,
    [
      'onchain_supply',
      'genesis_allocation',
      'treasury_minted',
      'burned',
      'ledger_liability',
      'custody_reported',
      'held',
      'retained_fees',
      'minting',
      'waiting',
      'booked_surplus',
      'refunded',
      'surplus',
      'uncovered',
      'frozen',
    ],
  ],
] as const)('amounts become text, and other numbers do not: of %#', ({ properties }, amounts) => {
  for (const digits of ['0', '-5', String(2n ** 256n)]) {
    const object = (isText: (name: string) => boolean): string =>
      Object.keys(properties)
        .map((name) => `{"${name}":${isText(name) ? `"${digits}"` : digits}}`)
        .join();
    const text = object((name) => amounts.some((amount) => amount === name));
    expect(withStringAmounts(object(() => false))).toBe(text);
  }
});

test('a text that looks like an amount stays as it is', () => {
  const json = JSON.stringify({ label: 'a "amount":5', kind: '"fee":1', amount: 3 });
  expect(withStringAmounts(json)).toBe(json.replace(':3', ':"3"'));
});
