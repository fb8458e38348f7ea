-- The figures of each hour of the chain, by block time in UTC. An hour is numbered from
-- 1970-01-01T00:00:00Z, and a day is 24 hours. Where a block says an earlier hour than the block
-- before it, it counts in the later one: hours never fall along the chain.

-- Up to where the tables are folded.
CREATE TABLE head (
  one              boolean PRIMARY KEY CHECK (one), -- true: there is a single row
  sequence         bigint  NOT NULL, -- sequence of the last chain event applied
  height           bigint  NOT NULL, -- height of the newest block
  hash             bytea   NOT NULL, -- hash of the newest block, 32 bytes
  finalized_height bigint  NOT NULL, -- blocks up to this height are final; -1: none yet
  journal_from     bigint  NOT NULL  -- the journal has a row for each height from here to the newest
);

-- The figures that each block that is not final added, for its revert.
CREATE TABLE journal (
  height bigint PRIMARY KEY, -- height of the block
  undo   text   NOT NULL     -- JSON: its hour, producer, sums, and [account, its last hour before] of those it made active
);

-- The hours that have a block of the current chain.
CREATE TABLE hours (
  hour            bigint  PRIMARY KEY, -- hours since 1970-01-01T00:00:00Z
  last_height     bigint  NOT NULL, -- height of its newest block; no block will join it when the next height is final
  blocks          bigint  NOT NULL, -- number of its blocks, never 0
  transactions    bigint  NOT NULL, -- number of transactions
  fees            numeric NOT NULL, -- CLT base units that producers earned in fees
  rides           bigint  NOT NULL, -- number of trips that began: offers accepted
  fares           numeric NOT NULL, -- CLT base units that payments of trips took out of escrow
  active_accounts bigint  NOT NULL, -- number of accounts with a transaction from or to them
  supply          numeric NOT NULL  -- CLT base units that exist after its newest block
);

-- The figures of days that are not sums of their hours; a day without a transaction has no row.
CREATE TABLE days (
  day             bigint PRIMARY KEY, -- days since 1970-01-01
  active_accounts bigint NOT NULL     -- number of accounts with a transaction from or to them
);

-- The blocks of each validator in each hour.
CREATE TABLE producers (
  hour    bigint NOT NULL, -- hours since 1970-01-01T00:00:00Z
  address bytea  NOT NULL, -- the validator, 20 bytes
  blocks  bigint NOT NULL, -- number of its blocks in that hour, never 0
  PRIMARY KEY (hour, address)
);

-- The accounts that have been active, each with the last hour: it counts once an hour and once a day.
CREATE TABLE accounts (
  address   bytea  PRIMARY KEY, -- 20 bytes
  last_hour bigint NOT NULL     -- hour of its newest transaction
) WITH (fillfactor = 70);
