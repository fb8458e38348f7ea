import { expect, test } from 'vitest';
import {
  isLater,
  parametersOf,
  spanSearch,
  stretchOf,
  withoutGaps,
} from '../../../../../services/console/src/series/span.ts';

test('an address names a known length and a time; anything else is left out', () => {
  expect(spanSearch({ span: '30d', to: '2026-03-01T00:00:00.000Z', other: 1 })).toEqual({
    span: '30d',
    to: '2026-03-01T00:00:00.000Z',
  });
  expect(spanSearch({ span: 'toString', to: 'soon' })).toEqual({});
  expect(parametersOf({})).toEqual({ by: 'hour', limit: 168, to: undefined });
  expect(parametersOf({ span: '1y' })).toEqual({ by: 'day', limit: 365, to: undefined });
});

interface Bucket {
  readonly start: string;
  readonly blocks: number;
}

function at(hour: number, blocks: number): Bucket {
  return { start: `2026-03-01T0${hour}:00:00.000Z`, blocks };
}

function empty(start: string): Bucket {
  return { start, blocks: 0 };
}

test('hours without a block come between those with one, oldest first', () => {
  expect(withoutGaps([at(5, 3), at(2, 2), at(1, 1)], 'hour', empty)).toEqual([
    at(1, 1),
    at(2, 2),
    at(3, 0),
    at(4, 0),
    at(5, 3),
  ]);
  expect(withoutGaps([], 'day', empty)).toEqual([]);
});

test.each([
  [{}, '2026-02-22T06:00:00.000Z', '2026-03-01T06:00:00.000Z'],
  [{ span: '24h' }, '2026-02-28T06:00:00.000Z', '2026-03-01T06:00:00.000Z'],
  [
    { span: '24h', to: '2026-02-10T12:30:00.000Z' },
    '2026-02-09T13:00:00.000Z',
    '2026-02-10T13:00:00.000Z',
  ],
] as const)('the axis of %j is the whole time that was chosen', (search, from, to) => {
  const stretch = stretchOf(search, '2026-03-01T05:00:00.000Z');
  expect([stretch.from, stretch.to].map((ms) => new Date(ms).toISOString())).toEqual([from, to]);
});

test('the axis of days ends with the day of the newest block', () => {
  expect(stretchOf({ span: '30d' }, '2026-03-01T00:00:00.000Z').to).toBe(
    Date.parse('2026-03-02T00:00:00.000Z'),
  );
});

test.each([
  [{ span: '24h', to: '2026-03-01T06:00:00Z' }, false],
  [{ span: '24h', to: '2026-03-01T06:00:00.001Z' }, true],
  [{ span: '24h', to: '2100-01-01' }, true],
  [{ span: '30d', to: '2026-03-02' }, false],
  [{ span: '24h' }, false],
] as const)(
  'whether the end of %j is after the newest block, of 05:00 to 06:00: %s',
  (search, is) => {
    const newest = search.span === '30d' ? '2026-03-01T00:00:00Z' : '2026-03-01T05:00:00Z';
    expect(isLater(search, newest)).toBe(is);
  },
);
