/** The ride market's tables as the fold writes them; `table.sql` says what each column means. */
import type { Table } from '../contract/projection.ts';

export const HEAD: Table = {
  name: 'head',
  columns: {
    one: 'bool',
    sequence: 'int8',
    height: 'int8',
    hash: 'bytea',
    finalized_height: 'int8',
    journal_from: 'int8',
  },
  key: ['one'],
};

export const JOURNAL: Table = {
  name: 'journal',
  columns: { height: 'int8', undo: 'text' },
  key: ['height'],
};

const ROUTE = {
  pickup_lat: 'text',
  pickup_lng: 'text',
  dropoff_lat: 'text',
  dropoff_lng: 'text',
} as const;
const PLACE = { height: 'int8', tx_index: 'int4' } as const;

const REQUEST = {
  hash: 'bytea',
  passenger: 'bytea',
  ...ROUTE,
  fare: 'numeric',
  referrer: 'bytea',
  ...PLACE,
} as const;

export const OPEN_REQUESTS: Table = { name: 'open_requests', columns: REQUEST, key: ['hash'] };

export const CLOSED_REQUESTS: Table = {
  name: 'closed_requests',
  columns: { ...REQUEST, offer_hash: 'bytea', closed_height: 'int8', closed_index: 'int4' },
  key: ['hash'],
};

export const OFFERS: Table = {
  name: 'offers',
  columns: {
    hash: 'bytea',
    request_hash: 'bytea',
    driver: 'bytea',
    fare: 'numeric',
    referrer: 'bytea',
    ...PLACE,
  },
  key: ['hash'],
};

const TRIP = {
  hash: 'bytea',
  offer_hash: 'bytea',
  request_hash: 'bytea',
  ...ROUTE,
  fare: 'numeric',
  fare_paid: 'numeric',
  driver: 'bytea',
  passenger: 'bytea',
  ...PLACE,
} as const;

export const ACTIVE_TRIPS: Table = { name: 'active_trips', columns: TRIP, key: ['hash'] };

export const ENDED_TRIPS: Table = {
  name: 'ended_trips',
  columns: { ...TRIP, trip_status: 'text', ended_height: 'int8', ended_index: 'int4' },
  key: ['hash'],
};
