-- Up to where the tables are folded.
CREATE TABLE head (
  one     boolean PRIMARY KEY CHECK (one), -- true: there is a single row
  runs    bigint  NOT NULL, -- number of runs: the next one's ordinal
  log_end bigint  NOT NULL, -- the next offset of reserve.runs
  hash    bytea   NOT NULL  -- hash of the last record (LOG-8)
);

-- The reserve runs: supply, ledger and custody compared. Amounts are CLT base units or micro-USDT.
CREATE TABLE runs (
  ordinal            bigint      NOT NULL, -- 0, 1, 2, ... in the order of the log
  run_id             text        NOT NULL, -- unique id
  run_at             timestamptz NOT NULL, -- when it was written
  ledger_offset      bigint      NOT NULL, -- the first record of treasury.ledger that the figures do not know
  block_height       bigint      NOT NULL, -- the final block that the figures are of
  block_hash         bytea       NOT NULL, -- hash of that block, 32 bytes
  onchain_supply     numeric     NOT NULL, -- CLT base units on the chain
  genesis_allocation numeric     NOT NULL, -- CLT base units that the first block created
  treasury_minted    numeric     NOT NULL, -- CLT base units minted for deposits, or acknowledged
  burned             numeric     NOT NULL, -- CLT base units burned
  ledger_liability   numeric     NOT NULL, -- micro-USDT that the ledger owes for CLT minted and not burned
  custody_reported   numeric     NOT NULL, -- micro-USDT at all deposit and custody addresses
  held               numeric     NOT NULL, -- micro-USDT of credits that are not minted yet, rejected ones too
  retained_fees      numeric     NOT NULL, -- micro-USDT that arrived and are credited to nobody
  status             text        NOT NULL, -- ok, mismatch or over_backed_drift
  ledger_head        bytea       NOT NULL, -- hash of the ledger's last record that they know; empty: not said
  begun_at           timestamptz NOT NULL, -- the figures are at least as new; 1970: unknown
  minting            numeric     NOT NULL, -- micro-USDT, part of held: its mint is requested
  waiting            numeric     NOT NULL, -- micro-USDT, part of held: to be minted later, unless rejected
  uncovered          numeric     NOT NULL, -- micro-USDT of liability, minting and waiting: not in custody
  booked_surplus     numeric     NOT NULL, -- micro-USDT in custody that an operator explained
  refunded           numeric     NOT NULL, -- micro-USDT of rejected deposits that were paid back
  oldest_reading_at  timestamptz NOT NULL, -- the oldest reading of a balance; 1970: unknown
  unproven           numeric     NOT NULL, -- micro-USDT, part of held: TRON has not shown that it arrived
  unminted           numeric     NOT NULL, -- micro-USDT credited in the ledger, and minted in no final block
  unproven_refunds   numeric     NOT NULL, -- micro-USDT said to be paid back, and not shown by TRON
  frozen             numeric     NOT NULL  -- micro-USDT in custody that the token blocks: it covers nothing
);
