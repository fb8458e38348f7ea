CREATE UNIQUE INDEX addresses_index ON addresses (derivation_index);
CREATE INDEX addresses_deposit_address ON addresses (deposit_address);
CREATE UNIQUE INDEX deposits_seq ON deposits (seq);
CREATE UNIQUE INDEX deposits_owner ON deposits (clt_address, created_at, ordinal);
CREATE UNIQUE INDEX deposits_transfer ON deposits (tx_id, log_index);
CREATE UNIQUE INDEX deposit_events_ordinal ON deposit_events (deposit_id, ordinal);
