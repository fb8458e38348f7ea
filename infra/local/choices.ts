/** What the user may choose for the whole stack, and what it is when nothing is chosen. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { USDT_CONTRACTS } from '../../schemas/deposit-policy.ts';
import {
  DEVELOPMENT_CUSTODY,
  DEVELOPMENT_JWT_SECRET,
  DEVELOPMENT_XPUB,
} from '../../schemas/development.ts';
import type { Folder } from './folder.ts';
import { portNames, portVariable } from './ports.ts';

/** What a service is told besides its addresses. */
export interface Common {
  readonly network: string;
  readonly chain_id: string;
  readonly log_level: string;
  readonly drain_ms: string;
  /** with which the hub signs tokens; told only to those who issue or verify them */
  readonly jwt_secret: string;
  /** what the devnet's own keys are made from; told to nobody else */
  readonly devnet_seed: string;
  /** of the devnet's mint authority; told to the treasury alone */
  readonly mint_key: string;
  readonly deposit_xpub: string;
  /** of TRON, base58 */
  readonly usdt_contract: string;
  /** of TRON, base58, separated by commas: where money lies that was swept from deposit addresses */
  readonly custody_addresses: string;
  readonly reconcile_requests_per_second: string;
  /** 0: any number */
  readonly reconcile_requests_per_day: string;
}

const MAINNET = 'mainnet';

export const defaultCommon: Common = {
  network: 'testnet',
  chain_id: '7777',
  log_level: 'info',
  drain_ms: '10000',
  jwt_secret: DEVELOPMENT_JWT_SECRET,
  devnet_seed: 'clt-devnet',
  // the devnet's mint authority of that seed: it can mint nothing anywhere else
  mint_key: '0xc80c4a2b5390da9a5ebf241d252f4da0cd04c2a4ef946f29ce829b6814a15ba7',
  deposit_xpub: DEVELOPMENT_XPUB,
  usdt_contract: USDT_CONTRACTS.testnet,
  custody_addresses: DEVELOPMENT_CUSTODY,
  // the devnet has no quota
  reconcile_requests_per_second: '200',
  reconcile_requests_per_day: '0',
};

/** The variables that choose the one or the other; those who are not meant to know a value are not given its variable either. */
const VARIABLES: Readonly<Record<keyof Common, string>> = {
  network: 'APP_NETWORK',
  chain_id: 'APP_CHAIN_ID',
  log_level: 'APP_LOG_LEVEL',
  drain_ms: 'APP_DRAIN_MS',
  jwt_secret: 'APP_JWT_SECRET',
  devnet_seed: 'APP_DEVNET_SEED',
  mint_key: 'APP_MINT_KEY',
  deposit_xpub: 'APP_DEPOSIT_XPUB',
  usdt_contract: 'APP_USDT_CONTRACT',
  custody_addresses: 'APP_CUSTODY_ADDRESSES',
  reconcile_requests_per_second: 'APP_RECONCILE_REQUESTS_PER_SECOND',
  reconcile_requests_per_day: 'APP_RECONCILE_REQUESTS_PER_DAY',
};

/** The same as a list: what may be chosen. */
export const commonVariables: readonly string[] = Object.values(VARIABLES);

const SECRETS: readonly (keyof Common)[] = ['jwt_secret', 'devnet_seed', 'mint_key'];

const ofTheStack = new Set<string>([
  'APP_CACHE_DIR',
  'APP_LOCAL_DIR',
  ...SECRETS.map((name) => VARIABLES[name]),
  ...portNames.map(portVariable),
]);

/** The user's own APP_ settings, which every service is given as far as the stack does not decide them. */
export function ownSettings(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value !== undefined && name.startsWith('APP_') && !ofTheStack.has(name)
        ? [[name, value]]
        : [],
    ),
  );
}

/** What the user has chosen for all services, and the defaults of the network for the rest. */
export function readCommon(env: NodeJS.ProcessEnv): Common {
  const chosen = chosenIn(env);
  const isMainnet = chosen.network === MAINNET;
  return {
    ...defaultCommon,
    ...(isMainnet ? { usdt_contract: USDT_CONTRACTS.mainnet } : {}),
    ...chosen,
  };
}

function chosenIn(env: NodeJS.ProcessEnv): Partial<Common> {
  const chosen = Object.entries(VARIABLES).flatMap(([name, variable]) => {
    const value = env[variable];
    return value === undefined || value.trim() === '' ? [] : [[name, value] as const];
  });
  return Object.fromEntries(chosen);
}

/**
 * The same with the secrets of this folder. On the mainnet everything that everybody knows is replaced by what only this folder knows, made once and kept as long as the data: so its limits
 * can be tried out on the devnet, and no default is ever a key to money.
 */
export async function commonOf(env: NodeJS.ProcessEnv, folder: Folder): Promise<Common> {
  const chosen = chosenIn(env);
  const common = readCommon(env);
  const jwt_secret = chosen.jwt_secret ?? kept(folder, 'jwt-secret');
  const devnet_seed =
    chosen.devnet_seed ??
    (common.network === MAINNET ? kept(folder, 'devnet-seed') : common.devnet_seed);
  if (devnet_seed === defaultCommon.devnet_seed) return { ...common, jwt_secret, devnet_seed };
  // loaded only here: it takes long
  const { keysOf } = await import('./own-keys.ts');
  const { mint_key, deposit_xpub, custody_addresses } = keysOf(devnet_seed);
  const minting = { ...common, jwt_secret, devnet_seed, mint_key: chosen.mint_key ?? mint_key };
  if (common.network !== MAINNET) return minting;
  return {
    ...minting,
    deposit_xpub: chosen.deposit_xpub ?? deposit_xpub,
    custody_addresses: chosen.custody_addresses ?? custody_addresses,
  };
}

/** A secret of this data folder: made once, kept as long as the data. */
function kept(folder: Folder, name: string): string {
  const file = join(folder.data, name);
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600 });
  return readFileSync(file, 'utf8');
}
