-- Built from deposit.addresses: book, addresses. Built from tron.transfers: transfers. Built from both, in any order: queue.

-- The row that a batch locks: several processes may fold partitions of the two topics.
CREATE TABLE turn (one boolean PRIMARY KEY CHECK (one));
INSERT INTO turn VALUES (true);

CREATE TABLE book (
  one                 boolean PRIMARY KEY CHECK (one),  -- a single row
  log_end             bigint  NOT NULL,                 -- the next offset of deposit.addresses
  head                bytea   NOT NULL,                 -- hash of the last record of the chain; empty before the first
  extended_public_key text,                             -- in the log of an older writer; null: the log has the addresses
  key_fingerprint     bytea,                            -- SHA-256 of the key that derives them; null: none is pinned
  addresses           bigint  NOT NULL                  -- their number: the next derivation index
);

CREATE TABLE addresses (
  clt_address      bytea       PRIMARY KEY,
  derivation_index bigint      NOT NULL,                -- 0, 1, 2, ... by first request
  deposit_address  bytea       NOT NULL,                -- 20 bytes
  partition        integer     NOT NULL,                -- of tron.transfers
  requested_at     timestamptz NOT NULL
);

-- Apart from addresses: the columns that order the queue change with every check.
-- Times are Unix milliseconds, each the latest in the log.
CREATE TABLE queue (
  deposit_address bytea   PRIMARY KEY,
  partition       integer NOT NULL,
  requested       boolean NOT NULL,                     -- false: its request is not folded yet
  hot             boolean NOT NULL,                     -- hot_until > checked_at: checked first, and once more after hot_until
  paid            boolean NOT NULL,                     -- a transfer above zero to it is logged
  openings        bigint  NOT NULL,                     -- its request and every opened panel
  hot_until       bigint  NOT NULL,                     -- 24 hours after the request or the latest panel opening
  checked_at      bigint  NOT NULL,                     -- 0: never
  checked_until   bigint  NOT NULL,                     -- every transfer solidified up to this block time is logged; 0: unknown
  turn_at         bigint  NOT NULL,                     -- orders the rotation: checked_at, or the opening where that is later
  due_at          bigint  NOT NULL,                     -- while it is hot: not checked first before
  pause_level     integer NOT NULL                      -- of the time from checked_at to due_at: 0 below a second, 1 below 4 s, 2 below 16 s, ...
) WITH (fillfactor = 50);

-- finds unrequested addresses during a load; afterwards there are none
CREATE INDEX queue_unrequested ON queue (deposit_address) WHERE NOT requested;

-- transfers that the log holds
CREATE TABLE transfers (
  tx_id           bytea       NOT NULL,
  log_index       integer     NOT NULL,
  deposit_address bytea       NOT NULL,
  value           numeric     NOT NULL,                 -- micro-USDT
  block_number    bigint      NOT NULL,
  block_timestamp timestamptz NOT NULL,
  partition       integer     NOT NULL,                 -- its position in tron.transfers
  log_offset      bigint      NOT NULL,
  PRIMARY KEY (tx_id, log_index)
);
