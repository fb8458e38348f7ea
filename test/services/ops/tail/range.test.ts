import { expect, test } from 'vitest';
import { parseBound } from '../../../../services/ops/tail/range.ts';
import { Misuse } from '../../../../services/ops/usage.ts';

const NOW = Date.UTC(2026, 10, 21, 12);

test.each([
  ['0', { offset: 0n }],
  ['9007199254740993', { offset: 9_007_199_254_740_993n }],
  ['end', { newest: 0n }],
  ['2026-11-21', { time: Date.UTC(2026, 10, 21) }],
  ['2026-11-21T10:30', { time: Date.UTC(2026, 10, 21, 10, 30) }],
  ['2026-11-21T10:30:05.25', { time: Date.UTC(2026, 10, 21, 10, 30, 5, 250) }],
  ['2026-11-21T10:30:00Z', { time: Date.UTC(2026, 10, 21, 10, 30) }],
  ['2026-11-21T10:30:00+02:00', { time: Date.UTC(2026, 10, 21, 8, 30) }],
  ['90s ago', { time: NOW - 90_000 }],
  ['2h ago', { time: NOW - 7_200_000 }],
  ['1d ago', { time: NOW - 86_400_000 }],
])('%s is a bound of a range', (text, bound) => {
  expect(parseBound('--from', text, NOW)).toEqual(bound);
});

test.each([
  '',
  '-1',
  '01',
  '1.5',
  '1e3',
  'yesterday',
  '2026-13-01',
  '2026-11-21 10:30',
  '10x ago',
  '99999999999999999999',
])('%j is not a bound of a range', (text) => {
  expect(() => parseBound('--to', text, NOW)).toThrow(Misuse);
});
