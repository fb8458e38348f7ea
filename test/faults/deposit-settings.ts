/** The services of the fault run of deposits, and the settings of each. */
import { SECRET } from '../support/tokens.ts';

export const KEY = 'the key of the provider, which nobody may read';
export const PASS_ADDRESSES_MAX = 50;

const QUIET_KAFKA = { APP_KAFKA_SESSION_MS: '2000' };
const LOGGED = { APP_LOG_LEVEL: 'trace' };
type Settings = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** By service; `requests` is what all watchers together may ask the provider within a second. */
export function settingsFor(requests: number): Settings {
  return {
    devnet: {
      ...LOGGED,
      APP_TRAFFIC_PER_SECOND: '0',
      APP_BLOCK_INTERVAL_MS: '60000',
      APP_DEVNET_TRON_BLOCK_INTERVAL_MS: '300',
      APP_DEVNET_TRON_SOLIDIFY_MS: '600',
      APP_DEVNET_TRON_API_KEY: KEY,
    },
    'deposit-gateway': { ...LOGGED, APP_JWT_SECRET: SECRET, APP_RATE_PER_SECOND: '0' },
    'tron-watcher': {
      ...LOGGED,
      ...QUIET_KAFKA,
      APP_TRON_API_KEY: KEY,
      APP_TRON_REQUESTS_PER_SECOND: String(requests),
      APP_TRON_BACKOFF_MS_MIN: '10',
      APP_TRON_BACKOFF_MS_MAX: '300',
      APP_PASS_EVERY_MS: '50',
      APP_PASS_ADDRESSES_MAX: String(PASS_ADDRESSES_MAX),
      APP_COLD_EVERY_MS: '500',
      APP_CROSS_CHECK_EVERY: '10',
    },
    // whoever is killed has often just written one, or is about to
    treasury: { ...LOGGED, APP_SNAPSHOT_BYTES_MIN: '1' },
    'projector-deposits': { ...LOGGED, ...QUIET_KAFKA },
    'projector-watch': { ...LOGGED, ...QUIET_KAFKA },
  };
}

/** In start order: two watchers and two treasuries, so that they compete. */
export const SERVICES = [
  'projector-watch',
  'projector-deposits',
  'deposit-gateway',
  'treasury',
  'treasury/2',
  'tron-watcher',
  'tron-watcher/2',
];
