import { NETWORKS } from '../../schemas/deposit-policy.ts';
import {
  choice,
  ConfigError,
  httpUrl,
  integer,
  optional,
  postgres_stale_ms,
  postgresConnect,
  postgresUrl,
  readConfig,
  SERVICE_SETTINGS,
  type Config,
  type Environment,
} from '../runtime/process/config.ts';
import { KAFKA_SETTINGS, REGISTRY_SETTINGS } from '../runtime/process/kafka-settings.ts';
import { mainnetProblems, TRONGRID_SETTINGS } from '../runtime/trongrid/settings.ts';

const DAY_MS = 86_400_000;
/** A pass waits for Postgres, and nobody waits for a pass. */
const CONNECT_MS = 10_000;

export const SETTINGS = {
  ...SERVICE_SETTINGS,
  ...KAFKA_SETTINGS,
  kafka_session_ms: integer('APP_KAFKA_SESSION_MS', { default: 6_000, min: 1_000, max: 300_000 }),
  ...REGISTRY_SETTINGS,
  postgres_reader_url: postgresUrl('APP_POSTGRES_READER_URL'),
  postgres_connect_ms: postgresConnect(CONNECT_MS),
  postgres_stale_ms,
  network: choice('APP_NETWORK', NETWORKS),
  ...TRONGRID_SETTINGS,
  /** of all watchers of the group together */
  requests_per_second: integer('APP_TRON_REQUESTS_PER_SECOND', {
    default: 10,
    min: 1,
    max: 10_000,
  }),
  requests_per_day: integer('APP_TRON_REQUESTS_PER_DAY', {
    default: 90_000,
    min: 0,
    max: 1_000_000_000,
  }),
  pass_every_ms: integer('APP_PASS_EVERY_MS', { default: 5_000, min: 10, max: 3_600_000 }),
  pass_addresses_max: integer('APP_PASS_ADDRESSES_MAX', { default: 50, min: 1, max: 10_000 }),
  pass_cold_min: integer('APP_PASS_COLD_MIN', { default: 10, min: 1, max: 10_000 }),
  cold_every_ms: integer('APP_COLD_EVERY_MS', { default: 60_000, min: 0, max: DAY_MS }),
  overlap_ms: integer('APP_OVERLAP_MS', { default: 3_600_000, min: 0, max: 365 * DAY_MS }),
  cross_check_every: integer('APP_CROSS_CHECK_EVERY', { default: 20, min: 0, max: 1_000_000 }),
  cross_check_ms: integer('APP_CROSS_CHECK_MS', {
    default: 30 * DAY_MS,
    min: 0,
    max: 3_650 * DAY_MS,
  }),
  /** in one pass; 0: balances are read in cross-checks only */
  balance_requests_max: integer('APP_PASS_BALANCES', { default: 20, min: 0, max: 10_000 }),
  treasury_arrivals_url: optional(httpUrl('APP_TREASURY_ARRIVALS_URL')),
  receipts_max: integer('APP_RECEIPTS_MAX', { default: 100, min: 1, max: 100_000 }),
  /** time without any success before the watcher is not ready */
  silence_ms: integer('APP_READY_SILENCE_MS', { default: 60_000, min: 100, max: 3_600_000 }),
} as const;

export function readWatcherConfig(env: Environment): Config<typeof SETTINGS> {
  const config = readConfig(env, SETTINGS);
  const problems = config.network === 'mainnet' ? mainnetProblems(config) : [];
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}
