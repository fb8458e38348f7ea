import { expect, test } from 'vitest';
import { holderAmong } from '../../../../services/runtime/kafka/port.ts';
import {
  isHeldAt,
  keepsAt,
  OUTSIDE,
  tenureAfter,
  type Tenure,
  type TenureEvent,
} from '../../../../services/runtime/kafka/lease.ts';

const SESSION_MS = 6_000;
const NOW = 1_000_000;

const TENURES = {
  'outside, never held': OUTSIDE,
  'outside, held before': { status: 'outside', heard_at: NOW - 1_000 },
  standby: { status: 'standby' },
  holding: { status: 'holding', heard_at: NOW - 1_000 },
} as const satisfies Record<string, Tenure>;

const EVENTS = {
  'gets the partitions': { type: 'assigned', partitions: 1, at: NOW },
  'gets none': { type: 'assigned', partitions: 0, at: NOW },
  'is acknowledged': { type: 'heard', at: NOW },
  'is told of a rebalance': { type: 'revoked' },
  leaves: { type: 'left' },
} as const satisfies Record<string, TenureEvent>;

const HOLDS: Tenure = { status: 'holding', heard_at: NOW };
const { 'outside, held before': HELD_BEFORE, standby: STANDBY } = TENURES;

const AFTER: Record<keyof typeof TENURES, Record<keyof typeof EVENTS, Tenure>> = {
  'outside, never held': {
    'gets the partitions': HOLDS,
    'gets none': STANDBY,
    'is acknowledged': OUTSIDE,
    'is told of a rebalance': OUTSIDE,
    leaves: OUTSIDE,
  },
  'outside, held before': {
    'gets the partitions': HOLDS,
    'gets none': STANDBY,
    // a heartbeat during a rebalance renews nothing
    'is acknowledged': HELD_BEFORE,
    'is told of a rebalance': HELD_BEFORE,
    leaves: OUTSIDE,
  },
  standby: {
    'gets the partitions': HOLDS,
    'gets none': STANDBY,
    'is acknowledged': STANDBY,
    'is told of a rebalance': OUTSIDE,
    leaves: OUTSIDE,
  },
  holding: {
    'gets the partitions': HOLDS,
    'gets none': STANDBY,
    'is acknowledged': HOLDS,
    'is told of a rebalance': HELD_BEFORE,
    leaves: OUTSIDE,
  },
};

test.each(
  Object.entries(AFTER).flatMap(([tenure, events]) =>
    Object.entries(events).map(([event, after]) => [tenure, event, after] as const),
  ),
)('a member that is %s and %s', (tenure, event, after) => {
  const [was, what] = [
    new Map<string, Tenure>(Object.entries(TENURES)).get(tenure),
    new Map<string, TenureEvent>(Object.entries(EVENTS)).get(event),
  ];
  expect(was && what && tenureAfter(was, what)).toEqual(after);
});

test.each([
  ['acknowledged a moment ago', 3_999, true],
  ['not acknowledged for two thirds of the session', 4_000, false],
])('a holder that was %s: whether it holds the lease', (_, silent_ms, isHeld) => {
  const tenure: Tenure = { status: 'holding', heard_at: NOW - silent_ms };
  expect(isHeldAt(tenure, SESSION_MS, NOW)).toBe(isHeld);
  expect(keepsAt(tenure, SESSION_MS, NOW)).toBe(isHeld);
});

test('a member that held the lease before a rebalance keeps it, and works only once it has it', () => {
  expect(keepsAt(HELD_BEFORE, SESSION_MS, NOW)).toBe(true);
  expect(isHeldAt(HELD_BEFORE, SESSION_MS, NOW)).toBe(false);
  for (const tenure of [OUTSIDE, STANDBY]) expect(keepsAt(tenure, SESSION_MS, NOW)).toBe(false);
});

test.each([
  ['the holder', ['standby', 'holder', 'halted'], 1],
  ['one that can work, before one that halted', ['halted', 'halted', 'standby'], 2],
  ['one that says what this version does not know, or nothing', ['halted', ''], 1],
  ['the first of those that can work', ['halted', 'standby', 'standby'], 1],
  ['the first of those that halted', ['halted', 'halted'], 0],
])('%s gets the partitions', (_, claims, chosen) => {
  const members = claims.map((said, at) => ({ memberId: `member-${at}`, said }));
  expect(holderAmong(members.toReversed())?.memberId).toBe(`member-${chosen}`);
});
