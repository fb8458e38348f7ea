/** The settings that the chain of a directory began with. With others, its blocks would differ. */
import fs from 'node:fs';
import path from 'node:path';
import { id } from 'ethers';
import type { GenesisSettings } from '../clt/genesis.ts';

/** The settings of the directory's chain, which begins now if there is none; or the misfits. */
export function openIdentity(
  directory: string,
  wanted: Omit<GenesisSettings, 'timestamp'>,
  now: number,
): { readonly settings: GenesisSettings } | { readonly problems: readonly string[] } {
  fs.mkdirSync(directory, { recursive: true });
  const file = path.join(directory, 'chain.json');
  const identity = newIdentity(wanted, now);
  if (!fs.existsSync(file)) {
    replaceFile(file, JSON.stringify(identity, null, 2));
    return { settings: { ...wanted, timestamp: now } };
  }
  const found: Identity = JSON.parse(fs.readFileSync(file, 'utf8'));
  const began = settingTexts(found);
  const problems = Object.entries(settingTexts(identity))
    .filter(([name, value]) => began[name] !== value)
    .map(
      ([name, value]) =>
        `${name}: the chain in ${directory} began with ${began[name]}, not ${value}; set it back, or remove the directory to begin a new chain`,
    );
  return problems.length > 0
    ? { problems }
    : { settings: { ...wanted, timestamp: found.genesis_timestamp } };
}

type Identity = Readonly<ReturnType<typeof newIdentity>>;

function newIdentity(settings: Omit<GenesisSettings, 'timestamp'>, genesis_timestamp: number) {
  const { chain_id, is_testnet, finality_depth, seed } = settings;
  const seed_fingerprint = id(`fingerprint:${seed}`);
  return { chain_id, is_testnet, finality_depth, seed_fingerprint, genesis_timestamp };
}

function settingTexts(identity: Identity): Readonly<Record<string, string>> {
  return {
    APP_CHAIN_ID: String(identity.chain_id),
    APP_NETWORK: identity.is_testnet ? 'testnet' : 'mainnet',
    APP_FINALITY_DEPTH: String(identity.finality_depth),
    APP_DEVNET_SEED: identity.seed_fingerprint.slice(0, 10),
  };
}

/** Replaces the file atomically: a crash leaves either the old or the new content. */
export function replaceFile(file: string, text: string): void {
  const temporary = `${file}.new`;
  const handle = fs.openSync(temporary, 'w');
  fs.writeFileSync(handle, text);
  fs.fsyncSync(handle);
  fs.closeSync(handle);
  fs.renameSync(temporary, file);
  const directory = fs.openSync(path.dirname(file), 'r');
  fs.fsyncSync(directory);
  fs.closeSync(directory);
}
