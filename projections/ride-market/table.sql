-- Built from chain.blocks alone. What is open lives in small tables, what is over in tables that only grow; a reorganisation takes back just what the journal says.
-- Hashes are those of the transactions that made the row: a request's, an offer's, an acceptance's. Coordinates are decimal degrees, amounts CLT base units.

CREATE TABLE head (
  one              boolean PRIMARY KEY CHECK (one),  -- a single row
  sequence         bigint  NOT NULL,                 -- of the last chain event applied
  height           bigint  NOT NULL,
  hash             bytea   NOT NULL,
  finalized_height bigint  NOT NULL,                 -- -1: nothing is final yet
  journal_from     bigint  NOT NULL                  -- the journal has one row for each height from here to the newest
);

-- what each block that is not final changed here, so that its revert takes back exactly that
CREATE TABLE journal (
  height bigint PRIMARY KEY,
  undo   text   NOT NULL                             -- JSON: [table, key, the row before or null, whether there is one after], one a row
);

CREATE TABLE open_requests (
  hash        bytea   PRIMARY KEY,
  passenger   bytea   NOT NULL,
  pickup_lat  text    NOT NULL,
  pickup_lng  text    NOT NULL,
  dropoff_lat text    NOT NULL,
  dropoff_lng text    NOT NULL,
  fare        numeric NOT NULL,                      -- what the passenger would pay
  referrer    bytea,
  height      bigint  NOT NULL,                      -- where it stands in the chain
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
  closed_height bigint  NOT NULL,                    -- by the transaction that stands there
  closed_index  integer NOT NULL
);

-- made while their request was open. An offer is open as long as its request is; then it is the accepted one or has lapsed
CREATE TABLE offers (
  hash         bytea   PRIMARY KEY,
  request_hash bytea   NOT NULL,
  driver       bytea   NOT NULL,
  fare         numeric NOT NULL,
  referrer     bytea,
  height       bigint  NOT NULL,
  tx_index     integer NOT NULL
);

-- accepted, neither fully paid nor cancelled; what is not paid is in escrow. No index is on what a payment changes
CREATE TABLE active_trips (
  hash         bytea   PRIMARY KEY,                  -- of the acceptance
  offer_hash   bytea   NOT NULL,
  request_hash bytea   NOT NULL,
  pickup_lat   text    NOT NULL,
  pickup_lng   text    NOT NULL,
  dropoff_lat  text    NOT NULL,
  dropoff_lng  text    NOT NULL,
  fare         numeric NOT NULL,                     -- of the accepted offer
  fare_paid    numeric NOT NULL,                     -- what payments took out of escrow, as the chain recorded it
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
  ended_height bigint  NOT NULL,                     -- by the transaction that stands there
  ended_index  integer NOT NULL
);
