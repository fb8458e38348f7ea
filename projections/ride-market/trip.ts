/**
 * The life cycle of a trip. The acceptance of an offer begins it and moves the fare into escrow.
 * Payments move the escrow to the driver; when all of it is paid, the trip is completed. Before
 * that either party may cancel it, which returns the unpaid part to the passenger. Only a
 * reorganisation changes an ended trip. A step that does not fit the state has no effect.
 */
import type { At, ChainPosition, Route } from './ride-step.ts';

/** Fixed when the trip begins. `hash` is the acceptance's. Amounts are base units. */
export interface TripTerms extends Route, ChainPosition {
  readonly hash: Buffer;
  readonly offer_hash: Buffer;
  readonly request_hash: Buffer;
  /** of the accepted offer */
  readonly fare: bigint;
  readonly driver: Buffer;
  readonly passenger: Buffer;
}

export type Trip = { readonly status: 'absent' } | ActiveTrip | EndedTrip;

interface ActiveTrip {
  readonly status: 'active';
  readonly terms: TripTerms;
  readonly fare_paid: bigint;
}

export interface EndedTrip {
  readonly status: 'completed' | 'cancelled';
  readonly terms: TripTerms;
  readonly fare_paid: bigint;
  /** by this transaction */
  readonly ended: ChainPosition;
  readonly ended_hash: Buffer;
}

export type TripStep =
  | { readonly step: 'begun'; readonly terms: TripTerms }
  | (At & { readonly step: 'paid'; readonly amount: bigint })
  | (At & { readonly step: 'cancelled' });

export const NO_TRIP: Trip = { status: 'absent' };

/** The next state: the same object when the step does not fit. Never throws. */
export function evolve(trip: Trip, step: TripStep): Trip {
  switch (step.step) {
    case 'begun':
      return trip.status === 'absent'
        ? { status: 'active', terms: step.terms, fare_paid: 0n }
        : trip;
    case 'paid':
      return trip.status === 'active' && step.amount > 0n ? paid(trip, step) : trip;
    case 'cancelled':
      return trip.status === 'active' ? { ...trip, status: 'cancelled', ...endedBy(step) } : trip;
  }
}

/** The chain caps payments at the fare; a log that says otherwise is shown as it is. */
function paid(
  { terms, fare_paid: farePaid }: ActiveTrip,
  step: Extract<TripStep, { step: 'paid' }>,
): Trip {
  const total = farePaid + step.amount;
  return total < terms.fare
    ? { status: 'active', terms, fare_paid: total }
    : { status: 'completed', terms, fare_paid: total, ...endedBy(step) };
}

function endedBy({ hash, at }: At): Pick<EndedTrip, 'ended' | 'ended_hash'> {
  return { ended: at, ended_hash: hash };
}
