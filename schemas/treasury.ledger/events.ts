/**
 * Events of topic `treasury.ledger`. `sequence` is the offset that an event was written for: at any
 * other offset it has no effect. Amounts are micro-USDT, which are CLT base units; hashes are 32
 * bytes, addresses 20; times Unix milliseconds.
 */

import type { PolicyLimits } from '../deposit-policy.ts';

interface Decided {
  readonly sequence: number;
  readonly decided_at: number;
  /** SHA-256 of the last record before it that counted; the writer adds it */
  readonly previous?: Buffer;
}

/** A decision of a person. */
interface Signed extends Decided {
  readonly actor: string;
  readonly reason: string;
  /** of an operator over `decisionText`: r, s and v, 65 bytes; none on records of older writers */
  readonly signature?: Buffer;
}

/**
 * The ledger's identity. From here on its network, chain and token are fixed, signatures name it,
 * and its first settings need the signature of its mint authority.
 */
export interface LedgerPinned extends Decided {
  readonly type: 'LedgerPinned';
  /** random, 32 bytes */
  readonly ledger_id: Buffer;
  readonly network: string;
  readonly chain_id: number;
  readonly usdt_contract: Buffer;
  /** the account that mints from here on, unless the ledger has named it before */
  readonly authority: Buffer;
  /** of that account's key over `decisionText` */
  readonly signature?: Buffer;
}

export interface PolicySet extends Decided, PolicyLimits, Partial<Signed> {
  readonly sequence: number;
  readonly decided_at: number;
  readonly type: 'PolicySet';
  /** 1, 2, 3, ... */
  readonly version: number;
  readonly network: string;
}

/** The persons whose decisions count from here on. */
export interface OperatorsSet extends Signed {
  readonly type: 'OperatorsSet';
  /** 1, 2, 3, ... */
  readonly version: number;
  /** the addresses of their keys */
  readonly operators: readonly Buffer[];
  /** a credit above it needs two operators, and so does what loosens; 0: one is enough */
  readonly two_above: bigint;
}

/** The token that is custody, and the addresses to which it is swept. */
export interface CustodyPinned extends Signed {
  readonly type: 'CustodyPinned';
  /** 1, 2, 3, ... */
  readonly version: number;
  readonly usdt_contract: Buffer;
  readonly custody_addresses: readonly Buffer[];
}

/** The account that mints from here on. Its own nonces count. */
export interface AuthoritySet extends Signed {
  readonly type: 'AuthoritySet';
  /** 1, 2, 3, ... */
  readonly version: number;
  readonly authority: Buffer;
}

/** A final block of a chain that had minted before this ledger began. */
export interface BaselinePinned extends Signed {
  readonly type: 'BaselinePinned';
  readonly block_height: number;
  readonly block_hash: Buffer;
  readonly supply: bigint;
  /** the part of the supply that custody has to cover */
  readonly liability: bigint;
}

/** A Mint of the authority that this ledger did not request, and that a person accepts. */
export interface MintAcknowledged extends Signed {
  readonly type: 'MintAcknowledged';
  readonly tx_hash: Buffer;
  readonly to: Buffer;
  readonly amount: bigint;
  readonly block_height: number;
}

/** Money in custody that no deposit explains, and that a person does. */
export interface SurplusBooked extends Signed {
  readonly type: 'SurplusBooked';
  /** negative to take a booking back */
  readonly amount: bigint;
}

/** Operators stop all minting at once, or open it again. */
export interface MintingSet extends Signed {
  readonly type: 'MintingSet';
  readonly open: boolean;
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
  /** 0: the first deposit of its account */
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
  /** of the mint authority, where the policy alone does not give the reason */
  readonly signature?: Buffer;
}

export interface DepositApproved extends Signed {
  readonly type: 'DepositApproved';
  readonly deposit_id: string;
}

/** Ends a held deposit, or one whose mint in flight an operator releases. */
export interface DepositRejected extends Signed {
  readonly type: 'DepositRejected';
  readonly deposit_id: string;
}

/** Deposits that one record decides, at most. */
export const DECIDED_MAX = 1_000;

/**
 * One decision of several held deposits. It counts for all of them or for none: each waits for it,
 * and together they are of these amounts.
 */
