import { expect, test } from 'vitest';
import { activityLabel } from '../../../../services/explorer-gateway/routes/activity-labels.ts';

test.each([
  ['ride_pay', 'debit', 'Ride payment sent'],
  ['ride_pay', 'credit', 'Ride payment received'],
  ['ride_escrow', 'debit', 'Ride fare put into escrow'],
  ['ride_refund', 'credit', 'Ride refund received'],
  ['transfer_in', 'credit', 'Transfer received'],
  ['transfer_out', 'debit', 'Transfer sent'],
  ['tx_fee_paid', 'debit', 'Transaction fee paid'],
  ['tx_fee_earned', 'credit', 'Transaction fees earned'],
  ['block_reward', 'debit', 'Block reward paid'],
  ['referrer_fee', 'credit', 'Referrer fee received'],
  ['mint', 'credit', 'Minted'],
  ['burn', 'debit', 'Burned'],
] as const)('%s as a %s is: %s', (kind, direction, label) =>
  expect(activityLabel(kind, direction)).toBe(label),
);

test.each([
  ['staking_reward', 'Staking reward'],
  ['fee', 'Fee'],
  ['Already_Upper', 'Already Upper'],
  ['__proto__', 'Proto'],
  ['constructor', 'Constructor'],
  ['éclair_sold', 'Éclair sold'],
  ['😀_a', '😀 a'],
  ['', ''],
])('a kind that nobody foresaw, %j, is told by its own words: %j', (kind, label) => {
  for (const direction of ['credit', 'debit'] as const)
    expect(activityLabel(kind, direction)).toBe(label);
});

test('a direction that a kind never has is told by its own words too', () => {
  expect(activityLabel('transfer_in', 'debit')).toBe('Transfer in');
});
