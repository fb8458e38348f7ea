/** Settings of Postgres for the local stack, docker-compose.yml and the containers of tests. */
export const postgres_version = '18.4';
/** The digest is that of Docker's record of official images. */
export const postgres_image = `postgres:${postgres_version}@sha256:3a82e1f56c8f0f5616a11103ac3d47e632c3938698946a7ad26da0df1334744a`;
export const database = 'clt';

/** Development only: every server listens on 127.0.0.1. */
export const superuser = { name: 'postgres', password: 'postgres' } as const;
export const writer = { name: 'clt_writer', password: 'clt_writer' } as const;
/** The role of gateways and the tron-watcher. */
export const reader = { name: 'clt_reader', password: 'clt_reader' } as const;
/** The role of people. */
export const analyst = { name: 'clt_analyst', password: 'clt_analyst' } as const;

/** Text sorts by bytes: the order of rows must not depend on the locale of a machine. */
export const initdbArguments: readonly string[] = [
  '--encoding=UTF8',
  '--locale=C',
  '--auth-host=scram-sha-256',
  '--auth-local=scram-sha-256',
];

/** Given to `postgres` as `-c name=value`. */
export const postgresSettings: Readonly<Record<string, string>> = {
  synchronous_commit: 'on',
  shared_buffers: '1GB',
  effective_cache_size: '4GB',
  work_mem: '16MB',
  maintenance_work_mem: '256MB',
  // The first change of a page after a checkpoint is logged whole, so no checkpoint should fall
  // into a load. A killed server redoes at most this much.
  max_wal_size: '16GB',
  // A load needs hundreds of new WAL segments; filling them with zeros would double its time.
  wal_init_zero: 'off',
  // The buffers of a stopped server are read again when it starts.
  shared_preload_libraries: 'pg_prewarm',
  // Every row can be rebuilt from Kafka, so new indexes need not be logged. The log is written in
  // small pieces, so that no commit waits for a large one.
  wal_level: 'minimal',
  max_wal_senders: '0',
  wal_writer_delay: '20ms',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  max_connections: '300',
  // else forty sessions that lock all tables leave no memory for the locks of others
  max_locks_per_transaction: '512',
  // 512 KB: nothing here listens, and a reading role could fill the 8 GB that are the default
  max_notify_queue_pages: '64',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/** Settings as command-line arguments. */
export function postgresArguments(
  settings: Readonly<Record<string, string>> = postgresSettings,
): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
