/** The lists of the ride market: how each is asked for, and which notifications of the projection tell that it may have changed. A query and a subscription of one list are one entry. */
import {
  ENDED_TRIPS_KEY,
  offersKey,
  REQUESTS_KEY,
  TRIPS_KEY,
  partyKey,
  type TripsKey,
} from '../../../projections/ride-market/change-keys.ts';
import {
  activeTrips,
  completedTrips,
  recentTrips,
  rideOffers,
  rideRequests,
  type Bounds,
  type Parties,
} from '../../../projections/ride-market/queries.ts';
import type { Query } from '../../../projections/contract/page.ts';
import type { Cells } from '../../runtime/postgres/pool.ts';
import { offerObject, requestObject, tripObject } from './market-objects.ts';
import {
  readBounds,
  readHash,
  readLimit,
  readParties,
  type BoundsArgument,
  type PartiesArgument,
} from './parameters.ts';

export interface List {
  readonly query: Query;
  /** of a list that has no limit of its own: it asks for one row more, so that it is known whether there are more; undefined: the caller has said how many */
  readonly rows_max?: number;
  readonly toObject: (cells: Cells) => object;
  /** whether a notification of this key is about the list */
  readonly isTouchedBy: (key: string) => boolean;
}

/** Throws a `Refused` for arguments that are not as they must be. */
export type ListOf<Arguments> = (args: Arguments, rowsMax: number) => List;

export const requestsList: ListOf<{ readonly bounds?: BoundsArgument | null }> = (
  args,
  rowsMax,
) => {
  const bounds = readBounds(args.bounds);
  return {
    query: rideRequests(bounds, rowsMax + 1),
    rows_max: rowsMax,
    toObject: requestObject,
    isTouchedBy:
      bounds === undefined ? (key) => key === REQUESTS_KEY : (key) => isPickupWithin(key, bounds),
  };
};

export const offersList: ListOf<{ readonly rideRequestTxHash: string }> = (args, rowsMax) => {
  const request = readHash('rideRequestTxHash', args.rideRequestTxHash);
  const area = offersKey(request);
  return {
    query: rideOffers(request, rowsMax + 1),
    rows_max: rowsMax,
    toObject: offerObject,
    isTouchedBy: (key) => key === area,
  };
};

export const activeTripsList: ListOf<PartiesArgument> = (args, rowsMax) => {
  const parties = readParties(args);
  return {
    query: activeTrips(parties, rowsMax + 1),
    rows_max: rowsMax,
    toObject: tripObject,
    isTouchedBy: areaTest(TRIPS_KEY, parties),
  };
};

export const completedTripsList: ListOf<PartiesArgument & { readonly limit?: number | null }> = (
  args,
) => {
  const parties = readParties(args);
  return {
    query: completedTrips(parties, readLimit(args.limit)),
    toObject: tripObject,
    isTouchedBy: areaTest(ENDED_TRIPS_KEY, parties),
  };
};

export const recentTripsList: ListOf<PartiesArgument & { readonly limit?: number | null }> = (
  args,
) => {
  const parties = readParties(args);
  return {
    query: recentTrips(parties, readLimit(args.limit)),
    toObject: tripObject,
    isTouchedBy: areaTest(ENDED_TRIPS_KEY, parties),
  };
};

function areaTest(area: TripsKey, { driver, passenger }: Parties): (key: string) => boolean {
  const party = driver ?? passenger;
  const wanted = party === undefined ? area : partyKey(area, party);
  return (key) => key === wanted;
}

const PICKUP = /^requests:(-?[0-9.]+),(-?[0-9.]+)$/;

/** On the safe side: 180 and -180 are one meridian. */
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
