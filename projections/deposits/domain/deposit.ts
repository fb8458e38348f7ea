/**
 * The life of one deposit. A transfer is confirmed, with what it costs and credits fixed for ever. Where its credit is outside the limits a person decides:
 * approved, it is minted like any other; rejected, it stays for good. What may be minted waits for room under the rolling cap, is intended under one nonce, and is
 * credited once that mint is final. A mint that can never happen puts it back to where it waited; one that the chain took and did not carry out is for a person again.
 *
 * Events that do not fit a state have no effect.
 */
import { holdReasonOf } from '../../../schemas/deposit-policy.ts';
import type {
  DepositConfirmed,
  DepositEvent,
  DepositHeld,
  MintIntended,
  PolicyLimits,
} from '../../../schemas/treasury.ledger/events.ts';

export type Deposit = Absent | Confirmed | NeedsManual | MintRequested | Credited;

export interface Absent {
  readonly status: 'absent';
}

/** Minting is not requested yet. An approved one is also shown as this while it waits: a person has acted, nothing else has happened. */
export interface Confirmed {
  readonly status: 'confirmed';
  readonly terms: Terms;
  /** a person has decided that it is minted, whatever the limits say */
  readonly approved: boolean;
}

export interface NeedsManual {
  readonly status: 'needs_manual';
  readonly terms: Terms;
  readonly reason: string;
  /** for good */
  readonly rejected: boolean;
}

export interface MintRequested {
  readonly status: 'mint_requested';
  readonly terms: Terms;
  readonly approved: boolean;
  readonly mint: Mint;
}

export interface Credited {
  readonly status: 'credited';
  readonly terms: Terms;
  readonly mint: Mint;
}

/** What was fixed when the deposit was confirmed. Amounts are micro-USDT. */
export interface Terms {
  /** the owner */
  readonly clt_address: Buffer;
  readonly gross: bigint;
  readonly fee: bigint;
  readonly credit: bigint;
  readonly policy_version: number;
}

export interface Mint {
  readonly nonce: number;
  readonly tx_hash: Buffer;
}

export const ABSENT: Absent = { status: 'absent' };

/** The one step of the fold: the state afterwards, which is the same object where the event does not fit. Never throws. */
export function evolve(deposit: Deposit, event: DepositEvent): Deposit {
  switch (event.type) {
    case 'DepositConfirmed':
      return deposit.status === 'absent'
        ? { status: 'confirmed', terms: termsOf(event), approved: false }
        : deposit;
    case 'DepositHeld':
      return held(deposit, event);
    case 'DepositApproved':
      return isAwaited(deposit) && deposit.terms.credit > 0n
        ? { status: 'confirmed', terms: deposit.terms, approved: true }
        : deposit;
    case 'DepositRejected':
      return isAwaited(deposit) ? { ...deposit, rejected: true } : deposit;
    case 'MintIntended':
      return intended(deposit, event);
    case 'MintCredited':
      if (deposit.status !== 'mint_requested' || !event.tx_hash.equals(deposit.mint.tx_hash))
        return deposit;
      return { status: 'credited', terms: deposit.terms, mint: deposit.mint };
    case 'MintDead':
      if (deposit.status !== 'mint_requested' || !event.tx_hash.equals(deposit.mint.tx_hash))
        return deposit;
      return { status: 'confirmed', terms: deposit.terms, approved: deposit.approved };
  }
}

/** What the next thing to do depends on beside the deposit. */
export interface Circumstances {
  /** those of the policy that it was confirmed under */
  readonly limits: PolicyLimits;
  /** what the rolling cap leaves at this moment, micro-USDT */
  readonly cap_left: bigint;
}

/** decide: it is confirmed, or held, next. watch_mint: its mint is sent, as often as need be, until a final block says what became of it. */
export type Phase = 'decide' | 'mint' | 'await_cap' | 'await_human' | 'watch_mint' | 'nothing';

/** The one next thing to do. */
export function phase(deposit: Deposit, { limits, cap_left: left }: Circumstances): Phase {
  switch (deposit.status) {
    case 'absent':
      return 'decide';
    case 'confirmed':
      // as it stands between the two records of a batch that holds it
      if (!deposit.approved && holdReasonOf(limits, deposit.terms.credit) !== undefined)
        return 'decide';
      return deposit.terms.credit <= left ? 'mint' : 'await_cap';
    case 'needs_manual':
      return deposit.rejected ? 'nothing' : 'await_human';
    case 'mint_requested':
      return 'watch_mint';
    case 'credited':
      return 'nothing';
  }
}

/** By the policy when it was confirmed and nobody has decided yet; as failed when its mint was. */
function held(deposit: Deposit, event: DepositHeld): Deposit {
  const isDue =
    event.reason === 'mint_failed'
      ? deposit.status === 'mint_requested'
      : deposit.status === 'confirmed' && !deposit.approved;
  if (!isDue || deposit.status === 'absent') return deposit;
  return { status: 'needs_manual', terms: deposit.terms, reason: event.reason, rejected: false };
}

/** An intent of another amount, or to somebody else, is no intent of this deposit. */
function intended(deposit: Deposit, { to, amount, nonce, tx_hash }: MintIntended): Deposit {
  if (deposit.status !== 'confirmed') return deposit;
  const { terms, approved } = deposit;
  if (amount !== terms.credit || amount === 0n || !to.equals(terms.clt_address)) return deposit;
  return { status: 'mint_requested', terms, approved, mint: { nonce, tx_hash } };
}

function isAwaited(deposit: Deposit): deposit is NeedsManual {
  return deposit.status === 'needs_manual' && !deposit.rejected;
}

function termsOf({ clt_address, gross, fee, credit, policy_version }: DepositConfirmed): Terms {
  return { clt_address, gross, fee, credit, policy_version };
}
