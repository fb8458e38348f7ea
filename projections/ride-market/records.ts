/** The ride market's tables and their rows as records; `table.sql` says what each column means. */
import { rowOf } from '../contract/loaded-row.ts';
import type { Row, Table } from '../contract/projection.ts';
import type { ChainPosition, RideOffer, RideRequest } from './ride-step.ts';
import type { EndedTrip, TripTerms } from './trip.ts';

const ROUTE = {
  pickup_lat: 'text',
  pickup_lng: 'text',
  dropoff_lat: 'text',
  dropoff_lng: 'text',
} as const;
const POSITION = { height: 'int8', tx_index: 'int4' } as const;
const REQUEST = {
  hash: 'bytea',
  passenger: 'bytea',
  ...ROUTE,
  fare: 'numeric',
  referrer: 'bytea',
  ...POSITION,
} as const;
const TRIP = {
  hash: 'bytea',
  offer_hash: 'bytea',
  request_hash: 'bytea',
  ...ROUTE,
  fare: 'numeric',
  fare_paid: 'numeric',
  driver: 'bytea',
  passenger: 'bytea',
  ...POSITION,
} as const;

/** The tables whose rows are records. Each is keyed by the hash of a transaction. */
export const RECORD_TABLES = {
  open_requests: { name: 'open_requests', columns: REQUEST, key: ['hash'] },
  closed_requests: {
    name: 'closed_requests',
    columns: {
      ...REQUEST,
      offer_hash: 'bytea',
      closed_height: 'int8',
      closed_index: 'int4',
      closed_hash: 'bytea',
    },
    key: ['hash'],
  },
  offers: {
    name: 'offers',
    columns: {
      hash: 'bytea',
      request_hash: 'bytea',
      driver: 'bytea',
      fare: 'numeric',
      referrer: 'bytea',
      ...POSITION,
    },
    key: ['hash'],
  },
  active_trips: { name: 'active_trips', columns: TRIP, key: ['hash'] },
  ended_trips: {
    name: 'ended_trips',
    columns: {
      ...TRIP,
      trip_status: 'text',
      ended_height: 'int8',
      ended_index: 'int4',
      ended_hash: 'bytea',
    },
    key: ['hash'],
  },
  payments: {
    name: 'payments',
    columns: { hash: 'bytea', trip_hash: 'bytea', amount: 'numeric', ...POSITION },
    key: ['hash'],
  },
} as const satisfies Readonly<Record<string, Table>>;

interface ClosedRequestRow extends RideRequest {
  /** null: cancelled */
  readonly offer_hash: Buffer | null;
  readonly closed_height: number;
  readonly closed_index: number;
  readonly closed_hash: Buffer;
}

export interface ActiveTripRow extends TripTerms {
  readonly fare_paid: bigint;
}

interface EndedTripRow extends ActiveTripRow {
  readonly trip_status: EndedTrip['status'];
  readonly ended_height: number;
  readonly ended_index: number;
  readonly ended_hash: Buffer;
}

interface PaymentRow extends ChainPosition {
  readonly hash: Buffer;
  readonly trip_hash: Buffer;
  readonly amount: bigint;
}

/** The record of one row, by table. Its fields are the table's columns. */
export interface Records {
  readonly open_requests: RideRequest;
  readonly closed_requests: ClosedRequestRow;
  readonly offers: RideOffer;
  readonly active_trips: ActiveTripRow;
  readonly ended_trips: EndedTripRow;
  readonly payments: PaymentRow;
}
export type RecordTable = keyof Records;

export function rowFromRecord<Name extends RecordTable>(table: Name, record: Records[Name]): Row {
  return rowOf<{ readonly hash: 'bytea' }>(RECORD_TABLES[table], record);
}
