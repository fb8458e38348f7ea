-- What the roles may do in the current database. Run in each database, as superuser; repeating it changes nothing.
DO $$
BEGIN
  EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
  EXECUTE format('GRANT CONNECT, CREATE, TEMPORARY ON DATABASE %I TO clt_writer', current_database());
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO clt_reader', current_database());
END
$$;
GRANT CREATE, USAGE ON SCHEMA public TO clt_writer;

-- Whatever the writer creates later, the reader may read.
ALTER DEFAULT PRIVILEGES FOR ROLE clt_writer GRANT USAGE ON SCHEMAS TO clt_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE clt_writer GRANT SELECT ON TABLES TO clt_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE clt_writer GRANT SELECT ON SEQUENCES TO clt_reader;

-- Tables that were loaded are brought into memory before they are read. Where that cannot be had, what is read first is slow, and that is all.
DO $$
BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_prewarm SCHEMA public;
EXCEPTION WHEN undefined_file OR feature_not_supported OR insufficient_privilege THEN
  RAISE NOTICE 'without pg_prewarm: %', SQLERRM;
END
$$;
