CREATE UNIQUE INDEX activity_ordinal ON activity (address, ordinal);
CREATE UNIQUE INDEX account_transactions_ordinal ON account_transactions (address, ordinal) INCLUDE (seq);
CREATE UNIQUE INDEX transactions_type ON transactions (function_call_type, type_ordinal);
CREATE UNIQUE INDEX transactions_hash ON transactions (hash);
CREATE INDEX activity_block ON activity (block_height);
CREATE UNIQUE INDEX transactions_seq ON transactions (seq);
CREATE UNIQUE INDEX blocks_height ON blocks (height);
CREATE UNIQUE INDEX blocks_hash ON blocks (hash);
CREATE UNIQUE INDEX validators_ordinal ON validators (ordinal);
