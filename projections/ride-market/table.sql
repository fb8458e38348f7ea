-- Built from chain.blocks. Open rows are in small tables, closed ones in tables that only grow; a
-- revert undoes what the journal records. A row's hash is that of the transaction that created it.
-- Coordinates are decimal degrees, amounts CLT base units.

CREATE TABLE head (
  one              boolean PRIMARY KEY CHECK (one),  -- a single row
  sequence         bigint  NOT NULL,                 -- of the last chain event applied
  height           bigint  NOT NULL,
  hash             bytea   NOT NULL,
  finalized_height bigint  NOT NULL,                 -- -1: nothing is final yet
  journal_from     bigint  NOT NULL                  -- the journal has a row for each height from here to the newest
);

-- the changes of each unfinalized block, for its revert
CREATE TABLE journal (
  height bigint PRIMARY KEY,
  undo   text   NOT NULL                             -- JSON: a list of [table, key, row before or null, row exists after]
);

CREATE TABLE open_requests (
  hash        bytea   PRIMARY KEY,
  passenger   bytea   NOT NULL,
  pickup_lat  text    NOT NULL,
  pickup_lng  text    NOT NULL,
  dropoff_lat text    NOT NULL,
  dropoff_lng text    NOT NULL,
  fare        numeric NOT NULL,                      -- offered by the passenger
  referrer    bytea,
  height      bigint  NOT NULL,                      -- position in the chain
  tx_index    integer NOT NULL
);

-- accepted or cancelled
CREATE TABLE closed_requests (
  hash          bytea   NOT NULL,
  passenger     bytea   NOT NULL,
  pickup_lat    text    NOT NULL,
  pickup_lng    text    NOT NULL,
  dropoff_lat   text    NOT NULL,
  dropoff_lng   text    NOT NULL,
  fare          numeric NOT NULL,
  referrer      bytea,
  height        bigint  NOT NULL,
  tx_index      integer NOT NULL,
  offer_hash    bytea,                               -- the offer that was accepted; null: the request was cancelled
  closed_height bigint  NOT NULL,                    -- of the closing transaction
  closed_index  integer NOT NULL
);

-- made while their request was open; an offer is open as long as its request is
CREATE TABLE offers (
  hash         bytea   PRIMARY KEY,
  request_hash bytea   NOT NULL,
  driver       bytea   NOT NULL,
  fare         numeric NOT NULL,
  referrer     bytea,
  height       bigint  NOT NULL,
  tx_index     integer NOT NULL
);

-- accepted, neither fully paid nor cancelled; escrow holds the unpaid part. No index covers fare_paid
CREATE TABLE active_trips (
  hash         bytea   PRIMARY KEY,                  -- of the acceptance
  offer_hash   bytea   NOT NULL,
  request_hash bytea   NOT NULL,
  pickup_lat   text    NOT NULL,
  pickup_lng   text    NOT NULL,
  dropoff_lat  text    NOT NULL,
  dropoff_lng  text    NOT NULL,
  fare         numeric NOT NULL,                     -- of the accepted offer
  fare_paid    numeric NOT NULL,                     -- taken out of escrow by payments, as the chain recorded it
  driver       bytea   NOT NULL,
  passenger    bytea   NOT NULL,
  height       bigint  NOT NULL,
  tx_index     integer NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE ended_trips (
  hash         bytea   NOT NULL,
  offer_hash   bytea   NOT NULL,
  request_hash bytea   NOT NULL,
  pickup_lat   text    NOT NULL,
  pickup_lng   text    NOT NULL,
  dropoff_lat  text    NOT NULL,
  dropoff_lng  text    NOT NULL,
  fare         numeric NOT NULL,
  fare_paid    numeric NOT NULL,
  driver       bytea   NOT NULL,
  passenger    bytea   NOT NULL,
  height       bigint  NOT NULL,
  tx_index     integer NOT NULL,
  trip_status  text    NOT NULL,                     -- completed, cancelled
  ended_height bigint  NOT NULL,                     -- of the closing transaction
  ended_index  integer NOT NULL
);
