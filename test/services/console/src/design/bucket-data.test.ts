import { expect, test } from 'vitest';
import { dataOf } from '../../../../../services/console/src/design/bucket-data.ts';

const HOUR = 3_600;
const AXIS = [0, 4 * HOUR] as const;
const TIMES = [0, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR];

test.each([
  ['bars', [null, null, 5, null, null]],
  // the last value holds until the end of its hour
  ['line', [null, null, 5, 5, null]],
  ['parts', [null, null, 1, null, null]],
] as const)('%s of one hour stand in their place of an axis of four', (shape, values) => {
  const lines = [{ values: [5] }];
  expect(dataOf([2 * HOUR], lines, { length: HOUR, shape }, AXIS)).toEqual([TIMES, values]);
});

test('an hour without a block is zero, and one before the chain has no value', () => {
  const [, values] = dataOf(
    [HOUR, 2 * HOUR, 3 * HOUR],
    [{ values: [2, 0, 3] }],
    { length: HOUR, shape: 'bars' },
    AXIS,
  );
  expect(values).toEqual([null, 2, 0, 3, null]);
});

test('hours before the axis are not drawn', () => {
  const lines = [{ values: [1, 2, 3] }];
  const [, values] = dataOf([-HOUR, 0, HOUR], lines, { length: HOUR, shape: 'bars' }, AXIS);
  expect(values).toEqual([2, 3, null, null, null]);
});
