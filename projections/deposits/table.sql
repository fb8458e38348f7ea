-- book and addresses are folded from deposit.addresses, all others from treasury.ledger.
-- No row depends on how far the other topic is read.

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
  requested_at     timestamptz NOT NULL
);

CREATE TABLE ledger (
  one      boolean PRIMARY KEY CHECK (one),             -- a single row
  sequence bigint  NOT NULL,                            -- of the last event applied
  deposits bigint  NOT NULL,                            -- how many there are: the next one's seq
  policy_version integer NOT NULL,                      -- the one in force; 0 before the first
  last_nonce     bigint  NOT NULL,                      -- of the last intent to mint that counts; -1 before the first
  mint_time      bigint  NOT NULL,                      -- its time by the ledger, Unix milliseconds
  window_nonce   bigint  NOT NULL                       -- mints below it had left the rolling window by then
);

CREATE TABLE policies (
  version     integer PRIMARY KEY,
  network     text    NOT NULL,
  first_fee   numeric NOT NULL,
  later_fee   numeric NOT NULL,
  minimum     numeric NOT NULL,
  single_cap  numeric NOT NULL,
  rolling_cap numeric NOT NULL,
  decided_at  bigint  NOT NULL                          -- Unix milliseconds
);

-- intents to mint that count and are not given up
CREATE TABLE mints (
  nonce      bigint  PRIMARY KEY,
  deposit_id text    NOT NULL,
  amount     numeric NOT NULL,
  counted_at bigint  NOT NULL,                          -- the ledger's time, Unix milliseconds: at least that of the row before
  leaves_at  bigint  NOT NULL                           -- leaves the window of the rolling cap, Unix milliseconds
);

CREATE TABLE owners (
  clt_address bytea  PRIMARY KEY,
  deposits    bigint NOT NULL                           -- how many it has: the next one's ordinal
) WITH (fillfactor = 70);

-- the part that is fixed at the confirmation
CREATE TABLE deposits (
  id              text        PRIMARY KEY,
  seq             bigint      NOT NULL,                 -- 0, 1, 2, ... in the order of the ledger
  clt_address     bytea       NOT NULL,                 -- the owner
  ordinal         bigint      NOT NULL,                 -- 0, 1, 2, ... among the owner's
  deposit_address bytea       NOT NULL,
  tx_id           bytea       NOT NULL,
  log_index       integer     NOT NULL,
  gross           numeric     NOT NULL,                 -- micro-USDT, as all amounts: what arrived
  fee             numeric     NOT NULL,                 -- it may be more than what arrived
  credit          numeric     NOT NULL,
  policy_version  integer     NOT NULL,
  address_ordinal bigint      NOT NULL,                 -- 0: the first of its address
  block_number    bigint      NOT NULL,
  created_at      timestamptz NOT NULL                  -- the transfer's block time
);

-- the changing part, in a table of its own without an index on it
CREATE TABLE standings (
  id       text    PRIMARY KEY,
  status   text    NOT NULL,                            -- confirmed, mint_requested, credited, needs_manual
  reason   text,                                        -- why a person has to decide; null unless needs_manual
  approved boolean NOT NULL,                            -- by a person
  rejected boolean NOT NULL,                            -- by a person, for good
  nonce    bigint,                                      -- of the mint; null unless mint_requested or credited
  tx_hash  bytea,
  events   integer NOT NULL,                            -- how many there are: the next one's ordinal
  queue_offset  bigint,                                 -- position in the queue of deposits to be minted: a ledger offset, kept while the mint is in flight; null: none
  queued_at     bigint,                                 -- time of that position, Unix milliseconds
  goes_first_at bigint                                  -- from then on nothing behind it is minted before it, Unix milliseconds; null: it delays nobody
) WITH (fillfactor = 70);

CREATE TABLE by_status (
  status text   NOT NULL,
  seq    bigint NOT NULL,
  id     text   NOT NULL,
  PRIMARY KEY (status, seq)
);

CREATE TABLE deposit_events (
  deposit_id   text        NOT NULL,
  ordinal      integer     NOT NULL,                    -- 0, 1, 2, ...: its story in order
  event        text        NOT NULL,                    -- TransferObserved, and then the type of the ledger's event
  reason       text,                                    -- why it was held, or what a person gave as reason
  actor        text,                                    -- the person
  gross        numeric,
  fee          numeric,
  credit       numeric,
  nonce        bigint,
  tx_hash      bytea,                                   -- of TRON where the event is TransferObserved, otherwise of the chain token's chain
  block_height bigint,                                  -- likewise
  topic        text        NOT NULL,
  partition    integer     NOT NULL,
  log_offset   bigint      NOT NULL,
  at           timestamptz NOT NULL                     -- when it was decided; of a transfer its block time
);
