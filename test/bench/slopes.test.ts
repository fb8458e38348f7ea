import { expect, test } from 'vitest';
import { costOf, slopesOf } from './slopes.ts';

test('slopes are the costs of units, and of a second without any', () => {
  const costs = [50, 4, 0.5];
  const slopes = slopesOf([
    [1, 0, 2, 51],
    [1, 10, 2, 91],
    [1, 1, 200, 154],
  ]);
  for (const [at, cost] of costs.entries()) expect(slopes[at]).toBeCloseTo(cost, 9);
  expect(costOf(slopes, [1, 5, 100])).toBeCloseTo(120, 9);
});

test('loads that do the same are refused', () => {
  const row = [1, 5, 1];
  expect(() => slopesOf([row, row])).toThrow('cannot be told apart');
});
