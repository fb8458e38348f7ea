/**
 * Events of topic `treasury.ledger`. `sequence` is the offset that an event was written for: at any
 * other offset it has no effect. Amounts are micro-USDT, which are CLT base units; hashes are 32
 * bytes, addresses 20; times Unix milliseconds.
 */

interface Decided {
  readonly sequence: number;
  readonly decided_at: number;
}

/** The limits of deposits, in micro-USDT. */
export interface PolicyLimits {
  /** of an address' first deposit */
  readonly first_fee: bigint;
  readonly later_fee: bigint;
  /** the smallest credit that is minted without approval */
  readonly minimum: bigint;
  /** the largest credit that is minted without approval */
  readonly single_cap: bigint;
  /** of all mints within 24 hours */
  readonly rolling_cap: bigint;
}

export interface PolicySet extends Decided, PolicyLimits {
  readonly type: 'PolicySet';
  /** 1, 2, 3, ... */
  readonly version: number;
  readonly network: string;
}

export interface DepositConfirmed extends Decided {
  readonly type: 'DepositConfirmed';
  readonly deposit_id: string;
  readonly tx_id: Buffer;
  readonly log_index: number;
  readonly deposit_address: Buffer;
  /** the owner */
  readonly clt_address: Buffer;
  /** the transferred amount */
  readonly gross: bigint;
  /** the network fee, which may exceed `gross` */
  readonly fee: bigint;
  /** gross - fee, at least 0 */
  readonly credit: bigint;
  readonly policy_version: number;
  /** 0: the first deposit of its address */
  readonly address_ordinal: number;
  readonly block_number: number;
  readonly block_timestamp: number;
  /** the transfer's position in `tron.transfers` */
  readonly transfer_partition: number;
  readonly transfer_offset: number;
}

export interface DepositHeld extends Decided {
  readonly type: 'DepositHeld';
  readonly deposit_id: string;
  /** a `HoldReason`; text, so that a new reason needs no new schema */
  readonly reason: string;
}

export interface DepositApproved extends Decided {
  readonly type: 'DepositApproved';
  readonly deposit_id: string;
  readonly actor: string;
  readonly reason: string;
}

export interface DepositRejected extends Decided {
  readonly type: 'DepositRejected';
  readonly deposit_id: string;
  readonly actor: string;
  readonly reason: string;
}

export interface MintIntended extends Decided {
  readonly type: 'MintIntended';
  readonly deposit_id: string;
  readonly nonce: number;
  readonly to: Buffer;
  readonly amount: bigint;
  readonly fee: bigint;
  readonly policy_version: number;
  readonly tx_hash: Buffer;
}

export interface MintCredited extends Decided {
  readonly type: 'MintCredited';
  readonly deposit_id: string;
  readonly tx_hash: Buffer;
  readonly block_height: number;
  readonly block_hash: Buffer;
}

export interface MintDead extends Decided {
  readonly type: 'MintDead';
  readonly deposit_id: string;
  readonly tx_hash: Buffer;
  readonly nonce: number;
  readonly other_tx_hash: Buffer;
  readonly block_height: number;
}

/** The events of one deposit. */
export type DepositEvent =
  | DepositConfirmed
  | DepositHeld
  | DepositApproved
  | DepositRejected
  | MintIntended
  | MintCredited
  | MintDead;

export type TreasuryEvent = PolicySet | DepositEvent;

const TYPES: Readonly<Record<TreasuryEvent['type'], true>> = {
  PolicySet: true,
  DepositConfirmed: true,
  DepositHeld: true,
  DepositApproved: true,
  DepositRejected: true,
  MintIntended: true,
  MintCredited: true,
  MintDead: true,
};

/** Whether a decoded record is an event of this topic. Its Avro schema guarantees the shape. */
export function isTreasuryEvent(event: { readonly type: string }): event is TreasuryEvent {
  return Object.hasOwn(TYPES, event.type);
}

/** The record's key: the deposit's id, or `policy`. */
export function treasuryEventKey(event: TreasuryEvent): string {
  return event.type === 'PolicySet' ? 'policy' : event.deposit_id;
}

/** Stable across retries: sequence, type and key. */
export function treasuryEventId(event: TreasuryEvent): string {
  return `${event.sequence}:${event.type}:${treasuryEventKey(event)}`;
}
