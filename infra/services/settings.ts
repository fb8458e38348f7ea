/** The settings that a user may choose for all services, with the defaults of the testnet. */
import { USDT_CONTRACTS } from '../../schemas/deposit-policy.ts';
import {
  DEVELOPMENT_CUSTODY,
  DEVELOPMENT_JWT_SECRET,
  DEVELOPMENT_OPERATOR,
  DEVELOPMENT_OPERATOR_KEY,
  DEVELOPMENT_XPUB,
} from '../../schemas/development.ts';

export const defaultSettings = {
  APP_NETWORK: 'testnet',
  APP_CHAIN_ID: '7777',
  APP_LOG_LEVEL: 'info',
  APP_DRAIN_MS: '10000',
  // the hub signs tokens with it
  APP_JWT_SECRET: DEVELOPMENT_JWT_SECRET,
  // the devnet derives its keys from it
  APP_DEVNET_SEED: 'clt-devnet',
  // the mint authority of a devnet with that seed; no other chain accepts it
  APP_MINT_KEY: '0xc80c4a2b5390da9a5ebf241d252f4da0cd04c2a4ef946f29ce829b6814a15ba7',
  // the operators' addresses, separated by commas; no service gets the key, `ops` signs with it
  APP_OPERATORS: DEVELOPMENT_OPERATOR,
  APP_OPERATOR_KEY: DEVELOPMENT_OPERATOR_KEY,
  // micro-USD; 0: nothing needs two operators
  APP_TWO_OPERATORS_ABOVE: '0',
  APP_DEPOSIT_XPUB: DEVELOPMENT_XPUB,
  // TRON addresses in base58; the custody addresses hold what was swept, separated by commas
  APP_USDT_CONTRACT: USDT_CONTRACTS.testnet,
  APP_CUSTODY_ADDRESSES: DEVELOPMENT_CUSTODY,
  // the devnet has no quota; 0: no limit
  APP_RECONCILE_REQUESTS_PER_SECOND: '200',
  APP_RECONCILE_REQUESTS_PER_DAY: '0',
} as const;

export type SettingName = keyof typeof defaultSettings;
export type StackSettings = Readonly<Record<SettingName, string>>;

function isSettingName(name: string): name is SettingName {
  return name in defaultSettings;
}

export const settingNames = Object.keys(defaultSettings).filter(isSettingName);
