CREATE UNIQUE INDEX addresses_index ON addresses (derivation_index);
CREATE INDEX addresses_deposit_address ON addresses (deposit_address);
CREATE INDEX queue_order ON queue (partition, hot, checked_at, deposit_address) WHERE requested;
CREATE INDEX transfers_address ON transfers (deposit_address, block_timestamp);
