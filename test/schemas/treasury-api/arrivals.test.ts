import { expect, test } from 'vitest';
import { isArrivals } from '../../../schemas/treasury-api/arrivals.ts';

const FOUND = { address: 'TCjow1qG4ZvDNj5ZRCF2RSuS2kMCGKK1JJ', tron_tx_id: '5b'.repeat(32) };

test.each([
  { arrivals: [] },
  { arrivals: [FOUND, FOUND] },
  { arrivals: [{ ...FOUND, amount: 5 }], of_a_newer_treasury: true },
])('arrivals are read, and other fields are ignored: %j', (answer) => {
  expect(isArrivals(answer)).toBe(true);
});

test.each([
  null,
  [],
  {},
  { arrivals: {} },
  { arrivals: [{ address: FOUND.address }] },
  { arrivals: [FOUND, { ...FOUND, tron_tx_id: `0x${FOUND.tron_tx_id}` }] },
  { arrivals: [{ ...FOUND, address: '0x00' }] },
])('any other answer is refused: %j', (answer) => {
  expect(isArrivals(answer)).toBe(false);
});
