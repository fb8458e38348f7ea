import { expect, test } from 'vitest';
import { Left } from '../../../services/tron-watcher/left.ts';
import { MINUTE_MS } from './simulated.ts';

const ENTRY = {
  address: Buffer.alloc(20, 7),
  partition: 0,
  derivation_index: 7,
  hot: true,
  checked_at: 0,
  checked_until: 0,
  turn_at: 0,
};

test('the sum of five minutes ago, less the balance, has left, and stays away', () => {
  const left = new Left();
  const said: bigint[] = [];
  const compare = (minute: number, balance: bigint, observed: bigint): void => {
    left.compared(ENTRY, { balance, observed, at: minute * MINUTE_MS });
    said.push(left.of(ENTRY));
  };
  compare(0, 10n, 10n);
  // the node lags, or the money has left
  compare(1, 0n, 10n);
  compare(5, 0n, 10n);
  compare(6, 2n, 10n);
  compare(11, 1n, 30n);
  compare(12, 30n, 30n);
  expect(said).toEqual([0n, 0n, 0n, 8n, 9n, 9n]);
  left.forget(ENTRY);
  expect(left.of(ENTRY)).toBe(0n);
});

test('a node that lags counts no deposit as gone', () => {
  const left = new Left();
  const lag = 4;
  const deposits = [3, 20, 21, 40, 90];
  const sumAt = (minute: number): bigint =>
    BigInt(deposits.filter((deposit) => deposit <= minute).length);
  for (let minute = 0; minute < 120; minute++) {
    const balance = sumAt(minute - lag);
    left.compared(ENTRY, { balance, observed: sumAt(minute), at: minute * MINUTE_MS });
    expect(left.of(ENTRY)).toBe(0n);
  }
});
