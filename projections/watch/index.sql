CREATE UNIQUE INDEX addresses_index ON addresses (derivation_index);
CREATE INDEX addresses_deposit_address ON addresses (deposit_address);
CREATE INDEX queue_hot ON queue (partition, paid, pause_level, due_at, deposit_address) WHERE requested AND hot;
CREATE INDEX queue_turn ON queue (partition, turn_at, deposit_address) WHERE requested;
CREATE INDEX transfers_address ON transfers (deposit_address, block_timestamp);
-- for the conditions of analysts, whose addresses and hashes are text (RBD-7)
CREATE INDEX transfers_tx_text ON transfers USING hash (encode(tx_id, 'hex'));
CREATE INDEX transfers_time ON transfers (block_timestamp);
