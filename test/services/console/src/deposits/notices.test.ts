import { expect, test } from 'vitest';
import { newlyCredited, statusesOf } from '../../../../../services/console/src/deposits/notices.ts';

const CREDITED = { id: 'credited', status: 'credited' } as const;
const WAITS = { id: 'waits', status: 'confirmed' } as const;

test('the first look tells of no deposit, however many are credited', () => {
  expect(newlyCredited(undefined, [CREDITED, WAITS])).toEqual([]);
});

test('a deposit is told when it is credited, once, also one that came and went between two looks', () => {
  const before = statusesOf([CREDITED, WAITS]);
  expect(newlyCredited(before, [CREDITED, WAITS])).toEqual([]);
  const now = [
    { id: 'new', status: 'credited' } as const,
    { ...WAITS, status: 'credited' } as const,
  ];
  expect(newlyCredited(before, [...now, CREDITED])).toEqual(now);
  expect(newlyCredited(statusesOf([...now, CREDITED]), [...now, CREDITED])).toEqual([]);
});

test('a mint that was voided and made again is told again', () => {
  const voided = statusesOf([{ ...CREDITED, status: 'confirmed' }]);
  expect(newlyCredited(voided, [CREDITED])).toEqual([CREDITED]);
});
