-- book and addresses are folded from deposit.addresses, all others from treasury.ledger.
-- No row depends on how far the other topic is read.

CREATE TABLE book (
  one                 boolean PRIMARY KEY CHECK (one), -- a single row
  log_end             bigint  NOT NULL,                -- offset of deposit.addresses folded next
  head                bytea   NOT NULL,                -- hash of the last record of the chain; empty before the first
  extended_public_key text,                            -- in the log of an older writer; null: the log has the addresses
  key_fingerprint     bytea,                           -- SHA-256 of the key that derives them; null: none is pinned
  addresses           bigint  NOT NULL                 -- their number: the next derivation index
);

CREATE TABLE addresses (
  clt_address      bytea       PRIMARY KEY,
  derivation_index bigint      NOT NULL, -- 0, 1, 2, ... by first request
  deposit_address  bytea       NOT NULL, -- 20 bytes, as all addresses of TRON here
  requested_at     timestamptz NOT NULL
);

CREATE TABLE ledger (
  one      boolean PRIMARY KEY CHECK (one), -- a single row
  sequence bigint  NOT NULL,                -- of the last record of the chain
  head     bytea   NOT NULL,                -- its hash; empty before the first
  deposits bigint  NOT NULL,                -- how many there are: the next one's seq
  policy_version integer NOT NULL,          -- the one in force; 0 before the first
  last_nonce      bigint NOT NULL,          -- an intent counts above it; -1: any
  mint_time       bigint NOT NULL,          -- the ledger's time of the last intent, Unix milliseconds
  window_sequence bigint NOT NULL,          -- mints below it have left the rolling window
  operators_version integer NOT NULL,       -- the list in force; 0 before the first
  operators         bytea   NOT NULL,       -- their addresses, 20 bytes each
  two_above         numeric NOT NULL,       -- a credit above it needs two of them; 0: one
  authority_version integer NOT NULL,       -- the mint authority in force; 0 before the first
  authority         bytea   NOT NULL        -- 20 bytes; empty before the first
);

CREATE TABLE policies (
  version     integer PRIMARY KEY,
  network     text    NOT NULL,
  first_fee   numeric NOT NULL,
  later_fee   numeric NOT NULL,
  minimum     numeric NOT NULL,
  single_cap  numeric NOT NULL,
  rolling_cap numeric NOT NULL,
  decided_at  bigint  NOT NULL -- Unix milliseconds
);

-- intents to mint that count and are not given up
CREATE TABLE mints (
  sequence   bigint  PRIMARY KEY, -- of its MintIntended
  deposit_id text    NOT NULL,
  amount     numeric NOT NULL,
  counted_at bigint  NOT NULL, -- the ledger's time, Unix milliseconds, never decreasing
  leaves_at  bigint  NOT NULL  -- leaves the rolling window, Unix milliseconds
);

CREATE TABLE owners (
  clt_address bytea  PRIMARY KEY,
  deposits    bigint NOT NULL -- how many it has: the next one's ordinal
) WITH (fillfactor = 70);

-- the part that is fixed at the confirmation
CREATE TABLE deposits (
  id              text        PRIMARY KEY,
  seq             bigint      NOT NULL, -- 0, 1, 2, ... in the order of the ledger
  clt_address     bytea       NOT NULL, -- the owner
  ordinal         bigint      NOT NULL, -- 0, 1, 2, ... among the owner's
  deposit_address bytea       NOT NULL,
  tx_id           bytea       NOT NULL,
  log_index       integer     NOT NULL,
  gross           numeric     NOT NULL, -- micro-USDT, as all amounts: what arrived
  fee             numeric     NOT NULL, -- it may be more than what arrived
  credit          numeric     NOT NULL,
  policy_version  integer     NOT NULL,
  address_ordinal bigint      NOT NULL, -- 0: the first of its address
  block_number    bigint      NOT NULL,
  created_at      timestamptz NOT NULL  -- the transfer's block time
);

-- the changing part, in a table of its own without an index on it
CREATE TABLE standings (
  id       text    PRIMARY KEY,
  status   text    NOT NULL, -- confirmed, mint_requested, credited, needs_manual
  reason   text,             -- of the hold; null unless needs_manual
  approved boolean NOT NULL, -- by a person
  rejected boolean NOT NULL, -- by a person, for good
  approved_by bytea,         -- operators who approved it where that is not enough, 20 bytes each
  refunded numeric NOT NULL, -- paid back by a person, micro-USDT
  sequence bigint,           -- of the MintIntended; null unless mint_requested or credited
  nonce    bigint,           -- of the mint; null unless mint_requested or credited
  tx_hash  bytea,
  events   integer NOT NULL, -- how many there are: the next one's ordinal
  queue_offset  bigint,      -- ledger offset; kept while the mint is in flight; null: not queued
  queued_at     bigint,      -- Unix milliseconds
  goes_first_at bigint       -- nothing behind it is minted earlier from then on, Unix milliseconds
) WITH (fillfactor = 70);

CREATE TABLE by_status (
  status text   NOT NULL, -- of standings, but `rejected` for those that wait for nobody
  seq    bigint NOT NULL,
  id     text   NOT NULL,
  PRIMARY KEY (status, seq)
);

CREATE TABLE deposit_events (
  deposit_id   text        NOT NULL,
  ordinal      integer     NOT NULL, -- 0, 1, 2, ... in the timeline
  event        text        NOT NULL, -- TransferObserved, or the type of the ledger's event
  reason       text,                 -- of the hold, or a person's reason
  actor        text,                 -- the person
  gross        numeric,
  fee          numeric,
  credit       numeric,
  nonce        bigint,
  tx_hash      bytea,                -- of TRON for TransferObserved, otherwise of the CLT chain
  block_height bigint,               -- likewise
  topic        text        NOT NULL,
  partition    integer     NOT NULL,
  log_offset   bigint      NOT NULL,
  at           timestamptz NOT NULL  -- time of the decision; block time of a transfer
);
