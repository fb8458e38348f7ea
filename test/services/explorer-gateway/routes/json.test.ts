import { expect, test } from 'vitest';
import {
  activityLabel,
  pageBody,
  statsBody,
} from '../../../../services/explorer-gateway/routes/json.ts';

test('total is the offset plus the items and has_more whether the page is full, for any offset', () => {
  expect(pageBody(['1', '2'], (row) => `[${row}]`, { limit: 2, offset: 3n })).toBe(
    '{"items":[[1],[2]],"paging":{"limit":2,"offset":3,"total":5,"has_more":true}}',
  );
  expect(pageBody([], String, { limit: 20, offset: 10n ** 30n })).toBe(
    '{"items":[],"paging":{"limit":20,"offset":1000000000000000000000000000000,"total":1000000000000000000000000000000,"has_more":false}}',
  );
});

test('rates have a decimal point, and are 0.0 while there is nothing to divide', () => {
  const idle =
    '"tx_per_second":0.0,"total_transactions":0,"active_validators":0,"avg_block_time_seconds":0.0}';
  expect(statsBody()).toBe(`{"latest_height":0,${idle}`);
  expect(statsBody(['-1', '0', '0', '0', '0', '0'])).toBe(`{"latest_height":0,${idle}`);
  expect(statsBody(['7', '5', '1', '5', '1', '0'])).toBe(
    '{"latest_height":7,"tx_per_second":0.0,"total_transactions":5,"active_validators":1,"avg_block_time_seconds":0.0}',
  );
  // two blocks of the same time, and a clock that went back
  for (const span of ['0', '-500']) {
    expect(statsBody(['7', '9', '2', '5', '1', span])).toBe(
      '{"latest_height":7,"tx_per_second":0.0,"total_transactions":9,"active_validators":1,"avg_block_time_seconds":0.0}',
    );
  }
  expect(statsBody(['7', '900', '3', '5', '2', '4000'])).toBe(
    '{"latest_height":7,"tx_per_second":1.25,"total_transactions":900,"active_validators":2,"avg_block_time_seconds":2.0}',
  );
});

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
] as const)('the label of %s as a %s is: %s', (kind, direction, label) =>
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
])('the label of an unknown kind, %j, is its words: %j', (kind, label) => {
  for (const direction of ['credit', 'debit'] as const)
    expect(activityLabel(kind, direction)).toBe(label);
});

test('the label of an unknown direction is the words of the kind', () => {
  expect(activityLabel('transfer_in', 'debit')).toBe('Transfer in');
});
