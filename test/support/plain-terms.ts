/**
 * Which confirmations and holds count by the policies, read naively. It shares no code with the
 * projection, except the id of a deposit.
 */
import { depositIdOf } from '../../schemas/deposit-id.ts';
import type { DepositConfirmed, DepositHeld } from '../../schemas/treasury.ledger/events.ts';
import type { PlainMints } from './plain-mints.ts';

/** Whether a deposit is confirmed as the policy in force says. `before`: those of its account. */
export function isOnItsTerms(
  { deposit_id, tx_id, log_index, ...terms }: DepositConfirmed,
  before: number,
  { policies }: Pick<PlainMints, 'policies'>,
): boolean {
  const policy = policies.at(-1);
  const fee = before === 0 ? policy?.first_fee : policy?.later_fee;
  return (
    deposit_id === depositIdOf(tx_id, log_index) &&
    terms.policy_version === policy?.version &&
    terms.address_ordinal === before &&
    terms.fee === fee &&
    terms.gross > 0n &&
    terms.credit === (terms.gross > terms.fee ? terms.gross - terms.fee : 0n)
  );
}

/** Whether a hold that names a limit names the one that the credit is outside of. */
export function isRightHold(
  { reason }: DepositHeld,
  { credit, policy_version: version }: DepositConfirmed,
  { policies }: Pick<PlainMints, 'policies'>,
): boolean {
  const limits = policies.find((policy) => policy.version === version);
  if (reason === 'below_minimum')
    return limits !== undefined && (credit === 0n || credit < limits.minimum);
  if (reason !== 'over_single_cap') return true;
  return limits !== undefined && credit !== 0n && credit > limits.single_cap;
}

/** Whether a credit is minted without a person. */
export function isInside(
  { credit, policy_version: version }: DepositConfirmed,
  { policies }: Pick<PlainMints, 'policies'>,
): boolean {
  const limits = policies.find((policy) => policy.version === version);
  return (
    limits !== undefined && credit > 0n && credit >= limits.minimum && credit <= limits.single_cap
  );
}
