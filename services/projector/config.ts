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
} from '../runtime/process/config.ts';

const SETTINGS = {
  ...SERVICE_SETTINGS,
  kafka_brokers: list('APP_KAFKA_BROKERS'),
  kafka_session_ms: integer('APP_KAFKA_SESSION_MS', { default: 6_000, min: 1_000, max: 300_000 }),
  registry_url: httpUrl('APP_REGISTRY_URL'),
  postgres_url: postgresUrl('APP_POSTGRES_URL'),
  redis_url: redisUrl('APP_REDIS_URL'),
} as const;

export function readProjectorConfig(env: Environment): Config<typeof SETTINGS> {
  return readConfig(env, SETTINGS);
}
