import { expect, test } from 'vitest';
import { Rate } from '../../../../services/runtime/process/rate.ts';

function openRate(): { rate: Rate; at: (ms: number) => Rate } {
  let now = 0;
  const rate = new Rate(() => now);
  return {
    rate,
    at(ms) {
      now = ms;
      return rate;
    },
  };
}

test('there is no rate before the second count, in the first two seconds, and of no records', () => {
  const { rate, at } = openRate();
  expect(rate.per_second).toBeUndefined();
  at(1_000).count(100);
  expect(at(2_000).per_second).toBeUndefined();
  at(3_000).count(0);
  expect(at(4_000).per_second).toBeUndefined();
  const quick = openRate();
  quick.at(1_000).count(100);
  quick.at(1_500).count(100);
  expect(quick.at(2_900).per_second).toBeUndefined();
  expect(quick.at(3_000).per_second).toBe(50);
});

test('the rate covers all counts after the first, and falls without counts', () => {
  const { at } = openRate();
  at(1_000).count(999);
  at(2_000).count(50);
  at(3_000).count(150);
  expect(at(3_000).per_second).toBe(100);
  expect(at(5_000).per_second).toBe(50);
});

test('counts older than ten seconds are dropped, except the last two', () => {
  const { at } = openRate();
  at(0).count(1);
  at(1_000).count(1_000_000);
  at(40_000).count(1);
  at(41_000).count(20);
  at(42_000).count(20);
  expect(at(42_000).per_second).toBe(20);
  at(100_000).count(580);
  expect(at(100_000).per_second).toBe(10);
});
