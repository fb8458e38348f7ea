-- The two roles of the services: clt_writer owns and writes, clt_reader may only read.
-- Run as superuser, once per cluster.
-- The passwords are for development; a real deployment creates the roles itself.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'clt_writer') THEN
    CREATE ROLE clt_writer LOGIN PASSWORD 'clt_writer';
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'clt_reader') THEN
    CREATE ROLE clt_reader LOGIN PASSWORD 'clt_reader';
    ALTER ROLE clt_reader SET default_transaction_read_only = on;
  END IF;
END
$$;
-- A transaction that a person forgets would block a rebuild for ever.
ALTER ROLE clt_reader SET idle_in_transaction_session_timeout = '5min';
-- A rebuild that is blocked names the session, its query and since when it runs.
GRANT pg_read_all_stats TO clt_writer;
