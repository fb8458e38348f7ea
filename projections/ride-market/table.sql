-- Built from chain.blocks. Open rows are in small tables, closed ones in tables that only grow; a
-- revert undoes what the journal records. A row's hash is that of the transaction that created it.
-- Coordinates are text as signed: decimal degrees.

-- Up to where the tables are folded.
CREATE TABLE head (
  one              boolean PRIMARY KEY CHECK (one), -- true: there is a single row
  sequence         bigint  NOT NULL, -- sequence of the last chain event applied
  height           bigint  NOT NULL, -- height of the newest block
  hash             bytea   NOT NULL, -- hash of the newest block, 32 bytes
  finalized_height bigint  NOT NULL, -- blocks up to this height are final; -1: none yet
  journal_from     bigint  NOT NULL  -- the journal has a row for each height from here to the newest
);

-- The changes of each block that is not final, for its revert.
CREATE TABLE journal (
  height bigint PRIMARY KEY, -- height of the block
  undo   text   NOT NULL     -- JSON: a list of [table, key, row before or null, row exists after]
);

-- The requests that are neither accepted nor cancelled.
CREATE TABLE open_requests (
  hash        bytea   PRIMARY KEY, -- hash of the request, 32 bytes
  passenger   bytea   NOT NULL,    -- who asked, 20 bytes
  pickup_lat  text    NOT NULL,    -- latitude of the start, decimal degrees
  pickup_lng  text    NOT NULL,    -- longitude of the start, decimal degrees
  dropoff_lat text    NOT NULL,    -- latitude of the end, decimal degrees
  dropoff_lng text    NOT NULL,    -- longitude of the end, decimal degrees
  fare        numeric NOT NULL,    -- CLT base units that the passenger offers
  referrer    bytea,               -- who referred the passenger, 20 bytes; null: nobody
  height      bigint  NOT NULL,    -- height of the block of the request
  tx_index    integer NOT NULL     -- position of the request in that block
);

-- The requests that were accepted or cancelled.
CREATE TABLE closed_requests (
  hash          bytea   NOT NULL, -- hash of the request, 32 bytes
  passenger     bytea   NOT NULL, -- who asked, 20 bytes
  pickup_lat    text    NOT NULL, -- latitude of the start, decimal degrees
  pickup_lng    text    NOT NULL, -- longitude of the start, decimal degrees
  dropoff_lat   text    NOT NULL, -- latitude of the end, decimal degrees
  dropoff_lng   text    NOT NULL, -- longitude of the end, decimal degrees
  fare          numeric NOT NULL, -- CLT base units that the passenger offered
  referrer      bytea,            -- who referred the passenger, 20 bytes; null: nobody
  height        bigint  NOT NULL, -- height of the block of the request
  tx_index      integer NOT NULL, -- position of the request in that block
  offer_hash    bytea,            -- the offer that was accepted; null: the request was cancelled
  closed_height bigint  NOT NULL, -- height of the block of the acceptance or cancellation
  closed_index  integer NOT NULL, -- position of the acceptance or cancellation in that block
  closed_hash   bytea   NOT NULL  -- hash of the acceptance or cancellation, 32 bytes
);

-- The offers made while their request was open; an offer is open as long as its request is.
CREATE TABLE offers (
  hash         bytea   PRIMARY KEY, -- hash of the offer, 32 bytes
  request_hash bytea   NOT NULL,    -- hash of the request, 32 bytes
  driver       bytea   NOT NULL,    -- who offers, 20 bytes
  fare         numeric NOT NULL,    -- CLT base units that the driver asks for
  referrer     bytea,               -- who referred the driver, 20 bytes; null: nobody
  height       bigint  NOT NULL,    -- height of the block of the offer
  tx_index     integer NOT NULL     -- position of the offer in that block
);

-- The trips that are accepted, neither fully paid nor cancelled; escrow holds the unpaid part.
-- No index covers fare_paid.
CREATE TABLE active_trips (
  hash         bytea   PRIMARY KEY, -- hash of the acceptance, 32 bytes
  offer_hash   bytea   NOT NULL,    -- hash of the accepted offer, 32 bytes
  request_hash bytea   NOT NULL,    -- hash of the request, 32 bytes
  pickup_lat   text    NOT NULL,    -- latitude of the start, decimal degrees
  pickup_lng   text    NOT NULL,    -- longitude of the start, decimal degrees
  dropoff_lat  text    NOT NULL,    -- latitude of the end, decimal degrees
  dropoff_lng  text    NOT NULL,    -- longitude of the end, decimal degrees
  fare         numeric NOT NULL,    -- CLT base units of the accepted offer
  fare_paid    numeric NOT NULL,    -- CLT base units taken out of escrow by payments, as the chain recorded it
  driver       bytea   NOT NULL,    -- 20 bytes
  passenger    bytea   NOT NULL,    -- 20 bytes
  height       bigint  NOT NULL,    -- height of the block of the acceptance
  tx_index     integer NOT NULL     -- position of the acceptance in that block
) WITH (fillfactor = 70);

-- The trips that are fully paid or cancelled.
CREATE TABLE ended_trips (
  hash         bytea   NOT NULL, -- hash of the acceptance, 32 bytes
  offer_hash   bytea   NOT NULL, -- hash of the accepted offer, 32 bytes
  request_hash bytea   NOT NULL, -- hash of the request, 32 bytes
  pickup_lat   text    NOT NULL, -- latitude of the start, decimal degrees
  pickup_lng   text    NOT NULL, -- longitude of the start, decimal degrees
  dropoff_lat  text    NOT NULL, -- latitude of the end, decimal degrees
  dropoff_lng  text    NOT NULL, -- longitude of the end, decimal degrees
  fare         numeric NOT NULL, -- CLT base units of the accepted offer
  fare_paid    numeric NOT NULL, -- CLT base units taken out of escrow by payments
  driver       bytea   NOT NULL, -- 20 bytes
  passenger    bytea   NOT NULL, -- 20 bytes
  height       bigint  NOT NULL, -- height of the block of the acceptance
  tx_index     integer NOT NULL, -- position of the acceptance in that block
  trip_status  text    NOT NULL, -- completed or cancelled
  ended_height bigint  NOT NULL, -- height of the block of the last payment or cancellation
  ended_index  integer NOT NULL, -- position of that transaction in its block
  ended_hash   bytea   NOT NULL  -- hash of that transaction, 32 bytes
);

-- The payments of trips.
CREATE TABLE payments (
  hash      bytea   NOT NULL, -- hash of the payment, 32 bytes
  trip_hash bytea   NOT NULL, -- hash of the trip's acceptance, 32 bytes
  amount    numeric NOT NULL, -- CLT base units taken out of escrow, more than 0
  height    bigint  NOT NULL, -- height of the block of the payment
  tx_index  integer NOT NULL  -- position of the payment in that block
);
