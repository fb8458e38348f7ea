-- book and addresses are folded from deposit.addresses, all others from treasury.ledger.
-- No row depends on how far the other topic is read.

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
  deposit_address  bytea       NOT NULL,    -- its address on TRON, 20 bytes, as all addresses of TRON here
  requested_at     timestamptz NOT NULL     -- when it was first asked for
);

-- The state of the ledger as a whole.
CREATE TABLE ledger (
  one               boolean PRIMARY KEY CHECK (one), -- true: there is a single row
  sequence          bigint  NOT NULL, -- sequence of the last record of the chain
  head              bytea   NOT NULL, -- hash of the last record of the chain; empty before the first
  deposits          bigint  NOT NULL, -- number of deposits: the next one's seq
  policy_version    integer NOT NULL, -- the policy in force; 0 before the first
  last_nonce        bigint  NOT NULL, -- an intent counts above it; -1: any
  free_nonces       text    NOT NULL, -- nonces below it that count again, ascending, with commas
  mint_time         bigint  NOT NULL, -- the ledger's time of the last intent, Unix milliseconds
  window_sequence   bigint  NOT NULL, -- mints below it have left the rolling window
  operators_version integer NOT NULL, -- the list of operators in force; 0 before the first
  operators         bytea   NOT NULL, -- addresses of the operators, 20 bytes each, one behind the other
  two_above         numeric NOT NULL, -- micro-USDT: a credit above it needs two operators; 0: one
  authority_version integer NOT NULL, -- the mint authority in force; 0 before the first
  authority         bytea   NOT NULL, -- address of the mint authority, 20 bytes; empty before the first
  ledger_id         bytea   NOT NULL, -- id that signatures name, 32 bytes; empty before the ledger is pinned
  minting_stopped   boolean NOT NULL, -- operators have stopped all minting
  proposals         bytea   NOT NULL  -- decisions that wait for a second operator: operator, SHA-256, Unix ms, 60 bytes each
);

-- Fees, minimum and caps, each version from its decision on.
CREATE TABLE policies (
  version     integer PRIMARY KEY, -- 1, 2, 3, ...
  network     text    NOT NULL,    -- network that it is for, such as mainnet
  first_fee   numeric NOT NULL,    -- micro-USDT, of an account's first deposit
  later_fee   numeric NOT NULL,    -- micro-USDT, of every later one
  minimum     numeric NOT NULL,    -- micro-USDT: the smallest credit that is minted without approval
  single_cap  numeric NOT NULL,    -- micro-USDT: the largest credit that is minted without approval
  rolling_cap numeric NOT NULL,    -- micro-USDT: of all mints within 24 hours
  decided_at  bigint  NOT NULL     -- Unix milliseconds
);

-- The intents to mint that count and are not given up.
CREATE TABLE mints (
  sequence   bigint  PRIMARY KEY, -- sequence of its MintIntended
  deposit_id text    NOT NULL,    -- the deposit that it mints
  amount     numeric NOT NULL,    -- CLT base units
  counted_at bigint  NOT NULL,    -- the ledger's time, Unix milliseconds, never decreasing
  leaves_at  bigint  NOT NULL     -- leaves the rolling window, Unix milliseconds
);

-- The transactions on TRON that paid rejected deposits back.
CREATE TABLE refunds (
  tron_tx_id bytea PRIMARY KEY, -- transaction on TRON, 32 bytes
  deposit_id text  NOT NULL     -- the deposit that it paid back
);

-- The accounts that have deposits.
CREATE TABLE owners (
  clt_address bytea  PRIMARY KEY, -- the account, 20 bytes
  deposits    bigint NOT NULL     -- number of its deposits: the next one's ordinal
) WITH (fillfactor = 70);

-- The part of a deposit that is fixed at its confirmation.
CREATE TABLE deposits (
  id              text        PRIMARY KEY, -- UUID, made of tx_id and log_index
  seq             bigint      NOT NULL,    -- 0, 1, 2, ... in the order of the ledger
  clt_address     bytea       NOT NULL,    -- the owner, 20 bytes
  ordinal         bigint      NOT NULL,    -- 0, 1, 2, ... among the owner's
  deposit_address bytea       NOT NULL,    -- address on TRON, 20 bytes
  tx_id           bytea       NOT NULL,    -- transaction on TRON, 32 bytes
  log_index       integer     NOT NULL,    -- position of the transfer among the logs of the transaction
  gross           numeric     NOT NULL,    -- micro-USDT that arrived
  fee             numeric     NOT NULL,    -- micro-USDT; it may be more than what arrived
  credit          numeric     NOT NULL,    -- micro-USDT to mint, which are CLT base units
  policy_version  integer     NOT NULL,    -- version of the policy that fee and limits are of
  address_ordinal bigint      NOT NULL,    -- 0: the first deposit of its account
  block_number    bigint      NOT NULL,    -- block of the transfer on TRON
  created_at      timestamptz NOT NULL     -- block time of the transfer
);

-- The changing part of a deposit, in a table of its own without an index on it.
CREATE TABLE standings (
  id            text    PRIMARY KEY, -- id of the deposit
  status        text    NOT NULL,    -- confirmed, mint_requested, credited, needs_manual
  reason        text,                -- reason of the hold; null unless needs_manual
  approved      boolean NOT NULL,    -- by a person
  rejected      boolean NOT NULL,    -- by a person, for good
  approved_by   bytea,               -- operators who approved it where that is not enough, 20 bytes each
  refunded      numeric NOT NULL,    -- micro-USDT paid back by a person
  sequence      bigint,              -- sequence of the MintIntended; null unless mint_requested or credited
  nonce         bigint,              -- nonce of the mint; null unless mint_requested or credited
  tx_hash       bytea,               -- hash of the mint, 32 bytes; null unless mint_requested or credited
  events        integer NOT NULL,    -- number of its deposit_events: the next one's ordinal
  queue_offset  bigint,              -- ledger offset; kept while the mint is in flight; null: not queued
  queued_at     bigint,              -- Unix milliseconds; null: not queued
  goes_first_at bigint               -- nothing behind it is minted earlier from then on, Unix milliseconds
) WITH (fillfactor = 70);

-- The deposits of each status, in the order of the ledger.
CREATE TABLE by_status (
  status text   NOT NULL, -- as in standings, but rejected for those that wait for nobody
  seq    bigint NOT NULL, -- seq of the deposit
  id     text   NOT NULL, -- id of the deposit
  PRIMARY KEY (status, seq)
);

-- The timeline of each deposit: its transfer and its events of the ledger.
CREATE TABLE deposit_events (
  deposit_id   text        NOT NULL, -- id of the deposit
  ordinal      integer     NOT NULL, -- 0, 1, 2, ... in the timeline
  event        text        NOT NULL, -- TransferObserved, or the type of the ledger's event
  reason       text,                 -- reason of the hold, or a person's reason
  actor        text,                 -- the person
  gross        numeric,              -- micro-USDT that arrived, or were paid back by RefundRecorded
  fee          numeric,              -- micro-USDT
  credit       numeric,              -- micro-USDT, of a MintIntended CLT base units
  nonce        bigint,               -- nonce of the mint
  tx_hash      bytea,                -- of TRON for TransferObserved and RefundRecorded, otherwise of the CLT chain
  block_height bigint,               -- of TRON for TransferObserved, otherwise of the CLT chain
  topic        text        NOT NULL, -- topic of its record
  partition    integer     NOT NULL, -- partition of its record
  log_offset   bigint      NOT NULL, -- offset of its record
  at           timestamptz NOT NULL  -- time of the decision; block time of a transfer
);
