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
