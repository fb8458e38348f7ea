-- The accounts that opened the panel of their deposit address.
CREATE TABLE panels (
  clt_address    bytea       PRIMARY KEY, -- the account, 20 bytes
  openings       bigint      NOT NULL,    -- how often it opened the panel, never 0
  last_opened_at timestamptz NOT NULL     -- the latest of these
);
