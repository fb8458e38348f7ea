import {
  httpUrl,
  integer,
  readConfig,
  SERVICE_SETTINGS,
  type Config,
  type Environment,
} from '../runtime/process/config.ts';
import { KAFKA_SETTINGS, REGISTRY_SETTINGS } from '../runtime/process/kafka-settings.ts';

export const SETTINGS = {
  ...SERVICE_SETTINGS,
  ...KAFKA_SETTINGS,
  ...REGISTRY_SETTINGS,
  node_url: httpUrl('APP_NODE_URL'),
  kafka_session_ms: integer('APP_KAFKA_SESSION_MS', { default: 6_000, min: 1_000, max: 300_000 }),
  chain_id: integer('APP_CHAIN_ID', { min: 1, max: Number.MAX_SAFE_INTEGER }),
} as const;

export function readIngesterConfig(env: Environment): Config<typeof SETTINGS> {
  return readConfig(env, SETTINGS);
}
