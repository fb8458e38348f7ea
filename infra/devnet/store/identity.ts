/** Which chain a directory holds. A chain keeps the settings that it began with: with others its blocks would not come out again. */
import fs from 'node:fs';
import path from 'node:path';
import { id } from 'ethers';
import type { GenesisSettings } from '../clt/genesis.ts';
import { writeFileWhole } from './whole-file.ts';

interface IdentityFile {
  readonly chain_id: number;
  readonly is_testnet: boolean;
  readonly finality_depth: number;
  readonly seed_fingerprint: string;
  readonly genesis_timestamp: number;
}

/** The settings of the chain in this directory, which begins now if there is none; or each setting that does not fit it. */
export function identify(
  directory: string,
  wanted: Omit<GenesisSettings, 'timestamp'>,
  now: number,
): { readonly settings: GenesisSettings } | { readonly problems: readonly string[] } {
  fs.mkdirSync(directory, { recursive: true });
  const file = path.join(directory, 'chain.json');
  const identity: IdentityFile = {
    chain_id: wanted.chain_id,
    is_testnet: wanted.is_testnet,
    finality_depth: wanted.finality_depth,
    seed_fingerprint: id(`fingerprint:${wanted.seed}`),
    genesis_timestamp: now,
  };
  if (!fs.existsSync(file)) {
    writeFileWhole(file, JSON.stringify(identity, null, 2));
    return { settings: { ...wanted, timestamp: now } };
  }
  const found: IdentityFile = JSON.parse(fs.readFileSync(file, 'utf8'));
  const problems = [
    different('APP_CHAIN_ID', found.chain_id, identity.chain_id, directory),
    different(
      'APP_NETWORK',
      found.is_testnet ? 'testnet' : 'mainnet',
      identity.is_testnet ? 'testnet' : 'mainnet',
      directory,
    ),
    different('APP_FINALITY_DEPTH', found.finality_depth, identity.finality_depth, directory),
    different(
      'APP_DEVNET_SEED',
      found.seed_fingerprint.slice(0, 10),
      identity.seed_fingerprint.slice(0, 10),
      directory,
    ),
  ].filter((problem) => problem !== undefined);
  return problems.length > 0
    ? { problems }
    : { settings: { ...wanted, timestamp: found.genesis_timestamp } };
}

function different(
  name: string,
  found: string | number,
  wanted: string | number,
  directory: string,
): string | undefined {
  if (found === wanted) return undefined;
  return `${name}: the chain in ${directory} began with ${found}, not ${wanted}; set it back, or remove the directory to begin a new chain`;
}
