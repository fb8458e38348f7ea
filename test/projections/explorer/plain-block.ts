/** Blocks of a chain as the oracles of the explorer have them. */

export interface PlainTransaction {
  readonly hash: Buffer;
  readonly block_height: number;
  readonly tx_index: number;
  readonly from: Buffer;
  readonly to: Buffer;
  readonly nonce: number;
  readonly amount: bigint;
  readonly fee: bigint;
  readonly type: string;
  /** Unix milliseconds */
  readonly timestamp: number;
  readonly referrer: Buffer | null;
  readonly request_referrer: Buffer | null;
  readonly offer_referrer: Buffer | null;
  readonly request_referrer_fee: bigint;
  readonly offer_referrer_fee: bigint;
}

/** A movement of a balance, as recorded by the chain. */
export interface PlainEffect {
  readonly address: Buffer;
  readonly kind: string;
  readonly delta: bigint;
  /** null: of the block itself */
  readonly tx_index: number | null;
  readonly counterparty: Buffer | null;
}

export interface PlainBlock {
  readonly height: number;
  readonly hash: Buffer;
  readonly parent_hash: Buffer;
  readonly producer: Buffer;
  readonly reward_recipient: Buffer;
  readonly block_reward: bigint;
  readonly total_fees: bigint;
  /** Unix milliseconds */
  readonly timestamp: number;
  readonly transactions: readonly PlainTransaction[];
  readonly effects: readonly PlainEffect[];
}
