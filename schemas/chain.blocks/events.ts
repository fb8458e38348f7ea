/** Events of topic `chain.blocks`. Hashes are 32 bytes, addresses 20, amounts CLT base units. */

export interface BlockTransaction {
  readonly hash: Buffer;
  readonly index: number;
  readonly from: Buffer;
  readonly to: Buffer;
  readonly nonce: number;
  readonly amount: bigint;
  readonly function_call_type: string;
  readonly arguments: Readonly<Record<string, string | null>>;
  readonly referrer: Buffer | null;
  readonly request_referrer: Buffer | null;
  readonly offer_referrer: Buffer | null;
  readonly request_referrer_fee: bigint;
  readonly offer_referrer_fee: bigint;
  readonly raw: Buffer;
}

export interface BalanceEffect {
  readonly address: Buffer;
  readonly kind: string;
  readonly delta: bigint;
  /** null: an effect of the block itself */
  readonly tx_index: number | null;
  readonly counterparty: Buffer | null;
}

export interface BlockAppended {
  readonly type: 'BlockAppended';
  readonly sequence: number;
  readonly height: number;
  readonly hash: Buffer;
  readonly parent_hash: Buffer;
  /** Unix milliseconds */
  readonly timestamp: number;
  readonly producer: Buffer;
  readonly reward_recipient: Buffer;
  readonly block_reward: bigint;
  readonly transactions: readonly BlockTransaction[];
  readonly balance_effects: readonly BalanceEffect[];
}

export interface BlockReverted {
  readonly type: 'BlockReverted';
  readonly sequence: number;
  readonly height: number;
  readonly hash: Buffer;
  readonly parent_hash: Buffer;
}

export interface BlocksFinalized {
  readonly type: 'BlocksFinalized';
  readonly sequence: number;
  readonly height: number;
  readonly hash: Buffer;
}

export type ChainEvent = BlockAppended | BlockReverted | BlocksFinalized;

/** `ChainEvent` without some fields of its transactions. */
export type ChainEventWithout<Field extends keyof BlockTransaction> =
  BlockAppendedWithout<Field> | BlockReverted | BlocksFinalized;

export interface BlockAppendedWithout<Field extends keyof BlockTransaction> extends Omit<
  BlockAppended,
  'transactions'
> {
  readonly transactions: readonly Omit<BlockTransaction, Field>[];
}

/** `ChainEvent` without its transactions' fields. */
export type ChainHeaderEvent = ChainEventWithout<keyof BlockTransaction>;

const TYPES: Readonly<Record<ChainEvent['type'], true>> = {
  BlockAppended: true,
  BlockReverted: true,
  BlocksFinalized: true,
};

/** Whether a decoded record is an event of this topic. Its Avro schema guarantees the shape. */
export function isChainEvent(event: { readonly type: string }): event is ChainEvent {
  return Object.hasOwn(TYPES, event.type);
}

/** Stable across retries: sequence, type and block. */
export function chainEventId(event: ChainEvent): string {
  return `${event.sequence}:${event.type}:${event.hash.toString('hex')}`;
}
