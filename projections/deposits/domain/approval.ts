/** A person's decisions on held deposits. The returned events are to be appended. */
import type { DepositApproved, DepositRejected } from '../../../schemas/treasury.ledger/events.ts';
import type { Decision } from './confirmation.ts';
import type { Ledger } from './ledger.ts';

/** A person's decision. */
interface HumanDecision {
  readonly deposit_id: string;
  readonly actor: string;
  readonly reason: string;
  /** Unix milliseconds */
  readonly now: number;
}

export type HumanRefusal =
  | 'no_such_deposit'
  | 'not_waiting_for_a_person'
  | 'rejected_for_good'
  | 'nothing_to_mint'
  | 'over_rolling_cap';

/** Has a held deposit minted in spite of its limits. No events when it is approved already. */
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

function decided(
  ledger: Ledger,
  { deposit_id, actor, reason, now }: HumanDecision,
): Omit<DepositApproved, 'type'> {
  return { sequence: Number(ledger.end), deposit_id, actor, reason, decided_at: now };
}
