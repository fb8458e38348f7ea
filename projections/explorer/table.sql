-- Rows have dense ordinals, so that any page of any list is one index range.

CREATE TABLE head (
  one              boolean PRIMARY KEY CHECK (one),  -- a single row
  sequence         bigint  NOT NULL,                 -- of the last chain event applied
  height           bigint  NOT NULL,
  hash             bytea   NOT NULL,
  finalized_height bigint  NOT NULL,                 -- -1: nothing is final yet
  transactions     bigint  NOT NULL,                 -- their number: the next transaction's seq
  validators       bigint  NOT NULL                  -- their number: the next validator's ordinal
);

CREATE TABLE blocks (
  height           bigint      NOT NULL,
  hash             bytea       NOT NULL,
  parent_hash      bytea       NOT NULL,
  producer         bytea       NOT NULL,
  reward_recipient bytea       NOT NULL,
  block_reward     numeric     NOT NULL,
  total_fees       numeric     NOT NULL,
  timestamp        timestamptz NOT NULL,
  tx_count         integer     NOT NULL,
  first_seq        bigint      NOT NULL              -- its transactions are seq first_seq .. first_seq + tx_count - 1
);

CREATE TABLE transactions (
  seq                  bigint      NOT NULL,         -- 0, 1, 2, ... in chain order, without gaps
  hash                 bytea       NOT NULL,
  block_height         bigint      NOT NULL,
  tx_index             integer     NOT NULL,
  from_address         bytea       NOT NULL,
  to_address           bytea       NOT NULL,
  nonce                bigint      NOT NULL,
  amount               numeric     NOT NULL,
  fee                  numeric     NOT NULL,
  function_call_type   text        NOT NULL,
  type_ordinal         bigint      NOT NULL,         -- 0, 1, 2, ... among its function_call_type
  is_ride_related      boolean     NOT NULL,
  timestamp            timestamptz NOT NULL,
  referrer             bytea,
  request_referrer     bytea,
  offer_referrer       bytea,
  request_referrer_fee numeric     NOT NULL,
  offer_referrer_fee   numeric     NOT NULL
);

CREATE TABLE transaction_types (
  function_call_type text   PRIMARY KEY,
  transactions       bigint NOT NULL                 -- their number: the next type_ordinal
);

CREATE TABLE accounts (
  address         bytea   PRIMARY KEY,
  balance         numeric NOT NULL,                  -- the sum of its activity
  nonce           bigint  NOT NULL,                  -- of its next transaction
  transactions    bigint  NOT NULL,                  -- from or to it: the next ordinal of account_transactions
  activities      bigint  NOT NULL,                  -- changes of its balance: the next ordinal of activity
  unsigned_debits bigint  NOT NULL,                  -- debits that it did not sign: more than 0 for contracts only
  blocks_produced bigint  NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE account_transactions (
  address bytea  NOT NULL,
  ordinal bigint NOT NULL,                           -- 0, 1, 2, ... among the transactions from or to this address
  seq     bigint NOT NULL
);

CREATE TABLE activity (
  address      bytea   NOT NULL,
  ordinal      bigint  NOT NULL,                     -- 0, 1, 2, ... among the balance effects of this address, in chain order
  kind         text    NOT NULL,
  delta        numeric NOT NULL,                     -- never 0
  balance      numeric NOT NULL,                     -- of the address, after this effect
  block_height bigint  NOT NULL,
  seq          bigint,                               -- of the transaction; null: an effect of the block itself
  counterparty bytea
);

CREATE TABLE validators (
  ordinal bigint NOT NULL,                           -- 0, 1, 2, ... in the order of their first blocks
  address bytea  NOT NULL
);
