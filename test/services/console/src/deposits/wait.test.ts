import { expect, test } from 'vitest';
import { markOf, waitOf } from '../../../../../services/console/src/deposits/wait.ts';

const CREDIT = '8000000';
const WAITING = {
  status: 'confirmed',
  credit: CREDIT,
  reason: null,
  waiting_for: null,
  waiting_before: '0',
} as const;
const QUEUE = {
  cap_left: '5000000',
  waiting: CREDIT,
  waiting_count: '1',
  is_stopped: false,
  is_allowed: true,
  leaving: [{ at: '2026-11-28T20:10:00.000Z', amount: '7000000' }],
};

test.each([
  ['a deposit that fits has no time', WAITING, { ...QUEUE, cap_left: CREDIT }, undefined],
  ['a queue that is not known gives no time', WAITING, undefined, undefined],
  [
    'one above the cap has the hour in which mints leave it',
    { ...WAITING, waiting_for: 'rolling_cap' },
    QUEUE,
    { at: '2026-11-28T20:00:00.000Z' },
  ],
  [
    'one above all that leaves has no time',
    { ...WAITING, waiting_for: 'rolling_cap' },
    { ...QUEUE, leaving: [] },
    undefined,
  ],
  [
    'one that is held waits for a person',
    { ...WAITING, status: 'needs_manual', waiting_for: 'awaiting_approval', waiting_before: null },
    QUEUE,
    'person',
  ],
  [
    'one that was rejected waits for nobody in this system',
    { ...WAITING, status: 'needs_manual', waiting_before: null },
    QUEUE,
    undefined,
  ],
  [
    'one whose mint is requested has no time',
    { ...WAITING, status: 'mint_requested', waiting_before: null },
    QUEUE,
    undefined,
  ],
] as const)('%s', (_, history, queue, until) => {
  const wait = waitOf(history, queue);
  expect(wait?.reasons.length).toBeGreaterThan(0);
  expect(wait?.until).toEqual(until);
});

test('a credited deposit waits for nothing, and of a status to come nothing is said', () => {
  expect(waitOf({ ...WAITING, status: 'credited', waiting_before: null }, QUEUE)).toBeUndefined();
});

test.each([
  ['confirmed', null, 'warn'],
  ['confirmed', 'rolling_cap', 'warn'],
  ['mint_requested', null, 'warn'],
  ['needs_manual', 'awaiting_approval', 'warn'],
  // rejected
  ['needs_manual', null, undefined],
  ['credited', null, 'good'],
] as const)(
  'a deposit that is %s and waits for %s has the mark %s',
  (status, waiting_for, mark) => {
    expect(markOf({ status, waiting_for })).toBe(mark);
  },
);
