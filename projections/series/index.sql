CREATE INDEX hours_last_height ON hours (last_height);
