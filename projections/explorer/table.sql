-- Rows have dense ordinals, so that any page of any list is one index range.

-- Up to where the tables are folded.
CREATE TABLE head (
  one              boolean PRIMARY KEY CHECK (one), -- true: there is a single row
  sequence         bigint  NOT NULL, -- sequence of the last chain event applied
  height           bigint  NOT NULL, -- height of the newest block
  hash             bytea   NOT NULL, -- hash of the newest block, 32 bytes
  finalized_height bigint  NOT NULL, -- blocks up to this height are final; -1: none yet
  transactions     bigint  NOT NULL, -- number of transactions: the next one's seq
  validators       bigint  NOT NULL  -- number of validators: the next one's ordinal
);

-- The blocks of the current chain; a reverted block has no row.
CREATE TABLE blocks (
  height           bigint      NOT NULL, -- 0, 1, 2, ...
  hash             bytea       NOT NULL, -- 32 bytes
  parent_hash      bytea       NOT NULL, -- hash of the block at height - 1; zeros at the first block
  producer         bytea       NOT NULL, -- address of the validator that made it, 20 bytes
  reward_recipient bytea       NOT NULL, -- address that block_reward goes to, 20 bytes
  block_reward     numeric     NOT NULL, -- CLT base units, besides the fees
  total_fees       numeric     NOT NULL, -- CLT base units that the producer earned in fees
  timestamp        timestamptz NOT NULL, -- block time, said by the chain
  tx_count         integer     NOT NULL, -- number of its transactions
  first_seq        bigint      NOT NULL, -- its transactions are seq first_seq .. first_seq + tx_count - 1
  log_offset       bigint      NOT NULL  -- offset of its record in chain.blocks, partition 0
);

-- The transactions of the current chain; those of a reverted block have no row.
CREATE TABLE transactions (
  seq                  bigint      NOT NULL, -- 0, 1, 2, ... in chain order, without gaps
  hash                 bytea       NOT NULL, -- 32 bytes
  block_height         bigint      NOT NULL, -- height of its block
  tx_index             integer     NOT NULL, -- 0, 1, 2, ... in its block
  from_address         bytea       NOT NULL, -- the signer, 20 bytes
  to_address           bytea       NOT NULL, -- 20 bytes
  nonce                bigint      NOT NULL, -- 0, 1, 2, ... of the signer
  amount               numeric     NOT NULL, -- CLT base units, as the chain says it of the call
  fee                  numeric     NOT NULL, -- CLT base units that the signer paid
  function_call_type   text        NOT NULL, -- name of the call, such as Transfer or RidePay
  type_ordinal         bigint      NOT NULL, -- 0, 1, 2, ... among its function_call_type
  is_ride_related      boolean     NOT NULL, -- whether function_call_type is a call of the ride market
  timestamp            timestamptz NOT NULL, -- time of its block
  referrer             bytea,                -- address that the call names as its referrer; null: none
  request_referrer     bytea,                -- address that referred the request of this payment; null: none
  offer_referrer       bytea,                -- address that referred the offer of this payment; null: none
  request_referrer_fee numeric     NOT NULL, -- CLT base units to request_referrer
  offer_referrer_fee   numeric     NOT NULL  -- CLT base units to offer_referrer
);

-- How many transactions there are of each call.
CREATE TABLE transaction_types (
  function_call_type text   PRIMARY KEY, -- name of the call
  transactions       bigint NOT NULL     -- their number: the next type_ordinal
);

-- The addresses that the chain has seen, with their balances now.
CREATE TABLE accounts (
  address         bytea   PRIMARY KEY, -- 20 bytes
  balance         numeric NOT NULL,    -- CLT base units: the sum of its activity
  nonce           bigint  NOT NULL,    -- nonce of its next transaction
  transactions    bigint  NOT NULL,    -- number from or to it: the next ordinal of account_transactions
  activities      bigint  NOT NULL,    -- changes of its balance: the next ordinal of activity
  unsigned_debits bigint  NOT NULL,    -- debits that it did not sign: more than 0 for contracts only
  blocks_produced bigint  NOT NULL     -- number of blocks of the current chain that it made
) WITH (fillfactor = 70);

-- Which transactions are from or to an address.
CREATE TABLE account_transactions (
  address bytea  NOT NULL, -- 20 bytes
  ordinal bigint NOT NULL, -- 0, 1, 2, ... among the transactions from or to this address
  seq     bigint NOT NULL  -- seq of the transaction
);

-- Every change of every balance in the current chain.
CREATE TABLE activity (
  address      bytea   NOT NULL, -- whose balance changed, 20 bytes
  ordinal      bigint  NOT NULL, -- 0, 1, 2, ... among those of this address, in chain order
  kind         text    NOT NULL, -- reason, such as transfer, mint, burn, ride_pay, tx_fee_paid
  delta        numeric NOT NULL, -- CLT base units, negative for a debit, never 0
  balance      numeric NOT NULL, -- CLT base units of the address after this change
  block_height bigint  NOT NULL, -- height of the block
  seq          bigint,           -- seq of the transaction; null: an effect of the block itself
  counterparty bytea             -- the other address, 20 bytes; null: none
);

-- The addresses that have made a block of the current chain.
CREATE TABLE validators (
  ordinal bigint NOT NULL, -- 0, 1, 2, ... in the order of their first blocks
  address bytea  NOT NULL  -- 20 bytes
);
