-- The roles: clt_writer owns and writes; clt_reader, of gateways, and clt_analyst, of people, may
-- only read. Run as superuser at each start, in the database postgres; idempotent.
-- The passwords are for development: infra/postgres/settle.ts sets those of a deployment.
DO $$
DECLARE
  each text;
BEGIN
  FOREACH each IN ARRAY ARRAY['clt_writer', 'clt_reader', 'clt_analyst'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = each) THEN
      EXECUTE format('CREATE ROLE %I LOGIN PASSWORD %L', each, each);
    END IF;
  END LOOP;
END
$$;

-- A projector ends sessions that hold it up, and names them.
GRANT pg_read_all_stats, pg_signal_backend TO clt_writer;

-- An analyst reads what gateways read, and cannot become their role.
GRANT clt_reader TO clt_analyst WITH INHERIT TRUE, SET FALSE;

-- Of 300 connections 129 are left to the writer, and three to the superuser.
ALTER ROLE clt_reader CONNECTION LIMIT 160;
ALTER ROLE clt_analyst CONNECTION LIMIT 8;

-- A role can change its own settings for ever: this undoes it.
ALTER ROLE clt_reader RESET ALL;
ALTER ROLE clt_analyst RESET ALL;

ALTER ROLE clt_reader SET default_transaction_read_only = on;
ALTER ROLE clt_analyst SET default_transaction_read_only = on;
-- A session can change its own time-outs: they end what is forgotten. A projector ends the rest.
ALTER ROLE clt_reader SET statement_timeout = '1min';
ALTER ROLE clt_reader SET lock_timeout = '10s';
ALTER ROLE clt_reader SET transaction_timeout = '15min';
ALTER ROLE clt_reader SET idle_in_transaction_session_timeout = '5min';
ALTER ROLE clt_reader SET idle_session_timeout = '1h';
ALTER ROLE clt_analyst SET statement_timeout = '10min';
ALTER ROLE clt_analyst SET lock_timeout = '10s';
ALTER ROLE clt_analyst SET transaction_timeout = '15min';
ALTER ROLE clt_analyst SET idle_in_transaction_session_timeout = '5min';
ALTER ROLE clt_analyst SET idle_session_timeout = '1h';
-- One processor for each session, not three.
ALTER ROLE clt_analyst SET max_parallel_workers_per_gather = 0;
-- A view has up to four tables: by default a join of three views is in no free order, and reads all.
ALTER ROLE clt_analyst SET join_collapse_limit = 20;
ALTER ROLE clt_analyst SET from_collapse_limit = 20;
-- Only a superuser can change this one.
ALTER ROLE clt_reader SET temp_file_limit = '64MB';
ALTER ROLE clt_analyst SET temp_file_limit = '1GB';

-- A session there keeps the superuser from creating a database.
REVOKE ALL ON DATABASE template1 FROM PUBLIC;
