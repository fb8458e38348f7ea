CREATE TABLE head (
  one  boolean PRIMARY KEY CHECK (one),      -- a single row
  runs bigint  NOT NULL,                     -- how many there are: the next one's ordinal
  log_end bigint NOT NULL,                   -- the next offset of reserve.runs
  hash    bytea  NOT NULL                    -- of the last record (LOG-8)
);

CREATE TABLE runs (
  ordinal            bigint      NOT NULL,   -- 0, 1, 2, ... in the order of the log
  run_id             text        NOT NULL,
  run_at             timestamptz NOT NULL,
  ledger_offset      bigint      NOT NULL,   -- the first record of treasury.ledger that the figures do not know
  block_height       bigint      NOT NULL,   -- the final block that they are of
  block_hash         bytea       NOT NULL,
  onchain_supply     numeric     NOT NULL,
  genesis_allocation numeric     NOT NULL,
  treasury_minted    numeric     NOT NULL,
  burned             numeric     NOT NULL,
  ledger_liability   numeric     NOT NULL,
  custody_reported   numeric     NOT NULL,
  held               numeric     NOT NULL,
  retained_fees      numeric     NOT NULL,
  status             text        NOT NULL,
  ledger_head        bytea       NOT NULL,   -- hash of the ledger's last record that they know; empty: not said
  begun_at           timestamptz NOT NULL,   -- the figures are at least as new; 1970: unknown
  minting            numeric     NOT NULL,   -- part of held: its mint is requested
  waiting            numeric     NOT NULL,   -- part of held: to be minted later, unless rejected
  uncovered          numeric     NOT NULL,   -- of liability, minting and waiting: not in custody
  booked_surplus     numeric     NOT NULL,
  refunded           numeric     NOT NULL,
  oldest_reading_at  timestamptz NOT NULL    -- the oldest reading of a balance; 1970: unknown
);
