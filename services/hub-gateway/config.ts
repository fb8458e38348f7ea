import { parseAddress, toHex } from '../../schemas/address.ts';
import { NETWORKS } from '../../schemas/deposit-policy.ts';
import {
  choice,
  ConfigError,
  CONSOLE_SETTINGS,
  flag,
  GATEWAY_SETTINGS,
  httpUrl,
  integer,
  readConfig,
  ready_lag_blocks_max,
  type Config,
  type Environment,
  type Setting,
} from '../runtime/process/config.ts';
import { secretProblems, TOKEN_SETTINGS } from '../runtime/http/token.ts';

/** Queries and mutations. */
export const GRAPHQL_PATH = '/graphql';
/** All operations, over sockets. */
export const SOCKET_PATH = '/graphql/ws';

const SETTINGS = {
  ...GATEWAY_SETTINGS,
  ...CONSOLE_SETTINGS,
  network: choice('APP_NETWORK', NETWORKS),
  chain_id: integer('APP_CHAIN_ID', { min: 1, max: Number.MAX_SAFE_INTEGER }),
  node_url: httpUrl('APP_NODE_URL'),
  ready_lag_blocks_max,
  ...TOKEN_SETTINGS,
  jwt_expiration_hours: integer('APP_JWT_EXPIRATION_HOURS', { default: 6, min: 1, max: 8_760 }),
  auth_single_use: flag('APP_AUTH_SINGLE_USE', { default: false }),
  request_referrer: referrer('APP_REQUEST_REFERRER'),
  offer_referrer: referrer('APP_OFFER_REFERRER'),
  list_rows_max: integer('APP_LIST_ROWS_MAX', { default: 10_000, min: 1, max: 1_000_000 }),
  node_timeout_ms: integer('APP_NODE_TIMEOUT_MS', { default: 5_000, min: 100, max: 60_000 }),
  answers_kept_max: integer('APP_ANSWERS_KEPT_MAX', { default: 4_096, min: 0, max: 1_000_000 }),
  sockets_max: integer('APP_SOCKETS_MAX', { default: 20_000, min: 1, max: 1_000_000 }),
  /** of an address, behind which there may be many people */
  sockets_per_client_max: integer('APP_SOCKETS_PER_CLIENT_MAX', {
    default: 500,
    min: 1,
    max: 1_000_000,
  }),
  socket_operations_max: integer('APP_SOCKET_OPERATIONS_MAX', { default: 20, min: 1, max: 10_000 }),
  socket_message_bytes_max: integer('APP_SOCKET_MESSAGE_BYTES_MAX', {
    default: 65_536,
    min: 1_024,
    max: 16_777_216,
  }),
  subscription_bytes_max: integer('APP_SUBSCRIPTION_BYTES_MAX', {
    default: 268_435_456,
    min: 65_536,
    max: 17_179_869_184,
  }),
  /** different ones */
  subscriptions_per_client_max: integer('APP_SUBSCRIPTIONS_PER_CLIENT_MAX', {
    default: 100,
    min: 1,
    max: 1_000_000,
  }),
  /** a client that asks its wallet meanwhile has the 120 s of a sign-in */
  socket_init_ms: integer('APP_SOCKET_INIT_MS', { default: 150_000, min: 100, max: 600_000 }),
  socket_buffer_bytes_max: integer('APP_SOCKET_BUFFER_BYTES_MAX', {
    default: 1_048_576,
    min: 1_024,
    max: 1_073_741_824,
  }),
  socket_slow_ms: integer('APP_SOCKET_SLOW_MS', { default: 60_000, min: 100, max: 3_600_000 }),
} as const;

/** The address that the chain pays a share of the fare for referring the ride; none by default. */
function referrer(name: string): Setting<string | null> {
  return {
    name,
    expected: 'an address, 0x + 40 hex digits',
    secret: false,
    fallback: null,
    read: (text) => {
      const address = /^0x/i.test(text) ? parseAddress(text) : undefined;
      return address === undefined ? undefined : toHex(address);
    },
  };
}

export type HubGatewayConfig = Config<typeof SETTINGS> & {
  /** whether the schema can be queried and browsers get GraphiQL */
  readonly introspection: boolean;
};

/** Introspection is off by default on the mainnet. */
export function settingsOf(env: Environment) {
  const isProduction = env['APP_NETWORK']?.trim() === 'mainnet';
  return {
    ...SETTINGS,
    introspection: flag('APP_INTROSPECTION', { default: !isProduction }),
  };
}

export function readHubGatewayConfig(env: Environment): HubGatewayConfig {
  const config = readConfig(env, settingsOf(env));
  const problems = secretProblems(config);
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}
