import { expect, test } from 'vitest';
import { Retries } from '../../../services/tron-watcher/retries.ts';
import { MINUTE_MS, NOW } from './simulated.ts';

const entry = {
  address: Buffer.alloc(20, 7),
  partition: 0,
  derivation_index: 7,
  hot: true,
  checked_at: 0,
  checked_until: 0,
  turn_at: 0,
};
const tx_id = Buffer.alloc(32, 9);
const id = tx_id.toString('hex');

test('a transfer that the treasury named holds the cursor once a list names it, until lists leave it out for long', () => {
  let now = NOW;
  const retries = new Retries({ retry_ms_min: 1, retry_ms_max: 1, now: () => now });
  retries.name({ entry, tx_id }, 'the treasury has found it');
  // no list has named it yet, and none may ever
  for (let list = 0; list < 100; list++, now += MINUTE_MS) retries.listed(entry, new Map());
  expect([retries.transfers.length, retries.undecidedFrom(entry)]).toEqual([1, undefined]);
  retries.listed(entry, new Map([[id, NOW - 5]]));
  expect(retries.undecidedFrom(entry)).toBe(NOW - 5);
  for (let list = 0; list < 4; list++, now += 10 * MINUTE_MS) retries.listed(entry, new Map());
  expect(retries.undecidedFrom(entry)).toBe(NOW - 5);
  retries.listed(entry, new Map());
  expect(retries.transfers).toEqual([]);
});
