import { NETWORKS, type Network } from '../../schemas/deposit-policy.ts';
import {
  CONSOLE_SETTINGS as ADDRESS,
  choice,
  GATEWAY_SETTINGS,
  httpUrl,
  integer,
  optional,
  readConfig,
  ready_lag_blocks_max,
  type Config,
  type Environment,
  type Setting,
} from '../runtime/process/config.ts';
import { KAFKA_SETTINGS } from '../runtime/process/kafka-settings.ts';
import { checkedTiles } from './tiles.ts';

/** Before the id of a transaction; the testnet of the default USDT contract is Nile. */
const TRON_URLS: Readonly<Record<Network, string>> = {
  mainnet: 'https://tronscan.org/#/transaction/',
  testnet: 'https://nile.tronscan.org/#/transaction/',
};
const NO_TRON_URL = 'none';

/** The console's own; a page can do without each of them. */
export const CONSOLE_SETTINGS = {
  /** of the console itself, for the pictures of previews */
  ...ADDRESS,
  /** of the chain that wallets sign in for */
  chain_id: optional(integer('APP_CHAIN_ID', { min: 1, max: Number.MAX_SAFE_INTEGER })),
  console_hub_url: optional(httpUrl('APP_CONSOLE_HUB_URL')),
  console_deposits_url: optional(httpUrl('APP_CONSOLE_DEPOSITS_URL')),
  console_tiles_url: optional(tilesUrl('APP_CONSOLE_TILES_URL')),
  network: optional(choice('APP_NETWORK', NETWORKS)),
  console_tron_url: optional(tronUrl('APP_CONSOLE_TRON_URL')),
};

export const SETTINGS = {
  ...GATEWAY_SETTINGS,
  node_url: httpUrl('APP_NODE_URL'),
  /** if unset, the lag of projections in records is unknown */
  ...KAFKA_SETTINGS,
  kafka_brokers: optional(KAFKA_SETTINGS.kafka_brokers),
  /** unset in a deployment without a treasury */
  treasury_public_reconciliation_url: optional(httpUrl('APP_TREASURY_PUBLIC_RECONCILIATION_URL')),
  ready_lag_blocks_max,
  answers_kept_max: integer('APP_ANSWERS_KEPT_MAX', { default: 4_096, min: 0, max: 1_000_000 }),
  exports_max: integer('APP_EXPORTS_MAX', { default: 4, min: 0, max: 100 }),
  ...CONSOLE_SETTINGS,
};

function tilesUrl(name: string): Setting<string> {
  return {
    ...httpUrl(name),
    expected:
      'an address like https://host/{z}/{x}/{y}.png or https://host/map.pmtiles, without user and password, or the path of a file whose name ends in .pmtiles',
    read: (text) => {
      const isArchive = text.endsWith('.pmtiles');
      if (!isAddress(text)) return isArchive ? checkedTiles(text) : undefined;
      if (namesUser(text)) return undefined;
      return isArchive || /\{z\}.*\{[xy]\}.*\{[xy]\}/.test(text) ? text : undefined;
    },
  };
}

/** Else a setting that may be either is a path. */
export function isAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:/.test(text);
}

/** Everybody reads it in the settings of the pages, and browsers ask for no such address. */
function namesUser(address: string): boolean {
  const { username, password } = new URL(address);
  return username !== '' || password !== '';
}

function tronUrl(name: string): Setting<string> {
  return {
    ...httpUrl(name),
    expected: `an address like ${TRON_URLS.mainnet}, without user and password, or ${NO_TRON_URL}`,
    read: (text) =>
      text === NO_TRON_URL || (isAddress(text) && !namesUser(text)) ? text : undefined,
  };
}

/** Where a transaction of TRON is shown, before its id; undefined: nowhere. */
export function tronUrlOf({
  network,
  console_tron_url: consoleTronUrl,
}: ConsoleConfig): string | undefined {
  if (consoleTronUrl !== undefined)
    return consoleTronUrl === NO_TRON_URL ? undefined : consoleTronUrl;
  return network === undefined ? undefined : TRON_URLS[network];
}

export type ConsoleConfig = Partial<Config<typeof CONSOLE_SETTINGS>>;
export type ExplorerGatewayConfig = Config<typeof SETTINGS>;

export function readExplorerGatewayConfig(env: Environment): ExplorerGatewayConfig {
  return readConfig(env, SETTINGS);
}
