import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  LATITUDE_MAX,
  LONGITUDE_MAX,
  coordinateProblem,
  coordinateText,
} from '../../schemas/coordinate.ts';

test('degrees become canonical text within 1e-7', () => {
  fc.assert(
    fc.property(fc.double({ min: -180, max: 180, noNaN: true }), (degrees) => {
      const text = coordinateText(degrees);
      expect(coordinateProblem(text, LONGITUDE_MAX)).toBeUndefined();
      expect(Math.abs(Number(text) - degrees)).toBeLessThanOrEqual(1e-7);
    }),
  );
});

test.each([
  ['0', undefined],
  ['90', undefined],
  ['-90', undefined],
  ['89.999999999999999', undefined],
  ['90.000000000000001', 'coordinate_out_of_range'],
  ['91', 'coordinate_out_of_range'],
  ['-0', 'coordinate_not_canonical'],
  ['-0.5', undefined],
  ['0.0', 'coordinate_not_canonical'],
  ['1.0000000000000001', 'coordinate_not_canonical'],
  ['1000', 'coordinate_not_canonical'],
])('the latitude %s is judged %s', (text, problem) => {
  expect(coordinateProblem(text, LATITUDE_MAX)).toBe(problem);
});

test('trailing zeros of integers stay, and tiny values become 0', () => {
  expect(coordinateText(100)).toBe('100');
  expect(coordinateText(-20.5)).toBe('-20.5');
  expect(coordinateText(-1e-9)).toBe('0');
});
