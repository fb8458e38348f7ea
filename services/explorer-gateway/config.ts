import {
  httpUrl,
  integer,
  list,
  postgresUrl,
  readConfig,
  redisUrl,
  SERVICE_SETTINGS,
  type Config,
  type Environment,
  type Setting,
} from '../runtime/process/config.ts';

/** Without it there is no treasury behind this deployment. */
const TREASURY_URL: Setting<string | undefined> = {
  ...httpUrl('APP_TREASURY_PUBLIC_RECONCILIATION_URL'),
  fallback: undefined,
};

/** Without it nobody knows how many records projections are behind: all else is shown all the same. */
const KAFKA_BROKERS: Setting<readonly string[] | undefined> = {
  ...list('APP_KAFKA_BROKERS'),
  fallback: undefined,
};

const SETTINGS = {
  ...SERVICE_SETTINGS,
  postgres_reader_url: postgresUrl('APP_POSTGRES_READER_URL'),
  redis_url: redisUrl('APP_REDIS_URL'),
  node_url: httpUrl('APP_NODE_URL'),
  kafka_brokers: KAFKA_BROKERS,
  treasury_public_reconciliation_url: TREASURY_URL,
  statement_timeout_ms: integer('APP_STATEMENT_TIMEOUT_MS', {
    default: 2_000,
    min: 10,
    max: 60_000,
  }),
  connections_max: integer('APP_POSTGRES_CONNECTIONS_MAX', { default: 8, min: 1, max: 100 }),
  ready_lag_blocks_max: integer('APP_READY_LAG_BLOCKS_MAX', {
    default: 20,
    min: 0,
    max: 1_000_000_000,
  }),
  answers_kept_max: integer('APP_ANSWERS_KEPT_MAX', { default: 4_096, min: 0, max: 1_000_000 }),
  exports_max: integer('APP_EXPORTS_MAX', { default: 4, min: 0, max: 100 }),
  rate_per_second: integer('APP_RATE_PER_SECOND', { default: 100, min: 0, max: 1_000_000 }),
  rate_burst: integer('APP_RATE_BURST', { default: 300, min: 1, max: 1_000_000 }),
  trust_proxy_hops: integer('APP_TRUST_PROXY', { default: 0, min: 0, max: 10 }),
};

export type ExplorerGatewayConfig = Config<typeof SETTINGS>;

export function readExplorerGatewayConfig(env: Environment): ExplorerGatewayConfig {
  return readConfig(env, SETTINGS);
}
