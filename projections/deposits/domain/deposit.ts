/**
 * The life of one deposit. A transfer is confirmed; its fee and credit are fixed from then on. A
 * credit outside the limits is held for a person: approved, the deposit is minted like any other;
 * rejected, it stays held for good. A deposit to be minted waits for room under the rolling cap, is
 * intended under one nonce, and is credited once that mint is final. A dead mint returns the
 * deposit to its position in the queue; a mint that failed on the chain is held for a person. A
 * mint in flight that a person releases is given up with its deposit, which is rejected: the
 * transaction may still be carried out, so nobody mints that deposit again. A mint that turns out
 * not to be on the chain is voided, and its deposit waits again, credited or not. A rejected
 * deposit may be paid back, once. A large credit may need the approval of two operators. A person
 * may decide several held deposits at once: all of them, or none.
 *
 * Events that do not fit a state have no effect.
 */
import { holdReasonOf, type PolicyLimits } from '../../../schemas/deposit-policy.ts';
import {
  depositEventsIn,
  type DepositConfirmed,
  type DepositEvent,
  type DepositHeld,
  type DepositsDecided,
  type MintIntended,
  type RefundRecorded,
} from '../../../schemas/treasury.ledger/events.ts';

export type Deposit = Absent | Confirmed | NeedsManual | MintRequested | Credited;

export interface Absent {
  readonly status: 'absent';
}

/** Minting is not requested yet. */
export interface Confirmed {
  readonly status: 'confirmed';
  readonly terms: Terms;
  /** by a person, in spite of the limits */
  readonly approved: boolean;
}

