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
  readParties,
  type BoundsArgument,
  type PartiesArgument,
} from './parameters.ts';

export interface List {
  readonly query: (limit: number) => Query;
  /** of a list with such an argument */
  readonly limit?: number;
  readonly toObject: (cells: Cells) => object;
  /** whether a change of this key touches the list */
  readonly isTouchedBy: (key: string) => boolean;
}

/** Throws a `Refused` for invalid arguments. */
export type ListOf<Arguments> = (args: Arguments) => List;

export const requestsList: ListOf<{ readonly bounds?: BoundsArgument | null }> = (args) => {
  const bounds = readBounds(args.bounds);
  return {
    query: (limit) => rideRequests(bounds, limit),
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

export const activeTripsList: ListOf<PartiesArgument> = (args) => {
  const parties = readParties(args);
  return {
    query: (limit) => activeTrips(parties, limit),
    toObject: tripObject,
    isTouchedBy: touchesTrips(TRIPS_KEY, parties),
  };
};

type EndedTripsList = ListOf<PartiesArgument & { readonly limit?: number | null }>;
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
  { min_lat: south, max_lat: north, min_lng: west, max_lng: east }: Bounds,
): boolean {
  const [, lat, lng] = PICKUP.exec(key) ?? [];
  if (lat === undefined || lng === undefined) return false;
  const [latitude, longitude] = [Number(lat), Number(lng)];
  if (latitude < south || latitude > north) return false;
  if (Math.abs(longitude) === 180) return true;
  return west <= east
    ? longitude >= west && longitude <= east
    : longitude >= west || longitude <= east;
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

function optionalHex(bytea: Cell): string | null {
  return bytea === null || bytea === undefined ? null : byteaHex(bytea);
}
