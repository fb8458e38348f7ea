/** A person's decisions on held deposits. The returned events are to be appended. */
import { bytesKey } from '../../../schemas/address.ts';
import type {
  DepositApproved,
  DepositRejected,
  DepositsDecided,
  MintVoided,
  RefundRecorded,
} from '../../../schemas/treasury.ledger/events.ts';
import type { Decision } from './confirmation.ts';
import type { Ledger } from './ledger.ts';

/** Who decides, why and when. */
export interface Person {
  readonly actor: string;
  readonly reason: string;
  /** Unix milliseconds */
  readonly now: number;
  /** the address of the key that signs, if any: an operator approves a deposit once */
  readonly operator?: Buffer | undefined;
}

interface HumanDecision extends Person {
  readonly deposit_id: string;
}

export type HumanRefusal =
  | 'no_such_deposit'
  | 'no_mint_to_void'
  | 'not_waiting_for_a_person'
  | 'no_mint_in_flight'
  | 'rejected_for_good'
  | 'nothing_to_mint'
  | 'over_rolling_cap';

/**
 * Has a held deposit minted in spite of its limits. No events when it is approved already, or by
 * this operator.
 */
export function approve(
  ledger: Ledger,
  decision: HumanDecision,
): Decision<HumanRefusal, DepositApproved> {
  const deposit = ledger.deposit(decision.deposit_id);
  switch (deposit.status) {
    case 'absent':
      return { refused: 'no_such_deposit' };
    case 'confirmed':
    case 'mint_requested':
      return deposit.approved ? { events: [] } : { refused: 'not_waiting_for_a_person' };
    case 'credited':
      return { refused: 'not_waiting_for_a_person' };
    case 'needs_manual':
  }
  if (deposit.rejected) return { refused: 'rejected_for_good' };
  if (deposit.terms.credit === 0n) return { refused: 'nothing_to_mint' };
  if (deposit.terms.credit > (ledger.policy?.rolling_cap ?? 0n))
    return { refused: 'over_rolling_cap' };
  const { operator } = decision;
  if (operator !== undefined && deposit.approved_by.includes(bytesKey(operator)))
    return { events: [] };
  return { events: [{ type: 'DepositApproved', ...decided(ledger, decision) }] };
}

/** Leaves a held deposit as it is, for good. No events when it is rejected already. */
export function reject(
  ledger: Ledger,
  decision: HumanDecision,
): Decision<HumanRefusal, DepositRejected> {
  const deposit = ledger.deposit(decision.deposit_id);
  if (deposit.status === 'absent') return { refused: 'no_such_deposit' };
  if (deposit.status !== 'needs_manual') return { refused: 'not_waiting_for_a_person' };
  if (deposit.rejected) return { events: [] };
  return { events: [{ type: 'DepositRejected', ...decided(ledger, decision) }] };
}

export type Verb = 'approve' | 'reject';
type OfDeposit = DepositApproved | DepositRejected;

/** Why a deposit has no part in a decision of several. */
export type LeftOut = HumanRefusal | 'decided_before';

export type DecidedTogether = Decision<HumanRefusal, OfDeposit | DepositsDecided> & {
  /** by id */
  readonly left_out: ReadonlyMap<string, LeftOut>;
};

/**
 * One decision of these deposits, which one signature covers; of a single one, the event of one.
 * Those that it would not change are left out. No events when all are decided already; refused when
 * it would change none for another reason.
 */
export function decideTogether(
  verb: Verb,
  ledger: Ledger,
  { deposit_ids: depositIds, ...person }: Person & { readonly deposit_ids: readonly string[] },
): DecidedTogether {
  const left_out = new Map<string, LeftOut>();
  const events: OfDeposit[] = [];
  let refused: HumanRefusal | undefined;
  const sums = { gross: 0n, credit: 0n };
  for (const deposit_id of new Set(depositIds)) {
    const made = (verb === 'approve' ? approve : reject)(ledger, { deposit_id, ...person });
    if ('refused' in made) refused ??= made.refused;
    const [event] = 'events' in made ? made.events : [];
    const deposit = ledger.deposit(deposit_id);
    if (event === undefined || deposit.status === 'absent') {
      left_out.set(deposit_id, 'refused' in made ? made.refused : 'decided_before');
      continue;
    }
    events.push(event);
    sums.gross += deposit.terms.gross;
    sums.credit += deposit.terms.credit;
  }
  if (events.length === 0 && refused !== undefined) return { refused, left_out };
  if (events.length < 2) return { events, left_out };
  const deposit_ids = events.map(({ deposit_id }) => deposit_id);
  const by = decidedBy(ledger, person);
  const together = {
    type: 'DepositsDecided',
    ...by,
    decision: verb,
    deposit_ids,
    ...sums,
  } as const;
  return { events: [together], left_out };
}

