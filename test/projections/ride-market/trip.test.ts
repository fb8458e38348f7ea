import { expect, test } from 'vitest';
import {
  evolve,
  NO_TRIP,
  type Trip,
  type TripStep,
  type TripTerms,
} from '../../../projections/ride-market/trip.ts';
import { named } from '../../support/chain-by-hand.ts';

const TERMS: TripTerms = {
  hash: named('acceptance', 32),
  offer_hash: named('offer', 32),
  request_hash: named('request', 32),
  pickup_lat: '52.5',
  pickup_lng: '13.4',
  dropoff_lat: '52.6',
  dropoff_lng: '13.5',
  fare: 10n,
  driver: named('dave'),
  passenger: named('alice'),
  height: 4,
  tx_index: 1,
};
const AT = { height: 6, tx_index: 0 };
/** of the transaction of a step */
const HASH = named('step', 32);

const STATES = {
  absent: NO_TRIP,
  unpaid: { status: 'active', terms: TERMS, fare_paid: 0n },
  'partly paid': { status: 'active', terms: TERMS, fare_paid: 4n },
  completed: { status: 'completed', terms: TERMS, fare_paid: 10n, ended: AT, ended_hash: HASH },
  cancelled: { status: 'cancelled', terms: TERMS, fare_paid: 4n, ended: AT, ended_hash: HASH },
} as const satisfies Record<string, Trip>;

const STEPS = {
  begun: { step: 'begun', terms: TERMS },
  'paid nothing': { step: 'paid', hash: HASH, amount: 0n, at: AT },
  'paid 4': { step: 'paid', hash: HASH, amount: 4n, at: AT },
  'paid 5': { step: 'paid', hash: HASH, amount: 5n, at: AT },
  'paid 6': { step: 'paid', hash: HASH, amount: 6n, at: AT },
  'paid 10': { step: 'paid', hash: HASH, amount: 10n, at: AT },
  cancelled: { step: 'cancelled', hash: HASH, at: AT },
} as const satisfies Record<string, TripStep>;

const OUTCOMES = {
  ...STATES,
  'paid 5 of it': { status: 'active', terms: TERMS, fare_paid: 5n },
  'paid 6 of it': { status: 'active', terms: TERMS, fare_paid: 6n },
  'paid 8 of it': { status: 'active', terms: TERMS, fare_paid: 8n },
  'paid 9 of it': { status: 'active', terms: TERMS, fare_paid: 9n },
  'completed with 14': {
    status: 'completed',
    terms: TERMS,
    fare_paid: 14n,
    ended: AT,
    ended_hash: HASH,
  },
  'cancelled, unpaid': {
    status: 'cancelled',
    terms: TERMS,
    fare_paid: 0n,
    ended: AT,
    ended_hash: HASH,
  },
} as const satisfies Record<string, Trip>;

/** The next state; '-': the step does not fit. Every cell is required. */
const TABLE: Record<
  keyof typeof STEPS,
  Record<keyof typeof STATES, keyof typeof OUTCOMES | '-'>
> = {
  begun: { absent: 'unpaid', unpaid: '-', 'partly paid': '-', completed: '-', cancelled: '-' },
  'paid nothing': { absent: '-', unpaid: '-', 'partly paid': '-', completed: '-', cancelled: '-' },
  'paid 4': {
    absent: '-',
    unpaid: 'partly paid',
    'partly paid': 'paid 8 of it',
    completed: '-',
    cancelled: '-',
  },
  'paid 5': {
    absent: '-',
    unpaid: 'paid 5 of it',
    'partly paid': 'paid 9 of it',
    completed: '-',
    cancelled: '-',
  },
  'paid 6': {
    absent: '-',
    unpaid: 'paid 6 of it',
    'partly paid': 'completed',
    completed: '-',
    cancelled: '-',
  },
  'paid 10': {
    absent: '-',
    unpaid: 'completed',
    'partly paid': 'completed with 14',
    completed: '-',
    cancelled: '-',
  },
  cancelled: {
    absent: '-',
    unpaid: 'cancelled, unpaid',
    'partly paid': 'cancelled',
    completed: '-',
    cancelled: '-',
  },
};

const CELLS = Object.entries(STEPS).flatMap(([step, what]) =>
  Object.entries(STATES).map(([state, before]) => ({ step, state, what, before })),
);

test.each(CELLS)('$step on a trip that is $state', ({ step, state, what, before }) => {
  const row: Readonly<Record<string, keyof typeof OUTCOMES | '-'>> | undefined = new Map(
    Object.entries(TABLE),
  ).get(step);
  const wanted = row?.[state];
  const after = evolve(before, what);
  if (wanted === undefined) throw new Error('a cell is missing');
  if (wanted === '-') expect(after).toBe(before);
  else expect(after).toEqual(OUTCOMES[wanted]);
});
