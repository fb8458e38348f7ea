import { expect, test } from 'vitest';
import {
  evolve,
  NO_REQUEST,
  type Request,
  type RequestStep,
} from '../../../projections/ride-market/request.ts';
import type { RideRequest } from '../../../projections/ride-market/ride-step.ts';
import { named } from '../../support/chain-by-hand.ts';

const REQUEST: RideRequest = {
  hash: named('request', 32),
  passenger: named('alice'),
  pickup_lat: '52.5',
  pickup_lng: '13.4',
  dropoff_lat: '52.6',
  dropoff_lng: '13.5',
  fare: 10_000_000n,
  referrer: null,
  height: 3,
  tx_index: 0,
};
const OTHER: RideRequest = { ...REQUEST, passenger: named('bob'), fare: 1n, height: 9 };
const OFFER = named('offer', 32);
const AT = { height: 5, tx_index: 2 };
/** of the transaction that closes */
const HASH = named('closing', 32);

const STATES = {
  absent: NO_REQUEST,
  open: { status: 'open', request: REQUEST },
  accepted: {
    status: 'accepted',
    request: REQUEST,
    offer_hash: OFFER,
    closed: AT,
    closed_hash: HASH,
  },
  cancelled: { status: 'cancelled', request: REQUEST, closed: AT, closed_hash: HASH },
} as const satisfies Record<Request['status'], Request>;

const STEPS = {
  requested: { step: 'requested', request: REQUEST },
  'requested again': { step: 'requested', request: OTHER },
  accepted: { step: 'accepted', hash: HASH, offer_hash: OFFER, at: AT },
  request_cancelled: { step: 'request_cancelled', hash: HASH, at: AT },
} as const satisfies Record<string, RequestStep>;

const OUTCOMES = {
  ...STATES,
  'another open': { status: 'open', request: OTHER },
} as const satisfies Record<string, Request>;

/** The next state; '-': the step does not fit. Every cell is required. */
const TABLE: Record<
  keyof typeof STEPS,
  Record<keyof typeof STATES, keyof typeof OUTCOMES | '-'>
> = {
  requested: { absent: 'open', open: '-', accepted: '-', cancelled: '-' },
  'requested again': { absent: 'another open', open: '-', accepted: '-', cancelled: '-' },
  accepted: { absent: '-', open: 'accepted', accepted: '-', cancelled: '-' },
  request_cancelled: { absent: '-', open: 'cancelled', accepted: '-', cancelled: '-' },
};

const CELLS = Object.entries(STEPS).flatMap(([step, what]) =>
  Object.entries(STATES).map(([state, before]) => ({ step, state, what, before })),
);

test.each(CELLS)('$step on a request that is $state', ({ step, state, what, before }) => {
  const row: Readonly<Record<string, keyof typeof OUTCOMES | '-'>> | undefined = new Map(
    Object.entries(TABLE),
  ).get(step);
  const wanted = row?.[state];
  const after = evolve(before, what);
  if (wanted === undefined) throw new Error('a cell is missing');
  if (wanted === '-') expect(after).toBe(before);
  else expect(after).toEqual(OUTCOMES[wanted]);
});
