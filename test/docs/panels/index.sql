CREATE INDEX panels_by_time ON panels (last_opened_at DESC);
