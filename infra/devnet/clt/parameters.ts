/** What is fixed for the life of one chain. */

export interface Validator {
  readonly address: string;
  readonly reward_recipient: string;
}

export interface Parameters {
  readonly chain_id: number;
  readonly is_testnet: boolean;
  /** base units a transaction; RideAcceptance is free, and so is the producer's own */
  readonly tx_fee: bigint;
  /** base units a block, out of the reward pool while it lasts: a reward never creates supply */
  readonly block_reward: bigint;
  /** basis points of each payment, off the driver's payout */
  readonly request_referrer_bps: bigint;
  readonly offer_referrer_bps: bigint;
  /** a block is final when this many stand on top of it */
  readonly finality_depth: number;
  readonly block_transactions_max: number;
  readonly mempool_transactions_max: number;
  readonly request_offers_max: number;
  readonly mint_authority: string;
  /** holds the unpaid fares of active trips; nobody has its key */
  readonly escrow: string;
  /** what block rewards are paid from; nobody has its key */
  readonly reward_pool: string;
  /** they take turns */
  readonly validators: readonly Validator[];
}

export const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
export const ZERO_HASH = `0x${'0'.repeat(64)}`;