export interface NeedsManual {
  readonly status: 'needs_manual';
  readonly terms: Terms;
  readonly reason: string;
  /** for good */
  readonly rejected: boolean;
  /** operators who approved it, where one is not enough: addresses as `bytesKey` gives them */
  readonly approved_by: readonly string[];
  /** what a person paid back after a rejection, micro-USDT */
  readonly refunded: bigint;
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

/** Fixed when the deposit is confirmed. Amounts are micro-USDT. */
export interface Terms {
  /** the owner */
  readonly clt_address: Buffer;
  readonly gross: bigint;
  readonly fee: bigint;
  readonly credit: bigint;
  readonly policy_version: number;
}

export interface Mint {
  /** of its MintIntended */
  readonly sequence: number;
  readonly nonce: number;
  readonly tx_hash: Buffer;
}

export const ABSENT: Absent = { status: 'absent' };

/** Addresses are as `bytesKey` gives them. */
export interface Approving {
  readonly operator: string;
  /** operators whose approvals count */
  readonly in_force: readonly string[];
  /** approvals */
  readonly needed: number;
}

/** The approval that an event gives to a deposit. */
export type Approvals = (deposit: Deposit) => Approving;

const ONE_PERSON: Approving = { operator: '', in_force: [], needed: 1 };

/** The state after an event; the same object where the event does not fit. Never throws. */
export function evolve(deposit: Deposit, event: DepositEvent, approving = ONE_PERSON): Deposit {
  switch (event.type) {
    case 'DepositConfirmed':
      return deposit.status === 'absent'
        ? { status: 'confirmed', terms: termsOf(event), approved: false }
        : deposit;
    case 'DepositHeld':
      return held(deposit, event);
    case 'DepositApproved':
      return approvedState(deposit, approving);
    case 'DepositRejected':
      return rejectedState(deposit);
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
    case 'MintVoided':
      if (!('mint' in deposit) || !event.tx_hash.equals(deposit.mint.tx_hash)) return deposit;
      return {
        status: 'confirmed',
        terms: deposit.terms,
        approved: deposit.status === 'mint_requested' && deposit.approved,
      };
    case 'RefundRecorded':
      return refundedState(deposit, event);
  }
}

/**
 * Whether a decision of several deposits counts: each of them waits for it, and together they are
 * of the amounts that were signed. Otherwise it has no effect on any of them.
 */
export function isDecidable(
  event: DepositsDecided,
  depositOf: (id: string) => Deposit,
  approvals: Approvals,
): boolean {
  const sums = { gross: 0n, credit: 0n };
  for (const each of depositEventsIn(event)) {
    const deposit = depositOf(each.deposit_id);
    // a mint in flight is released alone
    if (deposit.status !== 'needs_manual') return false;
    if (evolve(deposit, each, approvals(deposit)) === deposit) return false;
    sums.gross += deposit.terms.gross;
    sums.credit += deposit.terms.credit;
  }
  return sums.gross === event.gross && sums.credit === event.credit;
}

export interface Circumstances {
  /** of the policy that the deposit was confirmed under */
  readonly limits: PolicyLimits;
  /** room under the rolling cap at this moment, micro-USDT */
  readonly cap_left: bigint;
}

/** `decide`: to be confirmed or held. `watch_mint`: broadcast until a final block concludes it. */
export type Phase = 'decide' | 'mint' | 'await_cap' | 'await_human' | 'watch_mint' | 'nothing';

/** The one next step. */
export function phase(deposit: Deposit, { limits, cap_left: capLeft }: Circumstances): Phase {
  switch (deposit.status) {
    case 'absent':
      return 'decide';
    case 'confirmed':
      // between the two records of a batch that holds the deposit
      if (!deposit.approved && holdReasonOf(limits, deposit.terms.credit) !== undefined)
        return 'decide';
      return deposit.terms.credit <= capLeft ? 'mint' : 'await_cap';
    case 'needs_manual':
      return deposit.rejected ? 'nothing' : 'await_human';
    case 'mint_requested':
      return 'watch_mint';
    case 'credited':
      return 'nothing';
  }
}

/**
 * Held by its limits before a person decides, because its mint failed, or, also after an approval,
 * because it is not proven: only a person can end that.
 */
function held(deposit: Deposit, event: DepositHeld): Deposit {
  const isDue =
    event.reason === 'mint_failed'
      ? deposit.status === 'mint_requested'
      : deposit.status === 'confirmed' && (!deposit.approved || event.reason === 'unproven');
  if (!isDue || deposit.status === 'absent') return deposit;
  return { status: 'needs_manual', terms: deposit.terms, reason: event.reason, ...UNDECIDED };
}

const UNDECIDED = { rejected: false, approved_by: [], refunded: 0n } as const;

/** A mint in flight is released. */
function rejectedState(deposit: Deposit): Deposit {
  if (isAwaited(deposit)) return { ...deposit, rejected: true };
  if (deposit.status !== 'mint_requested') return deposit;
  const { terms } = deposit;
  return { status: 'needs_manual', terms, reason: 'mint_failed', ...UNDECIDED, rejected: true };
}

/** The approval of an operator who was replaced since does not count. */
function approvedState(deposit: Deposit, { operator, in_force, needed }: Approving): Deposit {
  if (!isAwaited(deposit) || deposit.terms.credit === 0n) return deposit;
  const { terms } = deposit;
  const before = deposit.approved_by.filter((each) => in_force.includes(each));
  if (before.includes(operator)) return deposit;
  return before.length + 1 < needed
    ? { ...deposit, approved_by: [...before, operator] }
    : { status: 'confirmed', terms, approved: true };
}

function refundedState(deposit: Deposit, { amount }: RefundRecorded): Deposit {
  if (deposit.status !== 'needs_manual' || !deposit.rejected || deposit.refunded > 0n)
    return deposit;
  return amount > 0n && amount <= deposit.terms.gross ? { ...deposit, refunded: amount } : deposit;
}

/** An intent of another amount or to another account does not fit. */
function intended(
  deposit: Deposit,
  { sequence, to, amount, nonce, tx_hash }: MintIntended,
): Deposit {
  if (deposit.status !== 'confirmed') return deposit;
  const { terms, approved } = deposit;
  if (amount !== terms.credit || amount === 0n || !to.equals(terms.clt_address)) return deposit;
  return { status: 'mint_requested', terms, approved, mint: { sequence, nonce, tx_hash } };
}

function isAwaited(deposit: Deposit): deposit is NeedsManual {
  return deposit.status === 'needs_manual' && !deposit.rejected;
}

function termsOf({ clt_address, gross, fee, credit, policy_version }: DepositConfirmed): Terms {
  return { clt_address, gross, fee, credit, policy_version };
}
