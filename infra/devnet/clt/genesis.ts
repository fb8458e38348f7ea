/** A chain's accounts, initial balances, parameters and first block, derived from its settings. */
import { genesisBlock } from './block.ts';
import { deriveKey, deriveKeys, mintAuthorityKey } from './keys.ts';
import { SUPPLY, ZERO_HASH, copyRows, type Parameters, type Rows } from './state.ts';

export interface GenesisSettings {
  readonly seed: string;
  readonly chain_id: number;
  readonly is_testnet: boolean;
  readonly finality_depth: number;
  /** of the first block, Unix milliseconds */
  readonly timestamp: number;
}

export type Genesis = ReturnType<typeof makeGenesis>;
/** Keys that the devnet itself signs with. */
export type Cast = Genesis['cast'];

const USD = 1_000_000n;
const ESCROW = '0x000000000000000000000000000000000000e5c0';
const REWARD_POOL = '0x000000000000000000000000000000000000b10c';

export function makeGenesis(settings: GenesisSettings) {
  const cast = makeCast(settings.seed);
  const parameters = makeParameters(settings, cast);
  const balances = initialBalances(cast);
  const [validator] = parameters.validators;
  if (validator === undefined) throw new Error('a chain needs a validator');
  const slot = { height: 0, parent_hash: ZERO_HASH, timestamp: settings.timestamp, validator };
  const allocation = balances.reduce((sum, [, amount]) => sum + amount, 0n);
  return {
    parameters,
    cast,
    allocation,
    block: genesisBlock(slot, balances, parameters),
    rows: (): Rows => {
      const rows = copyRows();
      for (const [address, balance] of balances) rows.accounts.set(address, { balance, nonce: 0 });
      rows.supply.set(SUPPLY, allocation);
      return rows;
    },
  };
}

function makeCast(seed: string) {
  return {
    /** funds other accounts; owns more than 2^53 base units */
    faucet: deriveKey(seed, 'faucet'),
    /** signs the transactions of bulk blocks */
    bulk: deriveKey(seed, 'bulk'),
    mint_authority: mintAuthorityKey(seed),
    validators: deriveKeys(seed, 'validator', 5),
    passengers: deriveKeys(seed, 'passenger', 24),
    drivers: deriveKeys(seed, 'driver', 12),
    /** earn referrer fees */
    referrers: deriveKeys(seed, 'referrer', 3),
  };
}

function makeParameters(settings: GenesisSettings, cast: Cast): Parameters {
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
    // every second validator has a separate reward recipient
    validators: cast.validators.map(({ address }, index) => ({
      address,
      reward_recipient:
        index % 2 === 0 ? address : deriveKey(settings.seed, `reward-recipient-${index}`).address,
    })),
  };
}

function initialBalances(cast: Cast): readonly (readonly [address: string, amount: bigint])[] {
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
