CREATE UNIQUE INDEX runs_ordinal ON runs (ordinal);
CREATE UNIQUE INDEX runs_id ON runs (run_id);
CREATE INDEX runs_time ON runs (run_at);