export interface DepositsDecided extends Signed {
  readonly type: 'DepositsDecided';
  /** `approve` or `reject`; text, as the reason of a hold is */
  readonly decision: string;
  /** different ones, at most `DECIDED_MAX` */
  readonly deposit_ids: readonly string[];
  /** the sums of what arrived and of the credits */
  readonly gross: bigint;
  readonly credit: bigint;
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
  /** of the mint authority; none on records of older writers */
  readonly signature?: Buffer;
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
  /** of the mint authority; none on records of older writers */
  readonly signature?: Buffer;
}

/**
 * A mint that the ledger shows as requested or credited, and that the chain does not have: nobody
 * with the mint authority's key made its transaction, or another one took its nonce. Signed by the
 * mint authority or by operators.
 */
export interface MintVoided extends Signed {
  readonly type: 'MintVoided';
  readonly deposit_id: string;
  readonly tx_hash: Buffer;
  readonly nonce: number;
}

/** The treasury's reason to void a mint whose transaction nobody with its key has made. */
export const NOT_OF_OUR_KEY = 'the key of the mint authority did not make it';

/** A rejected deposit that a person paid back. */
export interface RefundRecorded extends Signed {
  readonly type: 'RefundRecorded';
  readonly deposit_id: string;
  readonly tron_tx_id: Buffer;
  /** left custody */
  readonly amount: bigint;
}

/** The events of one deposit. */
export type DepositEvent =
  | DepositConfirmed
  | DepositHeld
  | DepositApproved
  | DepositRejected
  | MintIntended
  | MintCredited
  | MintDead
  | MintVoided
  | RefundRecorded;

/** The events about who decides, and about money outside of deposits. */
export type GovernanceEvent =
  | LedgerPinned
  | OperatorsSet
  | CustodyPinned
  | AuthoritySet
  | BaselinePinned
  | MintAcknowledged
  | SurplusBooked
  | MintingSet;

export type TreasuryEvent = PolicySet | GovernanceEvent | DepositEvent | DepositsDecided;

const TYPES: Readonly<Record<TreasuryEvent['type'], true>> = {
  LedgerPinned: true,
  PolicySet: true,
  OperatorsSet: true,
  CustodyPinned: true,
  AuthoritySet: true,
  BaselinePinned: true,
  MintAcknowledged: true,
  SurplusBooked: true,
  MintingSet: true,
  DepositConfirmed: true,
  DepositHeld: true,
  DepositApproved: true,
  DepositRejected: true,
  DepositsDecided: true,
  MintIntended: true,
  MintCredited: true,
  MintDead: true,
  MintVoided: true,
  RefundRecorded: true,
};

/** Whether a decoded record is an event of this topic. Its Avro schema guarantees the shape. */
export function isTreasuryEvent(event: { readonly type: string }): event is TreasuryEvent {
  return Object.hasOwn(TYPES, event.type);
}

/** Whether the event is about one deposit. */
export function isDepositEvent(event: TreasuryEvent): event is DepositEvent {
  return 'deposit_id' in event;
}

/**
 * The event as those of single deposits: itself, or the decisions of a batch, in its order; empty
 * for one that is about no deposit.
 */
export function depositEventsIn(event: TreasuryEvent): readonly DepositEvent[] {
  if (isDepositEvent(event)) return [event];
  if (event.type !== 'DepositsDecided') return [];
  const { sequence, decided_at, actor, reason } = event;
  const type = event.decision === 'approve' ? 'DepositApproved' : 'DepositRejected';
  return event.deposit_ids.map((deposit_id) => ({
    type,
    sequence,
    decided_at,
    actor,
    reason,
    deposit_id,
  }));
}

/** The record's key: the deposit's id, `deposits` for several, `policy`, or `governance`. */
export function treasuryEventKey(event: TreasuryEvent): string {
  if (isDepositEvent(event)) return event.deposit_id;
  if (event.type === 'DepositsDecided') return 'deposits';
  return event.type === 'PolicySet' ? 'policy' : 'governance';
}

/** Stable across retries: sequence, type and key. */
export function treasuryEventId(event: TreasuryEvent): string {
  return `${event.sequence}:${event.type}:${treasuryEventKey(event)}`;
}
