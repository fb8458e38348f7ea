CREATE UNIQUE INDEX runs_ordinal ON runs (ordinal);
CREATE UNIQUE INDEX runs_id ON runs (run_id);
