-- The functions that reading roles may call in the current database. Run as superuser in each
-- database; idempotent. Every function with an effect belongs to the writer: one that locks, waits,
-- signals, or writes a table, the log of Postgres or a file. By default everybody may call it.
-- An unknown function that is volatile counts as one of them.
DO $$
DECLARE
  functions text;
  harmless CONSTANT text[] := ARRAY[
    -- a value
    'array_sample', 'array_shuffle', 'clock_timestamp', 'current_query', 'gen_random_uuid',
    'random', 'random_normal', 'setseed', 'timeofday', 'uuidv4', 'uuidv7',
    -- as SET does, which no right forbids
    'set_config',
    -- sizes
    'pg_database_size', 'pg_indexes_size', 'pg_relation_size', 'pg_table_size',
    'pg_tablespace_size', 'pg_total_relation_size',
    -- the state of the server and of its sessions: what views of pg_catalog call
    'pg_blocking_pids', 'pg_current_wal_lsn', 'pg_is_in_recovery', 'pg_last_wal_receive_lsn',
    'pg_last_wal_replay_lsn', 'pg_last_xact_replay_timestamp', 'pg_lock_status',
    'pg_partition_ancestors', 'pg_partition_tree'
  ];
BEGIN
  SELECT string_agg(p.oid::regprocedure::text, ', ') INTO functions
    FROM pg_proc p
   WHERE p.pronamespace IN ('pg_catalog'::regnamespace, 'public'::regnamespace)
     -- these two take the number of a transaction, and are stable to Postgres
     AND (p.provolatile = 'v' OR p.proname IN ('pg_current_xact_id', 'txid_current'))
     AND p.proname <> ALL (harmless) AND p.proname NOT LIKE 'pg\_stat\_get\_%'
     AND has_function_privilege('public', p.oid, 'EXECUTE');
  IF functions IS NOT NULL THEN
    EXECUTE format('GRANT EXECUTE ON ROUTINE %s TO clt_writer', functions);
    EXECUTE format('REVOKE EXECUTE ON ROUTINE %s FROM PUBLIC', functions);
  END IF;
  EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
END
$$;
-- An anonymous block of code catches the end of its statement's time, and begins again.
REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC;
GRANT USAGE ON LANGUAGE plpgsql TO clt_writer;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
