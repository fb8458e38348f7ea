/** The first block of a devnet: who exists, what they own, by which numbers the chain runs. All of it follows from the settings. */
import type { Block } from './block.ts';
import { genesisBlock } from './block.ts';
import type { Key } from './keys.ts';
import { keyOf, keysOf, mintAuthorityKey } from './keys.ts';
import type { Parameters } from './parameters.ts';
import { ZERO_HASH } from './parameters.ts';
import type { Rows } from './state.ts';
import { SUPPLY, emptyRows } from './state.ts';

export interface GenesisSettings {
  readonly seed: string;
  readonly chain_id: number;
  readonly is_testnet: boolean;
  readonly finality_depth: number;
  /** Unix milliseconds at which the chain begins */
  readonly timestamp: number;
}

/** Keys that the devnet itself signs with. */
export interface Cast {
  /** the account that funds whoever asks; owns more than 2^53 base units */
  readonly faucet: Key;
  /** signs the transactions of blocks made to be large */
  readonly bulk: Key;
  readonly mint_authority: Key;
  readonly validators: readonly Key[];
  readonly passengers: readonly Key[];
  readonly drivers: readonly Key[];
  /** bring passengers and drivers and get their fees */
  readonly referrers: readonly Key[];
}

export interface Genesis {
  readonly parameters: Parameters;
  readonly cast: Cast;
  readonly block: Block;
  readonly allocation: bigint;
  rows(): Rows;
}

const USD = 1_000_000n;
const ESCROW = '0x000000000000000000000000000000000000e5c0';
const REWARD_POOL = '0x000000000000000000000000000000000000b10c';

export function makeGenesis(settings: GenesisSettings): Genesis {
  const cast = castOf(settings.seed);
  const parameters = parametersOf(settings, cast);
  const balances = balancesOf(cast);
  const [validator] = parameters.validators;
  if (validator === undefined) throw new Error('a chain needs a validator');
  const seat = { height: 0, parent_hash: ZERO_HASH, timestamp: settings.timestamp, validator };
  const allocation = balances.reduce((sum, [, amount]) => sum + amount, 0n);
  return {
    parameters,
    cast,
    allocation,
    block: genesisBlock(seat, balances, parameters),
    rows: () => {
      const rows = emptyRows();
      for (const [address, balance] of balances) rows.accounts.set(address, { balance, nonce: 0 });
      rows.supply.set(SUPPLY, allocation);
      return rows;
    },
  };
}

function castOf(seed: string): Cast {
  return {
    faucet: keyOf(seed, 'faucet'),
    bulk: keyOf(seed, 'bulk'),
    mint_authority: mintAuthorityKey(seed),
    validators: keysOf(seed, 'validator', 5),
    passengers: keysOf(seed, 'passenger', 24),
    drivers: keysOf(seed, 'driver', 12),
    referrers: keysOf(seed, 'referrer', 3),
  };
}

function parametersOf(settings: GenesisSettings, cast: Cast): Parameters {
  return {
    chain_id: settings.chain_id,
    is_testnet: settings.is_testnet,
    tx_fee: 1_000n,
    block_reward: 50_000n,
    request_referrer_bps: 100n,
    offer_referrer_bps: 50n,
    finality_depth: settings.finality_depth,
    block_transactions_max: 20_000,
    mempool_transactions_max: 50_000,
    request_offers_max: 100,
    mint_authority: cast.mint_authority.address,
    escrow: ESCROW,
    reward_pool: REWARD_POOL,
    // every second validator has its rewards sent elsewhere
    validators: cast.validators.map(({ address }, index) => ({
      address,
      reward_recipient:
        index % 2 === 0 ? address : keyOf(settings.seed, `reward-recipient-${index}`).address,
    })),
  };
}

function balancesOf(cast: Cast): readonly (readonly [address: string, amount: bigint])[] {
  return [
    [cast.faucet.address, 20_000_000_000n * USD],
    [cast.bulk.address, 1_000_000n * USD],
    [cast.mint_authority.address, 1_000n * USD],
    [REWARD_POOL, 1_000_000n * USD],
    ...cast.validators.map(({ address }) => [address, 100n * USD] as const),
    ...cast.passengers.map(({ address }) => [address, 10_000n * USD] as const),
    ...cast.drivers.map(({ address }) => [address, 1_000n * USD] as const),
  ];
}
