-- Built from deposit.addresses: book, addresses. Built from tron.transfers: transfers.
-- Built from both, in any order: queue.

-- The row that a batch locks: several processes may fold partitions of the two topics.
CREATE TABLE turn (
  one boolean PRIMARY KEY CHECK (one) -- true: there is a single row
);
INSERT INTO turn VALUES (true);

-- Up to where deposit.addresses is folded.
CREATE TABLE book (
  one                 boolean PRIMARY KEY CHECK (one), -- true: there is a single row
  log_end             bigint  NOT NULL, -- the next offset of deposit.addresses
  head                bytea   NOT NULL, -- hash of the last record of the chain; empty before the first
  extended_public_key text,             -- in the log of an older writer; null: the log has the addresses
  key_fingerprint     bytea,            -- SHA-256 of the key that derives them; null: none is pinned
  addresses           bigint  NOT NULL  -- number of addresses: the next derivation index
);

-- The deposit addresses, one for each account that asked.
CREATE TABLE addresses (
  clt_address      bytea       PRIMARY KEY, -- the account, 20 bytes
  derivation_index bigint      NOT NULL,    -- 0, 1, 2, ... by first request
  deposit_address  bytea       NOT NULL,    -- its address on TRON, 20 bytes
  partition        integer     NOT NULL,    -- partition of tron.transfers that the address belongs to
  requested_at     timestamptz NOT NULL     -- when it was first asked for
);

-- The order in which addresses are polled, apart from addresses: it changes with every check.
-- Times are Unix milliseconds, each the latest in the log.
CREATE TABLE queue (
  deposit_address bytea   PRIMARY KEY, -- on TRON, 20 bytes
  partition       integer NOT NULL,    -- partition of tron.transfers that the address belongs to
  requested       boolean NOT NULL,    -- false: its request is not folded yet
  hot             boolean NOT NULL,    -- hot_until > checked_at: checked first, and once more after hot_until
  paid            boolean NOT NULL,    -- a transfer above zero to it is logged
  openings        bigint  NOT NULL,    -- number of its request and every opened panel
  hot_until       bigint  NOT NULL,    -- Unix ms, 24 hours after the request or the latest panel opening
  checked_at      bigint  NOT NULL,    -- Unix ms of the latest check; 0: never
  checked_until   bigint  NOT NULL,    -- Unix ms: every transfer solidified up to this block time is logged; 0: unknown
  turn_at         bigint  NOT NULL,    -- Unix ms, orders the rotation: checked_at, or the opening where that is later
  due_at          bigint  NOT NULL,    -- Unix ms: while it is hot not checked first before
  pause_level     integer NOT NULL     -- from checked_at to due_at: 0 below 1 s, 1 below 4 s, 2 below 16 s, ...
) WITH (fillfactor = 50);

-- finds unrequested addresses during a load; afterwards there are none
CREATE INDEX queue_unrequested ON queue (deposit_address) WHERE NOT requested;

-- The transfers of USDT to deposit addresses that the log holds, each once.
CREATE TABLE transfers (
  tx_id           bytea       NOT NULL, -- transaction on TRON, 32 bytes
  log_index       integer     NOT NULL, -- position among the logs of the transaction
  deposit_address bytea       NOT NULL, -- where it went to on TRON, 20 bytes
  value           numeric     NOT NULL, -- micro-USDT
  block_number    bigint      NOT NULL, -- block on TRON
  block_timestamp timestamptz NOT NULL, -- time of that block
  partition       integer     NOT NULL, -- partition of its record in tron.transfers
  log_offset      bigint      NOT NULL, -- offset of its record in tron.transfers
  PRIMARY KEY (tx_id, log_index)
);
