CREATE UNIQUE INDEX addresses_index ON addresses (derivation_index);
CREATE INDEX addresses_deposit_address ON addresses (deposit_address);
CREATE UNIQUE INDEX deposits_seq ON deposits (seq);
CREATE UNIQUE INDEX deposits_owner ON deposits (clt_address, created_at, ordinal);
CREATE UNIQUE INDEX deposits_transfer ON deposits (tx_id, log_index);
CREATE UNIQUE INDEX deposit_events_ordinal ON deposit_events (deposit_id, ordinal);
-- for the conditions of analysts, whose addresses and hashes are text (RBD-7)
CREATE INDEX addresses_text ON addresses (('0x' || encode(clt_address, 'hex')));
CREATE INDEX addresses_tron_text ON addresses (projector.tron_address(deposit_address));
CREATE INDEX addresses_time ON addresses (requested_at);
CREATE INDEX deposits_owner_text ON deposits (('0x' || encode(clt_address, 'hex')));
CREATE INDEX deposits_tx_text ON deposits USING hash (encode(tx_id, 'hex'));
CREATE INDEX deposits_time ON deposits (created_at);
CREATE INDEX deposit_events_tx_text ON deposit_events USING hash ((CASE WHEN event IN ('TransferObserved', 'RefundRecorded')
  THEN encode(tx_hash, 'hex') ELSE '0x' || encode(tx_hash, 'hex') END));
CREATE INDEX deposit_events_time ON deposit_events (at);
CREATE INDEX deposit_events_voided ON deposit_events (deposit_id, ordinal) WHERE event = 'MintVoided';
