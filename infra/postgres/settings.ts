/** Postgres as every way of running it declares it: the local stack, docker-compose.yml and the tests' containers. */
export const postgres_version = '18.4';
export const postgres_image = `postgres:${postgres_version}`;
export const database = 'clt';

/** Development only: every server listens on 127.0.0.1. */
export const superuser = { name: 'postgres', password: 'postgres' } as const;
export const writer = { name: 'clt_writer', password: 'clt_writer' } as const;
export const reader = { name: 'clt_reader', password: 'clt_reader' } as const;

/** Text sorts by bytes wherever the cluster was made: the order of rows must not depend on a machine's locale. */
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
  // a page that is first read after a checkpoint is logged whole, for its checksum: none should fall into a load. A server that is killed has at most so much to redo
  max_wal_size: '16GB',
  // a new segment of that log is not filled with zeros first: a load needs hundreds, and takes as long again to fill them
  wal_init_zero: 'off',
  // what was in memory when the server was stopped is read again when it starts
  shared_preload_libraries: 'pg_prewarm',
  // every row can be made anew from the log: new indexes are written to their files alone, and what is logged in small pieces, so that nobody waits for a large one
  wal_level: 'minimal',
  max_wal_senders: '0',
  wal_writer_delay: '20ms',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  max_connections: '200',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/** `postgresSettings` as command-line arguments. */
export function postgresArguments(): string[] {
  return Object.entries(postgresSettings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
