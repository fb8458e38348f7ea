import {
  GATEWAY_SETTINGS,
  httpUrl,
  integer,
  list,
  readConfig,
  type Config,
  type Environment,
  type Setting,
} from '../runtime/process/config.ts';

/** Unset in a deployment without a treasury. */
const TREASURY_URL: Setting<string | undefined> = {
  ...httpUrl('APP_TREASURY_PUBLIC_RECONCILIATION_URL'),
  fallback: undefined,
};

/** If unset, the lag of projections in records is unknown. */
const KAFKA_BROKERS: Setting<readonly string[] | undefined> = {
  ...list('APP_KAFKA_BROKERS'),
  fallback: undefined,
};

const SETTINGS = {
  ...GATEWAY_SETTINGS,
  node_url: httpUrl('APP_NODE_URL'),
  kafka_brokers: KAFKA_BROKERS,
  treasury_public_reconciliation_url: TREASURY_URL,
  ready_lag_blocks_max: integer('APP_READY_LAG_BLOCKS_MAX', {
    default: 20,
    min: 0,
    max: 1_000_000_000,
  }),
  answers_kept_max: integer('APP_ANSWERS_KEPT_MAX', { default: 4_096, min: 0, max: 1_000_000 }),
  exports_max: integer('APP_EXPORTS_MAX', { default: 4, min: 0, max: 100 }),
};

export type ExplorerGatewayConfig = Config<typeof SETTINGS>;

export function readExplorerGatewayConfig(env: Environment): ExplorerGatewayConfig {
  return readConfig(env, SETTINGS);
}
