/**
 * The life of a trip. The acceptance of an offer begins it and puts the offer's fare into escrow; payments move that to the driver, until all of it is paid: completed. Before that either party may
 * cancel, and what is not paid goes back to the passenger: cancelled. Then nothing happens to it any more, save by a reorganisation.
 *
 * Steps that do not fit a state have no effect.
 */
import type { Place, Route } from './ride-step.ts';

/** What is fixed when it begins; named by the hash of the acceptance. Amounts are base units. */
export interface TripTerms extends Route, Place {
  readonly hash: Buffer;
  readonly offer_hash: Buffer;
  readonly request_hash: Buffer;
  /** of the accepted offer */
  readonly fare: bigint;
  readonly driver: Buffer;
  readonly passenger: Buffer;
}

export type Trip = AbsentTrip | ActiveTrip | EndedTrip;

export interface AbsentTrip {
  readonly status: 'absent';
}

export interface ActiveTrip {
  readonly status: 'active';
  readonly terms: TripTerms;
  readonly fare_paid: bigint;
}

export interface EndedTrip {
  readonly status: 'completed' | 'cancelled';
  readonly terms: TripTerms;
  readonly fare_paid: bigint;
  readonly ended: Place;
}

export type TripStep =
  | { readonly step: 'begun'; readonly terms: TripTerms }
  | { readonly step: 'paid'; readonly amount: bigint; readonly at: Place }
  | { readonly step: 'cancelled'; readonly at: Place };

export const NO_TRIP: AbsentTrip = { status: 'absent' };

/** The one step of the fold: the state afterwards, which is the same object where the step does not fit. Never throws. */
export function evolve(trip: Trip, step: TripStep): Trip {
  switch (step.step) {
    case 'begun':
      return trip.status === 'absent'
        ? { status: 'active', terms: step.terms, fare_paid: 0n }
        : trip;
    case 'paid':
      return trip.status === 'active' && step.amount > 0n ? paid(trip, step.amount, step.at) : trip;
    case 'cancelled':
      return trip.status === 'active'
        ? { status: 'cancelled', terms: trip.terms, fare_paid: trip.fare_paid, ended: step.at }
        : trip;
  }
}

/** More than the fare is never paid: the chain takes no more out of escrow than is due. Should it say so all the same, it is shown. */
function paid({ terms, fare_paid: before }: ActiveTrip, amount: bigint, at: Place): Trip {
  const total = before + amount;
  return total < terms.fare
    ? { status: 'active', terms, fare_paid: total }
    : { status: 'completed', terms, fare_paid: total, ended: at };
}
