/** The lists of the ride market, each for a query and the subscription of the same list. */
import {
  ENDED_TRIPS_KEY,
  offersKey,
  partyKey,
  REQUESTS_KEY,
  TRIPS_KEY,
  type TripsKey,
} from '../../../projections/ride-market/change-keys.ts';
import type { Query } from '../../../projections/contract/page.ts';
import {
  activeTrips,
  completedTrips,
  recentTrips,
  rideOffers,
  rideRequests,
  type Bounds,
  type Parties,
} from '../../../projections/ride-market/queries.ts';
import { byteaHex, type Cell } from '../../runtime/postgres/cells.ts';
import type { Cells } from '../../runtime/postgres/pool.ts';
import {
  readBounds,
  readHash,
  readLimit,
  readOpenLimit,
  readParties,
  type BoundsArgument,
  type PartiesArgument,
} from './parameters.ts';

export interface List {
  readonly query: (limit: number) => Query;
  /** of a list with such an argument */
  readonly limit?: number | undefined;
  readonly toObject: (cells: Cells) => object;
  /** whether a change of this key touches the list */
  readonly isTouchedBy: (key: string) => boolean;
}

/** Throws a `Refused` for invalid arguments. */
export type ListOf<Arguments> = (args: Arguments) => List;

/** The list ends where the hub's own limit is unless a limit is given. */
interface LimitArgument {
  readonly limit?: number | null;
}

type RequestsArgument = LimitArgument & { readonly bounds?: BoundsArgument | null };
export const requestsList: ListOf<RequestsArgument> = (args) => {
  const bounds = readBounds(args.bounds);
  return {
    query: (limit) => rideRequests(bounds, limit),
    limit: readOpenLimit(args.limit),
    toObject: requestObject,
    isTouchedBy:
      bounds === undefined ? (key) => key === REQUESTS_KEY : (key) => isPickupWithin(key, bounds),
  };
};

export const offersList: ListOf<{ readonly rideRequestTxHash: string }> = (args) => {
  const request = readHash('rideRequestTxHash', args.rideRequestTxHash);
  const offers = offersKey(request);
  return {
    query: (limit) => rideOffers(request, limit),
    toObject: offerObject,
    isTouchedBy: (key) => key === offers,
  };
};

export const activeTripsList: ListOf<PartiesArgument & LimitArgument> = (args) => {
  const parties = readParties(args);
  return {
    query: (limit) => activeTrips(parties, limit),
    limit: readOpenLimit(args.limit),
    toObject: tripObject,
    isTouchedBy: touchesTrips(TRIPS_KEY, parties),
  };
};

type EndedTripsList = ListOf<PartiesArgument & LimitArgument>;
export const completedTripsList: EndedTripsList = (args) => endedTrips(completedTrips, args);
export const recentTripsList: EndedTripsList = (args) => endedTrips(recentTrips, args);

function endedTrips(
  query: (parties: Parties, limit: number) => Query,
  args: Parameters<EndedTripsList>[0],
): List {
  const parties = readParties(args);
  return {
    query: (limit) => query(parties, limit),
    limit: readLimit(args.limit),
    toObject: tripObject,
    isTouchedBy: touchesTrips(ENDED_TRIPS_KEY, parties),
  };
}

function touchesTrips(list: TripsKey, { driver, passenger }: Parties): (key: string) => boolean {
  const party = driver ?? passenger;
  const expected = party === undefined ? list : partyKey(list, party);
  return (key) => key === expected;
}

const PICKUP = /^requests:(-?[0-9.]+),(-?[0-9.]+)$/;

/** The meridians 180 and -180 are the same: a pickup on it touches all bounds of its latitude. */
function isPickupWithin(
  key: string,
  { min_lat: minLat, max_lat: maxLat, min_lng: minLng, max_lng: maxLng }: Bounds,
): boolean {
  const [, lat, lng] = PICKUP.exec(key) ?? [];
  if (lat === undefined || lng === undefined) return false;
  const [latitude, longitude] = [Number(lat), Number(lng)];
  if (latitude < minLat || latitude > maxLat) return false;
  if (Math.abs(longitude) === 180) return true;
  return minLng <= maxLng
    ? longitude >= minLng && longitude <= maxLng
    : longitude >= minLng || longitude <= maxLng;
}

/** A row of `rideRequests`. Amounts stay the digits that Postgres wrote. */
export function requestObject(cells: Cells): object {
  const [hash, pickupLat, pickupLng, dropoffLat, dropoffLng, fare, passenger, referrer] = cells;
  return {
    txHash: byteaHex(hash),
    pickupLocation: { latitude: Number(pickupLat), longitude: Number(pickupLng) },
    dropoffLocation: { latitude: Number(dropoffLat), longitude: Number(dropoffLng) },
    fare,
    passengerAddress: byteaHex(passenger),
    referrer: optionalHex(referrer),
  };
}

/** A row of `rideOffers`. */
function offerObject([hash, requestHash, fare, driver, referrer]: Cells): object {
  return {
    txHash: byteaHex(hash),
    rideRequestTxHash: byteaHex(requestHash),
    fare,
    driverAddress: byteaHex(driver),
    referrer: optionalHex(referrer),
  };
}

/** A row of `activeTrips`, `completedTrips` or `recentTrips`. */
function tripObject(cells: Cells): object {
  const [hash, offerHash, requestHash, pickupLat, pickupLng, dropoffLat, dropoffLng, ...rest] =
    cells;
  const [fare, farePaid, driver, passenger, tripStatus] = rest;
  return {
    txHash: byteaHex(hash),
    rideOfferTxHash: byteaHex(offerHash),
    rideRequestTxHash: byteaHex(requestHash),
    pickupLocation: { latitude: Number(pickupLat), longitude: Number(pickupLng) },
    dropoffLocation: { latitude: Number(dropoffLat), longitude: Number(dropoffLng) },
    fare,
    farePaid,
    driverAddress: byteaHex(driver),
    passengerAddress: byteaHex(passenger),
    tripStatus,
  };
}

/** The most offers, and the most payments, of one ride. */
export const STEPS_MAX = 200;

/** Whether a change of this key may touch a ride. */
export function touchesRide(key: string): boolean {
  return key === REQUESTS_KEY || key === TRIPS_KEY || key.startsWith('offers:');
}

/** Columns of `rideByHash` before those of the step. */
const RIDE_COLUMNS = 11;

/** The rows of `rideByHash` as one object; null: there are none. */
export function rideObject(rows: readonly Cells[]): object | null {
  const [ride] = rows;
  if (ride === undefined) return null;
  const [status, request, trip, pickupLat, pickupLng, dropoffLat, dropoffLng, ...rest] = ride;
  const [fare, farePaid, passenger, driver] = rest;
  return {
    status,
    rideRequestTxHash: byteaHex(request),
    tripTxHash: optionalHex(trip),
    pickupLocation: { latitude: Number(pickupLat), longitude: Number(pickupLng) },
    dropoffLocation: { latitude: Number(dropoffLat), longitude: Number(dropoffLng) },
    fare,
    farePaid,
    passengerAddress: byteaHex(passenger),
    driverAddress: optionalHex(driver),
    steps: rows
      .map((row) => row.slice(RIDE_COLUMNS))
      .map(([step, hash, height, amount]) => ({
        step,
        txHash: byteaHex(hash),
        blockHeight: Number(height),
        amount,
      })),
  };
}

function optionalHex(bytea: Cell): string | null {
  return bytea === null || bytea === undefined ? null : byteaHex(bytea);
}
