/** What a call does, decided before anything is changed. */
import type { Parameters } from './parameters.ts';
import type { View, Write } from './state.ts';

export type EffectKind =
  | 'transfer_in'
  | 'transfer_out'
  | 'mint'
  | 'burn'
  | 'ride_escrow'
  | 'ride_pay'
  | 'ride_refund'
  | 'tx_fee_paid'
  | 'tx_fee_earned'
  | 'block_reward'
  | 'referrer_fee';

export interface Effect {
  readonly address: string;
  readonly kind: EffectKind;
  /** base units, signed, never zero */
  readonly delta: bigint;
  readonly counterparty: string | null;
}

/** What the call wants to know beyond its arguments. */
export interface CallContext {
  readonly view: View;
  readonly parameters: Parameters;
  /** who signed */
  readonly sender: string;
  /** of the transaction, under which what it opens is known */
  readonly hash: string;
}

export interface CallOutcome {
  readonly to: string;
  readonly amount: bigint;
  /** base units that the call takes from the sender, without the fee */
  readonly debit: bigint;
  readonly effects: readonly Effect[];
  readonly writes: readonly Write[];
  readonly request_referrer?: string | null;
  readonly offer_referrer?: string | null;
  readonly request_referrer_fee?: bigint;
  readonly offer_referrer_fee?: bigint;
}

export type CallRefusalCode =
  | 'amount_is_zero'
  | 'supply_overflow'
  | 'not_allowed'
  | 'request_not_open'
  | 'offer_not_open'
  | 'trip_not_active'
  | 'too_many_offers';

export type Refused<Code extends string> = { readonly refused: Code; readonly message: string };

export function refused<Code extends string>(code: Code, message: string): Refused<Code> {
  return { refused: code, message };
}
