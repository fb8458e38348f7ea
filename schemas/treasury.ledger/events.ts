/**
 * The events of topic `treasury.ledger`, as they stand in its Avro schemas beside this file. `sequence` is the offset that an event was written for: it counts only
 * where it stands at just that offset. Amounts are micro-USDT, which is CLT base units; hashes 32 bytes, addresses 20; times Unix milliseconds.
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
  /** the smallest credit that is minted without a person */
  readonly minimum: bigint;
  /** the largest credit that is minted without a person */
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
  /** what arrived */
  readonly gross: bigint;
  /** the network fee; it may be more than what arrived */
  readonly fee: bigint;
  /** gross - fee, at least 0 */
  readonly credit: bigint;
  readonly policy_version: number;
  /** 0: the first deposit of its address */
  readonly address_ordinal: number;
  readonly block_number: number;
  readonly block_timestamp: number;
  /** where the transfer stands in `tron.transfers` */
  readonly transfer_partition: number;
  readonly transfer_offset: number;
}

export interface DepositHeld extends Decided {
  readonly type: 'DepositHeld';
  readonly deposit_id: string;
  /** a `HoldReason`; text in the log, so that another reason needs no other schema */
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

/** What happens to one deposit. */
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

/** Whether a decoded record is one of this topic's events: its schema has given it the shape that its type says. */
export function isTreasuryEvent(event: { readonly type: string }): event is TreasuryEvent {
  return Object.hasOwn(TYPES, event.type);
}

/** The record's key: the deposit's id, or `policy`. */
export function treasuryEventKey(event: TreasuryEvent): string {
  return event.type === 'PolicySet' ? 'policy' : event.deposit_id;
}

/** The same fact has the same id in every retry: the place that it was written for, what happened, and to what. */
export function treasuryEventId(event: TreasuryEvent): string {
  return `${event.sequence}:${event.type}:${treasuryEventKey(event)}`;
}