/**
 * Gives up a mint in flight that no block will take, and with it the deposit: for good, since the
 * transaction may still be carried out. No events when it is released already.
 */
export function release(
  ledger: Ledger,
  decision: HumanDecision,
): Decision<HumanRefusal, DepositRejected> {
  const { deposit_id: depositId } = decision;
  const deposit = ledger.deposit(depositId);
  if (deposit.status === 'absent') return { refused: 'no_such_deposit' };
  if (deposit.status === 'needs_manual' && deposit.rejected && ledger.givenUp(depositId).length > 0)
    return { events: [] };
  if (deposit.status !== 'mint_requested') return { refused: 'no_mint_in_flight' };
  return { events: [{ type: 'DepositRejected', ...decided(ledger, decision) }] };
}

/**
 * Voids the newest mint of a deposit, which the chain does not have: the deposit waits to be minted
 * again. No events when it waits again already.
 */
export function voidMint(
  ledger: Ledger,
  decision: HumanDecision,
): Decision<HumanRefusal, MintVoided> {
  const deposit = ledger.deposit(decision.deposit_id);
  if (deposit.status === 'absent') return { refused: 'no_such_deposit' };
  if (!('mint' in deposit)) {
    const isVoided =
      deposit.status === 'confirmed' && ledger.givenUp(decision.deposit_id).length > 0;
    return isVoided ? { events: [] } : { refused: 'no_mint_to_void' };
  }
  const { tx_hash, nonce } = deposit.mint;
  return { events: [{ type: 'MintVoided', ...decided(ledger, decision), tx_hash, nonce }] };
}

export type RefundRefusal =
  | 'no_such_deposit'
  | 'no_operators'
  | 'not_rejected'
  | 'refunded_before'
  | 'refund_used'
  | 'not_within_gross';

/**
 * Records that a rejected deposit was paid back. No events when the same amount is recorded
 * already.
 */
export function recordRefund(
  ledger: Ledger,
  decision: HumanDecision & Pick<RefundRecorded, 'tron_tx_id' | 'amount'>,
): Decision<RefundRefusal, RefundRecorded> {
  const { deposit_id, tron_tx_id, amount } = decision;
  const deposit = ledger.deposit(deposit_id);
  if (deposit.status === 'absent') return { refused: 'no_such_deposit' };
  if (ledger.governance.operators === undefined) return { refused: 'no_operators' };
  if (deposit.status !== 'needs_manual' || !deposit.rejected) return { refused: 'not_rejected' };
  if (deposit.refunded > 0n)
    return deposit.refunded === amount ? { events: [] } : { refused: 'refunded_before' };
  if (amount <= 0n || amount > deposit.terms.gross) return { refused: 'not_within_gross' };
  if (ledger.refundedBy(tron_tx_id) !== undefined) return { refused: 'refund_used' };
  return { events: [{ type: 'RefundRecorded', ...decided(ledger, decision), tron_tx_id, amount }] };
}

function decided(
  ledger: Ledger,
  { deposit_id, ...person }: HumanDecision,
): Omit<DepositApproved, 'type'> {
  return { deposit_id, ...decidedBy(ledger, person) };
}

/** The fields of every decision of a person, as the next record of the ledger. */
export function decidedBy(
  ledger: Ledger,
  { actor, reason, now }: Person,
): Pick<DepositApproved, 'sequence' | 'actor' | 'reason' | 'decided_at'> {
  return { sequence: Number(ledger.end), actor, reason, decided_at: now };
}
