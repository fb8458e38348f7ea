/** The rows of the ride market by their table, as the fold holds them, and how they become values of columns and come back. */
import { amountIn, bytesIn, countIn, textIn } from '../contract/loaded-row.ts';
import type { LoadedRow, Row, Table } from '../contract/projection.ts';
import type { RideOffer, RideRequest, Route } from './ride-step.ts';
import { ACTIVE_TRIPS, CLOSED_REQUESTS, ENDED_TRIPS, OFFERS, OPEN_REQUESTS } from './rows.ts';
import type { EndedTrip, TripTerms } from './trip.ts';

export interface ClosedRequestRow extends RideRequest {
  /** null: cancelled */
  readonly offer_hash: Buffer | null;
  readonly closed_height: number;
  readonly closed_index: number;
}

export interface ActiveTripRow extends TripTerms {
  readonly fare_paid: bigint;
}

export interface EndedTripRow extends ActiveTripRow {
  readonly trip_status: EndedTrip['status'];
  readonly ended_height: number;
  readonly ended_index: number;
}

/** By table, what one row of it is. Each is named by its hash. */
export interface Records {
  readonly open_requests: RideRequest;
  readonly closed_requests: ClosedRequestRow;
  readonly offers: RideOffer;
  readonly active_trips: ActiveTripRow;
  readonly ended_trips: EndedTripRow;
}
export type RecordTable = keyof Records;

export interface Shape<Kept> {
  readonly table: Table;
  /** the values in the order of the columns */
  readonly write: (record: Kept) => Row;
  readonly read: (row: LoadedRow) => Kept;
}

export const SHAPES: { readonly [Name in RecordTable]: Shape<Records[Name]> } = {
  open_requests: { table: OPEN_REQUESTS, write: requestValues, read: readRequest },
  closed_requests: {
    table: CLOSED_REQUESTS,
    write: (record) => [
      ...requestValues(record),
      record.offer_hash,
      record.closed_height,
      record.closed_index,
    ],
    read: (row) => ({
      ...readRequest(row),
      offer_hash: optionalBytesIn(row, 'offer_hash'),
      closed_height: countIn(row, 'closed_height'),
      closed_index: countIn(row, 'closed_index'),
    }),
  },
  offers: {
    table: OFFERS,
    write: ({ hash, request_hash, driver, fare, referrer, height, tx_index }) => [
      hash,
      request_hash,
      driver,
      fare,
      referrer,
      height,
      tx_index,
    ],
    read: (row) => ({
      hash: bytesIn(row, 'hash'),
      request_hash: bytesIn(row, 'request_hash'),
      driver: bytesIn(row, 'driver'),
      fare: amountIn(row, 'fare'),
      referrer: optionalBytesIn(row, 'referrer'),
      height: countIn(row, 'height'),
      tx_index: countIn(row, 'tx_index'),
    }),
  },
  active_trips: { table: ACTIVE_TRIPS, write: tripValues, read: readTrip },
  ended_trips: {
    table: ENDED_TRIPS,
    write: (record) => [
      ...tripValues(record),
      record.trip_status,
      record.ended_height,
      record.ended_index,
    ],
    read: (row) => ({
      ...readTrip(row),
      trip_status: tripStatusIn(row),
      ended_height: countIn(row, 'ended_height'),
      ended_index: countIn(row, 'ended_index'),
    }),
  },
};

function requestValues(record: RideRequest): Row {
  const { hash, passenger, fare, referrer, height, tx_index: index } = record;
  return [hash, passenger, ...routeValues(record), fare, referrer, height, index];
}

function readRequest(row: LoadedRow): RideRequest {
  return {
    hash: bytesIn(row, 'hash'),
    passenger: bytesIn(row, 'passenger'),
    ...readRoute(row),
    fare: amountIn(row, 'fare'),
    referrer: optionalBytesIn(row, 'referrer'),
    height: countIn(row, 'height'),
    tx_index: countIn(row, 'tx_index'),
  };
}

function tripValues(record: ActiveTripRow): Row {
  const {
    hash,
    offer_hash: offer,
    request_hash: request,
    fare,
    fare_paid: paid,
    driver,
    passenger,
    height,
    tx_index: index,
  } = record;
  return [
    hash,
    offer,
    request,
    ...routeValues(record),
    fare,
    paid,
    driver,
    passenger,
    height,
    index,
  ];
}

function readTrip(row: LoadedRow): ActiveTripRow {
  return {
    hash: bytesIn(row, 'hash'),
    offer_hash: bytesIn(row, 'offer_hash'),
    request_hash: bytesIn(row, 'request_hash'),
    ...readRoute(row),
    fare: amountIn(row, 'fare'),
    fare_paid: amountIn(row, 'fare_paid'),
    driver: bytesIn(row, 'driver'),
    passenger: bytesIn(row, 'passenger'),
    height: countIn(row, 'height'),
    tx_index: countIn(row, 'tx_index'),
  };
}

function routeValues({ pickup_lat, pickup_lng, dropoff_lat, dropoff_lng }: Route): Row {
  return [pickup_lat, pickup_lng, dropoff_lat, dropoff_lng];
}

function readRoute(row: LoadedRow): Route {
  return {
    pickup_lat: textIn(row, 'pickup_lat'),
    pickup_lng: textIn(row, 'pickup_lng'),
    dropoff_lat: textIn(row, 'dropoff_lat'),
    dropoff_lng: textIn(row, 'dropoff_lng'),
  };
}

function optionalBytesIn(row: LoadedRow, column: string): Buffer | null {
  return row[column] === null ? null : bytesIn(row, column);
}

function tripStatusIn(row: LoadedRow): EndedTrip['status'] {
  const status = textIn(row, 'trip_status');
  if (status !== 'completed' && status !== 'cancelled')
    throw new Error(`a stored trip ended as ${status}, which there is not`);
  return status;
}
