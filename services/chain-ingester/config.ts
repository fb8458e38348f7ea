import {
  httpUrl,
  integer,
  list,
  readConfig,
  SERVICE_SETTINGS,
  type Config,
  type Environment,
} from '../runtime/process/config.ts';

const SETTINGS = {
  ...SERVICE_SETTINGS,
  kafka_brokers: list('APP_KAFKA_BROKERS'),
  registry_url: httpUrl('APP_REGISTRY_URL'),
  node_url: httpUrl('APP_NODE_URL'),
  chain_id: integer('APP_CHAIN_ID', { min: 1, max: Number.MAX_SAFE_INTEGER }),
} as const;

export function readIngesterConfig(env: Environment): Config<typeof SETTINGS> {
  return readConfig(env, SETTINGS);
}
