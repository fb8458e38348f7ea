/** The constants of one chain. */

export interface Validator {
  readonly address: string;
  readonly reward_recipient: string;
}

export interface Parameters {
  readonly chain_id: number;
  readonly is_testnet: boolean;
  /** base units per transaction; RideAcceptance and the producer's own are free */
  readonly tx_fee: bigint;
  /** base units per block, paid from the reward pool while it lasts */
  readonly block_reward: bigint;
  /** basis points of each payment, deducted from the driver's payout */
  readonly request_referrer_bps: bigint;
  readonly offer_referrer_bps: bigint;
  /** a block is final when this many blocks are above it */
  readonly finality_depth: number;
  readonly block_transactions_max: number;
  readonly mempool_transactions_max: number;
  readonly request_offers_max: number;
  readonly mint_authority: string;
  /** holds the unpaid fares of active trips; nobody has its key */
  readonly escrow: string;
  /** pays the block rewards; nobody has its key */
  readonly reward_pool: string;
  /** in turn, by height */
  readonly validators: readonly Validator[];
}

export const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
export const ZERO_HASH = `0x${'0'.repeat(64)}`;
