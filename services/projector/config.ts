import {
  integer,
  POSTGRES_SETTINGS,
  readConfig,
  REDIS_SETTINGS,
  SERVICE_SETTINGS,
  type Config,
  type Environment,
} from '../runtime/process/config.ts';
import { KAFKA_SETTINGS, REGISTRY_SETTINGS } from '../runtime/process/kafka-settings.ts';

export const SETTINGS = {
  ...SERVICE_SETTINGS,
  ...KAFKA_SETTINGS,
  kafka_session_ms: integer('APP_KAFKA_SESSION_MS', { default: 6_000, min: 1_000, max: 300_000 }),
  ...REGISTRY_SETTINGS,
  ...POSTGRES_SETTINGS,
  ...REDIS_SETTINGS,
} as const;

export function readProjectorConfig(env: Environment): Config<typeof SETTINGS> {
  return readConfig(env, SETTINGS);
}
