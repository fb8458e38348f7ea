/** What `ops reserve run` has to be told. */
import {
  httpUrl,
  list,
  readConfig,
  type Config,
  type Environment,
} from '../../runtime/process/config.ts';
import { RECONCILIATION_SETTINGS } from '../../treasury/reconciliation/settings.ts';
import { environmentOf } from '../config.ts';

const SETTINGS = {
  kafka_brokers: list('APP_KAFKA_BROKERS'),
  registry_url: httpUrl('APP_REGISTRY_URL'),
  ...RECONCILIATION_SETTINGS,
} as const;

export type ReserveConfig = Config<typeof SETTINGS>;

/** Throws a `ConfigError` with everything that is missing. */
export function readReserveConfig(env: Environment, stackFile: string): ReserveConfig {
  return readConfig(environmentOf(env, stackFile, SETTINGS), SETTINGS);
}
