-- Privileges of the roles in the current database. Run as superuser in each database; idempotent.
DO $$
BEGIN
  EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
  EXECUTE format('GRANT CONNECT, CREATE, TEMPORARY ON DATABASE %I TO clt_writer', current_database());
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO clt_reader, clt_analyst', current_database());
END
$$;
GRANT CREATE, USAGE ON SCHEMA public TO clt_writer;

-- The reader, and with it the analyst, may read everything that the writer creates later.
ALTER DEFAULT PRIVILEGES FOR ROLE clt_writer GRANT USAGE ON SCHEMAS TO clt_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE clt_writer GRANT SELECT ON TABLES TO clt_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE clt_writer GRANT SELECT ON SEQUENCES TO clt_reader;

-- The projector prewarms loaded tables. Without the extension only the first reads are slow.
DO $$
BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_prewarm SCHEMA public;
EXCEPTION WHEN undefined_file OR feature_not_supported OR insufficient_privilege THEN
  RAISE NOTICE 'without pg_prewarm: %', SQLERRM;
END
$$;
