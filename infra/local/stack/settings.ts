/** Reads the settings of the stack: the choices of the user, and secrets of its folder. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAddress } from '../../../schemas/address.ts';
import { USDT_CONTRACTS } from '../../../schemas/deposit-policy.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import type { Folder } from './folder.ts';
import { portNames, portVariable } from '../../services/ports.ts';
import { defaultSettings, settingNames, type StackSettings } from '../../services/settings.ts';

const MAINNET = 'mainnet';

const SECRETS = ['APP_JWT_SECRET', 'APP_DEVNET_SEED', 'APP_MINT_KEY', 'APP_OPERATOR_KEY'];

/** Variables that only the stack reads; a service gets only the secrets of its table entry. */
const STACK_ONLY = new Set<string>([
  'APP_CACHE_DIR',
  'APP_LOCAL_DIR',
  'APP_OPERATOR_PASSWORD',
  ...SECRETS,
  ...portNames.map(portVariable),
]);

/** The user's APP_ settings, which every service gets unless the stack decides them. */
export function userSettings(env: NodeJS.ProcessEnv): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && name.startsWith('APP_') && !STACK_ONLY.has(name))
      settings[name] = value;
  return settings;
}

function chosenSettings(env: NodeJS.ProcessEnv): Partial<StackSettings> {
  return Object.fromEntries(
    settingNames.map((name) => [name, env[name]]).filter(([, value]) => value?.trim()),
  );
}

/** The user's choices, and the network's defaults for the rest. */
export function readSettings(env: NodeJS.ProcessEnv): StackSettings {
  const chosen = chosenSettings(env);
  const mainnet = {
    APP_USDT_CONTRACT: USDT_CONTRACTS.mainnet,
    // not set: the treasury's own limits hold
    APP_RECONCILE_REQUESTS_PER_SECOND: '',
    APP_RECONCILE_REQUESTS_PER_DAY: '',
  };
  return { ...defaultSettings, ...(chosen.APP_NETWORK === MAINNET ? mainnet : {}), ...chosen };
}

/**
 * The settings of `readSettings` with the secrets of this folder. On the mainnet every publicly
 * known key is replaced by one that only this folder has, so that its limits can be tried on the
 * devnet and no default is ever a key to money.
 */
export async function folderSettings(
  env: NodeJS.ProcessEnv,
  folder: Folder,
): Promise<StackSettings> {
  const chosen = chosenSettings(env);
  const settings = { ...readSettings(env) };
  const isMainnet = settings.APP_NETWORK === MAINNET;
  settings.APP_JWT_SECRET = chosen.APP_JWT_SECRET ?? folderSecret(folder, 'jwt-secret');
  Object.assign(settings, await operator(chosen, folder));
  if (isMainnet)
    settings.APP_DEVNET_SEED = chosen.APP_DEVNET_SEED ?? folderSecret(folder, 'devnet-seed');
  if (settings.APP_DEVNET_SEED === defaultSettings.APP_DEVNET_SEED) return settings;
  const { APP_MINT_KEY, ...deposits } = await seedKeys(settings.APP_DEVNET_SEED);
  return { ...settings, APP_MINT_KEY, ...(isMainnet ? deposits : {}), ...chosen };
}

/** A secret that is created once and lives as long as the data. */
function folderSecret(folder: Folder, name: string): string {
  const file = join(folder.data, name);
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600 });
  return readFileSync(file, 'utf8');
}

/** The only operator, whose key `ops` finds in the stack file; none where the user names others. */
async function operator(
  chosen: Partial<StackSettings>,
  folder: Folder,
): Promise<Pick<StackSettings, 'APP_OPERATORS' | 'APP_OPERATOR_KEY'>> {
  const { APP_OPERATORS: others, APP_OPERATOR_KEY: given } = chosen;
  if (others !== undefined) return { APP_OPERATORS: others, APP_OPERATOR_KEY: given ?? '' };
  const { computeAddress } = await import('ethers');
  const key = given ?? `0x${folderSecret(folder, 'operator-key')}`;
  return { APP_OPERATORS: computeAddress(key).toLowerCase(), APP_OPERATOR_KEY: key };
}

/** The keys of the devnet with this seed. */
async function seedKeys(
  seed: string,
): Promise<Pick<StackSettings, 'APP_MINT_KEY' | 'APP_DEPOSIT_XPUB' | 'APP_CUSTODY_ADDRESSES'>> {
  // imported only when needed, since it takes long
  const { HDNodeWallet, id } = await import('ethers');
  const { deriveKey, mintAuthorityKey } = await import('../../devnet/clt/keys.ts');
  const custody = parseAddress(deriveKey(seed, 'custody').address);
  if (custody === undefined) throw new Error('the custody key has no address');
  const wallet = HDNodeWallet.fromSeed(id(`clt-deposits:${seed}`)).derivePath("m/44'/195'/0'/0");
  return {
    APP_MINT_KEY: mintAuthorityKey(seed).signing_key.privateKey,
    APP_DEPOSIT_XPUB: wallet.neuter().extendedKey,
    APP_CUSTODY_ADDRESSES: toTronAddress(custody),
  };
}
