-- Built from deposit.addresses: book, addresses. Built from tron.transfers: transfers. Built from both, in any order: queue.

-- Whoever changes the queue has this row meanwhile: the partitions of the two topics may be folded by several processes.
CREATE TABLE turn (one boolean PRIMARY KEY CHECK (one));
INSERT INTO turn VALUES (true);

CREATE TABLE book (
  one                 boolean PRIMARY KEY CHECK (one),  -- a single row
  log_end             bigint  NOT NULL,                 -- the offset of deposit.addresses that is folded next
  extended_public_key text,                             -- what every deposit address is derived from; it can spend nothing. Null: none is pinned yet
  fingerprint         text,                             -- of that key
  addresses           bigint  NOT NULL                  -- how many there are: the next derivation index
);

CREATE TABLE addresses (
  clt_address      bytea       PRIMARY KEY,
  derivation_index bigint      NOT NULL,                -- 0, 1, 2, ... by first request
  deposit_address  bytea       NOT NULL,                -- 20 bytes, as all addresses of TRON here
  partition        integer     NOT NULL,                -- of tron.transfers
  requested_at     timestamptz NOT NULL
);

-- What moves, in a table of its own: every column that orders the queue changes with every check. Times are Unix milliseconds, each the latest that the log knows.
CREATE TABLE queue (
  deposit_address bytea   PRIMARY KEY,
  partition       integer NOT NULL,
  requested       boolean NOT NULL,                     -- false: its request is in a part of the log that was not read yet
  hot             boolean NOT NULL,                     -- hot_until > checked_at: to be asked for before all others, once more when its time is over
  hot_until       bigint  NOT NULL,                     -- 24 hours after it was requested, or last looked at
  checked_at      bigint  NOT NULL,                     -- 0: never
  checked_until   bigint  NOT NULL                      -- every transfer solidified up to this block time is in the log; 0: none is known to be
) WITH (fillfactor = 50);

-- while the tables are loaded, this is what finds them; afterwards there are none
CREATE INDEX queue_unrequested ON queue (deposit_address) WHERE NOT requested;

-- what is in the log already
CREATE TABLE transfers (
  tx_id           bytea       NOT NULL,
  log_index       integer     NOT NULL,
  deposit_address bytea       NOT NULL,
  value           numeric     NOT NULL,                 -- micro-USDT
  block_number    bigint      NOT NULL,
  block_timestamp timestamptz NOT NULL,
  partition       integer     NOT NULL,                 -- its place in tron.transfers
  log_offset      bigint      NOT NULL,
  PRIMARY KEY (tx_id, log_index)
);
