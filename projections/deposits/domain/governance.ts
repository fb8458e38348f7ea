/**
 * Who decides, and money outside of deposits: operators, custody, mint authority, baseline,
 * acknowledged Mints, booked surpluses. The first list of operators, the first custody and the
 * first authority are the settings of the treasury, which refuses a ledger that has others.
 *
 * From the first list of operators on, the decision of a person counts only with the signature of
 * an operator in force, over the decision and its position in the ledger. Before, the decisions
 * that older writers made without signatures count.
 */
import { bytesKey } from '../../../schemas/address.ts';
import { signerOf, type HumanDecision } from '../../../schemas/operator-signature.ts';
import type {
  AuthoritySet,
  BaselinePinned,
  CustodyPinned,
  DepositEvent,
  GovernanceEvent,
  MintAcknowledged,
  OperatorsSet,
  TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import type { Approving, Deposit } from './deposit.ts';

/** Why the decision of a person has no effect. */
export type SignatureRefusal = 'unsigned' | 'foreign_signature';

/** The facts of the rest of the ledger that governance depends on. */
export interface LedgerFacts {
  /** whether a mint is in flight */
  readonly isMinting: boolean;
  /** whether any mint was ever requested */
  readonly hasMinted: boolean;
  /** whether a mint that is in flight or credited has this transaction */
  isOurs(txHash: Buffer): boolean;
}

/** Why a decision does not fit the ledger. */
export type Misfit =
  | 'not_the_next_version'
  | 'too_few_operators'
  | 'repeated_address'
  | 'negative_amount'
  | 'mint_in_flight'
  | 'baseline_is_pinned'
  | 'minted_before'
  | 'liability_above_supply'
  | 'nothing_minted'
  | 'acknowledged_before'
  | 'mint_of_a_deposit'
  | 'nothing_to_book'
  | 'more_than_was_booked';

export type Operators = Pick<OperatorsSet, 'version' | 'operators' | 'two_above'>;
export type Authority = Pick<AuthoritySet, 'version' | 'authority'>;
type Acknowledged = Pick<MintAcknowledged, 'tx_hash' | 'to' | 'amount' | 'block_height'>;

export class Governance {
  #operators: Operators | undefined;
  #custody: CustodyPinned | undefined;
  #authority: Authority | undefined;
  readonly #authorities: Buffer[] = [];
  #baseline: BaselinePinned | undefined;
  #surplus = 0n;
  readonly #acknowledged = new Map<string, Acknowledged>();
  readonly #refused: Record<SignatureRefusal, number> = { unsigned: 0, foreign_signature: 0 };

  /** Begins with what was in force where the caller's fold continues. */
  constructor(operators?: Operators, authority?: Authority) {
    this.#operators = operators;
    this.#authority = authority;
  }

  /** In force; undefined before the first. */
  get operators(): Operators | undefined {
    return this.#operators;
  }

  /** In force; undefined before the first. */
  get custody(): CustodyPinned | undefined {
    return this.#custody;
  }

  /** In force; undefined before the first. */
  get authority(): Authority | undefined {
    return this.#authority;
  }

  /** Every one that was ever in force, in order. */
  get authorities(): readonly Buffer[] {
    return this.#authorities;
  }

  get baseline(): BaselinePinned | undefined {
    return this.#baseline;
  }

  /** The sum of booked surpluses, micro-USDT. */
  get bookedSurplus(): bigint {
    return this.#surplus;
  }

  /** Acknowledged Mints, by their hash as `bytesKey` gives it. */
  get acknowledged(): ReadonlyMap<string, Acknowledged> {
    return this.#acknowledged;
  }

  /** Records without effect for lack of a valid signature. */
  get refused(): Readonly<Record<SignatureRefusal, number>> {
    return this.#refused;
  }

  /** The operator of an approval that was admitted, those in force, and how many it needs. */
  approving(deposit: Deposit, event: DepositEvent): Approving | undefined {
    if (event.type !== 'DepositApproved' || deposit.status !== 'needs_manual') return undefined;
    const signer = signerOf(event);
    const above = this.#operators?.two_above ?? 0n;
    const needed = above > 0n && deposit.terms.credit > above ? 2 : 1;
    return {
      operator: signer === undefined ? '' : bytesKey(signer),
      in_force: (this.#operators?.operators ?? []).map(bytesKey),
      needed,
    };
  }

  /** Whether the event may count as far as signatures go; counts refusals. */
  admits(event: TreasuryEvent): boolean {
    if (!isDecision(event) || !this.#needsSignature(event)) return true;
    const refusal = signatureRefusal(event, this.#operators);
    if (refusal !== undefined) this.#refused[refusal]++;
    return refusal === undefined;
  }

  /** Applies an event that was admitted; false when it does not fit. */
  apply(event: GovernanceEvent, facts: LedgerFacts): boolean {
    if (misfitOf(event, this, facts) !== undefined) return false;
    switch (event.type) {
      case 'OperatorsSet':
        this.#operators = event;
        break;
      case 'CustodyPinned':
        this.#custody = event;
        break;
      case 'AuthoritySet':
        this.#authority = event;
        this.#authorities.push(event.authority);
        break;
      case 'BaselinePinned':
        this.#baseline = event;
        break;
      case 'MintAcknowledged':
        this.#acknowledged.set(bytesKey(event.tx_hash), event);
        break;
      case 'SurplusBooked':
        this.#surplus += event.amount;
    }
    return true;
  }

  /** The first of each kind of setting is the treasury's own. */
  #needsSignature(event: HumanDecision): boolean {
    switch (event.type) {
      case 'OperatorsSet':
        return this.#operators !== undefined;
      case 'CustodyPinned':
        return this.#custody !== undefined;
      case 'AuthoritySet':
        return this.#authority !== undefined;
      case 'BaselinePinned':
      case 'MintAcknowledged':
      case 'SurplusBooked':
      case 'RefundRecorded':
        return true;
      case 'PolicySet':
        return this.#operators !== undefined && event.version > 1;
      case 'DepositApproved':
      case 'DepositRejected':
        return this.#operators !== undefined;
    }
  }
}

/** Why the signature of a decision does not count under these operators. */
export function signatureRefusal(
  decision: HumanDecision,
  set: Pick<OperatorsSet, 'operators'> | undefined,
): SignatureRefusal | undefined {
  if (decision.signature === undefined || decision.signature.length === 0) return 'unsigned';
  const signer = signerOf(decision);
  const isListed =
    signer !== undefined && set?.operators.some((each) => each.equals(signer)) === true;
  return isListed ? undefined : 'foreign_signature';
}

function isDecision(event: TreasuryEvent): event is HumanDecision {
  return 'actor' in event || event.type === 'PolicySet';
}

/** Whether another authority mints from here on, whose nonces are its own. */
export function isRotation(event: GovernanceEvent): boolean {
  return event.type === 'AuthoritySet' && event.version > 1;
}

/** Why the event cannot come next; signatures are judged apart. */
export function misfitOf(
  event: GovernanceEvent,
  before: Governance,
  facts: LedgerFacts,
): Misfit | undefined {
  switch (event.type) {
    case 'OperatorsSet':
      return misfitVersion(event, before.operators) ?? misfitOperators(event);
    case 'CustodyPinned':
      return misfitVersion(event, before.custody) ?? misfitAddresses(event.custody_addresses);
    case 'AuthoritySet':
      // the outcome of a mint in flight is shown by transactions of the authority before
      if (isRotation(event) && facts.isMinting) return 'mint_in_flight';
      return misfitVersion(event, before.authority);
    case 'BaselinePinned':
      if (before.baseline !== undefined) return 'baseline_is_pinned';
      if (facts.hasMinted) return 'minted_before';
      if (event.liability < 0n) return 'negative_amount';
      return event.liability > event.supply ? 'liability_above_supply' : undefined;
    case 'MintAcknowledged':
      if (event.amount <= 0n) return 'nothing_minted';
      if (before.acknowledged.has(bytesKey(event.tx_hash))) return 'acknowledged_before';
      return facts.isOurs(event.tx_hash) ? 'mint_of_a_deposit' : undefined;
    case 'SurplusBooked':
      if (event.amount === 0n) return 'nothing_to_book';
      return before.bookedSurplus + event.amount < 0n ? 'more_than_was_booked' : undefined;
  }
}

function misfitVersion(
  { version }: { readonly version: number },
  before: { readonly version: number } | undefined,
): Misfit | undefined {
  return version === (before?.version ?? 0) + 1 ? undefined : 'not_the_next_version';
}

/** Two operators can be asked for only where there are two. */
function misfitOperators({ operators, two_above }: OperatorsSet): Misfit | undefined {
  if (two_above < 0n) return 'negative_amount';
  if (operators.length < (two_above > 0n ? 2 : 1)) return 'too_few_operators';
  return misfitAddresses(operators);
}

function misfitAddresses(addresses: readonly Buffer[]): Misfit | undefined {
  return new Set(addresses.map(bytesKey)).size === addresses.length
    ? undefined
    : 'repeated_address';
}
