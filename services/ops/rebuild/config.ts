import {
  httpUrl,
  list,
  postgresUrl,
  readConfig,
  type Config,
  type Environment,
} from '../../runtime/process/config.ts';
import { environmentOf } from '../config.ts';

const SETTINGS = {
  kafka_brokers: list('APP_KAFKA_BROKERS'),
  registry_url: httpUrl('APP_REGISTRY_URL'),
  postgres_url: postgresUrl('APP_POSTGRES_URL'),
} as const;

/** What is needed to fold a log into tables. Throws a `ConfigError` with everything that is missing. */
export function readRebuildConfig(env: Environment, stackFile: string): Config<typeof SETTINGS> {
  return readConfig(environmentOf(env, stackFile, SETTINGS), SETTINGS);
}
