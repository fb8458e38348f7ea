import { parseAddress, toHex } from '../../schemas/address.ts';
import { NETWORKS } from '../../schemas/deposit-policy.ts';
import {
  choice,
  ConfigError,
  CONSOLE_SETTINGS,
  GATEWAY_SETTINGS,
  integer,
  readConfig,
  type Config,
  type Environment,
  type Setting,
} from '../runtime/process/config.ts';
import { KAFKA_SETTINGS, REGISTRY_SETTINGS } from '../runtime/process/kafka-settings.ts';
import { depositKeyProblems, DEPOSIT_KEY } from '../runtime/process/deposit-key.ts';
import { secretProblems, TOKEN_SETTINGS } from '../runtime/http/token.ts';

const SETTINGS = {
  ...GATEWAY_SETTINGS,
  ...CONSOLE_SETTINGS,
  network: choice('APP_NETWORK', NETWORKS),
  ...KAFKA_SETTINGS,
  ...REGISTRY_SETTINGS,
  ...TOKEN_SETTINGS,
  address_wait_ms: integer('APP_ADDRESS_WAIT_MS', { default: 10_000, min: 100, max: 10_000 }),
  /** new ones of one client; 0: any number */
  addresses_per_minute: integer('APP_ADDRESSES_PER_MINUTE', {
    default: 10,
    min: 0,
    max: 1_000_000,
  }),
  addresses_burst: integer('APP_ADDRESSES_BURST', { default: 60, min: 1, max: 1_000_000 }),
  /** from which every deposit address is derived */
  deposit_key: DEPOSIT_KEY,
} as const;

/** Accounts as 0x + lower-case hex. */
const ALLOWED_ACCOUNTS: Setting<ReadonlySet<string> | undefined> = {
  name: 'APP_ALLOWED_ACCOUNTS',
  expected: 'the accounts of the pilot, each 0x + 40 hex digits, several separated by commas',
  secret: false,
  read(text) {
    const accounts = text
      .split(',')
      .map((account) => (/^\s*0x/i.test(account) ? parseAddress(account.trim()) : undefined));
    const known = accounts.filter((account) => account !== undefined);
    return known.length === accounts.length ? new Set(known.map(toHex)) : undefined;
  },
};

/** Required on the mainnet, ignored elsewhere. */
function allowedAccounts(env: Environment): Setting<ReadonlySet<string> | undefined> {
  return env['APP_NETWORK']?.trim() === 'mainnet'
    ? ALLOWED_ACCOUNTS
    : { ...ALLOWED_ACCOUNTS, fallback: undefined, read: () => new Set() };
}

export type DepositGatewayConfig = Config<typeof SETTINGS> & {
  /** undefined: everybody */
  readonly allowed_accounts: ReadonlySet<string> | undefined;
};

/** The defaults depend on the network. */
export function settingsOf(env: Environment) {
  return { ...SETTINGS, allowed_accounts: allowedAccounts(env) };
}

export function readDepositGatewayConfig(env: Environment): DepositGatewayConfig {
  const config = readConfig(env, settingsOf(env));
  if (config.network !== 'mainnet') return { ...config, allowed_accounts: undefined };
  const problems = [...depositKeyProblems(config.deposit_key), ...secretProblems(config)];
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}
