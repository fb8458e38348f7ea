import { expect, test } from 'vitest';
import { growthOf, type Sample } from './memory-growth.ts';

/** A sample each five seconds, until this minute. */
function life(minutes: number, mibAt: (minute: number) => number): readonly Sample[] {
  return Array.from({ length: minutes * 12 + 1 }, (_, at) => ({
    age_ms: at * 5_000,
    mib: mibAt(at / 12),
  }));
}

function warmingUp(minute: number): number {
  return minute < 2 ? 1_000 - 400 * minute : 100 + minute;
}

function doubling(minute: number): number {
  return minute > 8 ? 200 : 100;
}

test('the slope is that of the longest life after its first two minutes', () => {
  const growth = growthOf([life(3, () => 500), life(12, warmingUp), life(5, () => 500)]);
  expect(growth).toMatchObject({ lives: 3, longest_minutes: 12 });
  expect(growth.mib_per_hour).toBeCloseTo(60);
  expect(growth.mib).toBeCloseTo(107);
});

test('the last third of a life of ten minutes is compared with its first third, and the worst life counts', () => {
  const { thirds } = growthOf([life(11, () => 80), life(11, doubling), life(9, (at) => at)]);
  expect(thirds).toBeCloseTo(2);
});

test('lives too short for thirds are compared by their levels at the same age, the last with the first', () => {
  const lives = [
    life(4, () => 100),
    life(3, () => 900),
    life(6, (minute) => (minute > 4 ? 9 : 125)),
  ];
  const { thirds, same_age: sameAge } = growthOf(lives);
  expect(thirds).toBeNaN();
  expect(sameAge).toBeCloseTo(1.25);
});

test('a process that has only begun tells no growth', () => {
  expect(growthOf([life(1, () => 100)])).toEqual({
    lives: 1,
    longest_minutes: 1,
    mib: Number.NaN,
    mib_per_hour: Number.NaN,
    thirds: Number.NaN,
    same_age: Number.NaN,
  });
});
