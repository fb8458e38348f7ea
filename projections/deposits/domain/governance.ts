/**
 * Who decides, and money outside of deposits: operators, custody, mint authority, baseline,
 * acknowledged Mints, booked surpluses, and whether minting is stopped.
 *
 * A ledger begins with the settings of the treasury, and is then pinned by the key of its mint
 * authority: its network, chain and token do not change any more, every signature names it, and the
 * first settings of a kind that come later need that key. A treasury pins no ledger that has others
 * than its own settings, and mints by none that is not pinned.
 *
 * From the first list of operators on, the decision of a person counts only with the signature of
 * an operator in force, over the decision and its position in the ledger. Where two operators are
 * asked for, a decision that loosens counts once a second operator in force has decided the same.
 * A decision that tightens, and a stop of all minting, need one. Before the first list, the
 * decisions of persons count without signatures; before the ledger is pinned, one operator decides
 * alone.
 */
import { bytesKey } from '../../../schemas/address.ts';
import type { PolicyLimits } from '../../../schemas/deposit-policy.ts';
import {
  contentOf,
  signerOf,
  type AuthorityDecision,
  type HumanDecision,
  type SignedDecision,
} from '../../../schemas/operator-signature.ts';
import type {
  AuthoritySet,
  BaselinePinned,
  CustodyPinned,
  DepositHeld,
  GovernanceEvent,
  LedgerPinned,
  MintAcknowledged,
  OperatorsSet,
  PolicySet,
  TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import type { Approvals, Deposit } from './deposit.ts';

/** Why a record has no effect. */
export type SignatureRefusal = 'unsigned' | 'foreign_signature';

/** The facts of the rest of the ledger that governance depends on. */
export interface LedgerFacts {
  /** whether a mint is in flight */
  readonly is_minting: boolean;
  /** whether any mint was ever requested */
  readonly has_minted: boolean;
  /** the network of the policy in force, if there is one */
  readonly network: string | undefined;
  /** whether a mint that is in flight or credited has this transaction */
  isOurs(txHash: Buffer): boolean;
}

/** The state that a decision is made on, before it. */
export interface DecidedOn {
  readonly policy: PolicyLimits | undefined;
  /** the deposit that it is about */
  readonly deposit: Deposit;
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
  | 'more_than_was_booked'
  | 'pinned_before'
  | 'other_network'
  | 'other_authority'
  | 'other_token'
  | 'stopped_before'
  | 'open_before';

export type Operators = Pick<OperatorsSet, 'version' | 'operators' | 'two_above'>;
export type Authority = Pick<AuthoritySet, 'version' | 'authority'>;
type Acknowledged = Pick<MintAcknowledged, 'tx_hash' | 'to' | 'amount' | 'block_height'>;

/** The state of a fold that does not begin with the ledger. */
export interface StoredGovernance {
  readonly operators?: Operators | undefined;
  readonly authority?: Authority | undefined;
  /** of the pinned ledger */
  readonly ledger_id?: Buffer | undefined;
  readonly is_stopped?: boolean;
  readonly proposals?: readonly Proposal[];
}

/** A decision that waits for a second operator; an operator has at most one. */
export interface Proposal {
  /** 20 bytes */
  readonly operator: Buffer;
  /** of the decision, as `contentOf` gives it */
  readonly content: Buffer;
  /** Unix milliseconds, as its operator signed it */
  readonly decided_at: number;
}

/** A proposal waits so long for a second operator, by the times that the two have signed. */
const PROPOSAL_MS = 7 * 86_400_000;

/** The signatures that a record needs in order to count. */
type Signers = 'nobody' | 'authority' | 'operator' | 'two_operators' | 'authority_or_operators';

/** Everything that was folded. */
interface GovernanceState {
  operators: Operators | undefined;
  custody: CustodyPinned | undefined;
  authority: Authority | undefined;
  readonly authorities: Buffer[];
  baseline: BaselinePinned | undefined;
  surplus: bigint;
  ledger_id: Buffer | undefined;
  pin: LedgerPinned | undefined;
  is_stopped: boolean;
  /** by operator, as `bytesKey` gives it */
  readonly proposals: Map<string, Proposal>;
  readonly acknowledged: Map<string, Acknowledged>;
  readonly refused: Record<SignatureRefusal, number>;
}

export class Governance {
  #state: GovernanceState;

  /** Begins with what was in force where the caller's fold continues. */
  constructor(stored: StoredGovernance = {}) {
    const { operators, authority, ledger_id, is_stopped = false, proposals = [] } = stored;
    this.#state = {
      operators,
      custody: undefined,
      authority,
      authorities: [],
      baseline: undefined,
      surplus: 0n,
      ledger_id,
      pin: undefined,
      is_stopped,
      proposals: new Map(proposals.map((each) => [bytesKey(each.operator), each])),
      acknowledged: new Map(),
      refused: { unsigned: 0, foreign_signature: 0 },
    };
  }

  /** Everything that was folded, to be copied at once: it changes with the next record. */
  get state() {
    return this.#state;
  }

  /** Goes on from the state of another. */
  restore(state: Governance['state']): void {
    this.#state = state;
  }

  /** The id that every signature names; undefined before the ledger is pinned. */
  get ledger_id(): Buffer | undefined {
    return this.#state.ledger_id;
  }

  /** Undefined before the ledger is pinned. */
  get pin(): LedgerPinned | undefined {
    return this.#state.pin;
  }

  /** Whether operators have stopped all minting. */
  get is_stopped(): boolean {
    return this.#state.is_stopped;
  }

  /** Decisions that wait for a second operator. */
  get proposals(): readonly Proposal[] {
    return [...this.#state.proposals.values()];
  }

  /** In force; undefined before the first. */
  get operators(): Operators | undefined {
    return this.#state.operators;
  }

  /** In force; undefined before the first. */
  get custody(): CustodyPinned | undefined {
    return this.#state.custody;
  }

  /** In force; undefined before the first. */
  get authority(): Authority | undefined {
    return this.#state.authority;
  }

  /** Every one that was ever in force, in order. */
  get authorities(): readonly Buffer[] {
    return this.#state.authorities;
  }

  get baseline(): BaselinePinned | undefined {
    return this.#state.baseline;
  }

  /** The sum of booked surpluses, micro-USDT. */
  get booked_surplus(): bigint {
    return this.#state.surplus;
  }

  /** Acknowledged Mints, by their hash as `bytesKey` gives it. */
  get acknowledged(): ReadonlyMap<string, Acknowledged> {
    return this.#state.acknowledged;
  }

  /** Records without effect for lack of a valid signature. */
  get refused(): Readonly<Record<SignatureRefusal, number>> {
    return this.#state.refused;
  }

  /** Who approves with this event, which was admitted, and how many operators a deposit needs. */
  approvingBy(event: TreasuryEvent): Approvals {
    const isApproval = event.type === 'DepositApproved' || event.type === 'DepositsDecided';
    const signer = isApproval ? signerOf(event, this.#state.ledger_id) : undefined;
    const operator = signer === undefined ? '' : bytesKey(signer);
    const in_force = (this.#state.operators?.operators ?? []).map(bytesKey);
    const above = this.#state.operators?.two_above ?? 0n;
    return (deposit) => {
      const isLarge = 'terms' in deposit && above > 0n && deposit.terms.credit > above;
      return { operator, in_force, needed: isLarge ? 2 : 1 };
    };
  }

  /** Whether the event counts as far as signatures go; counts refusals, and keeps proposals. */
  admits(event: TreasuryEvent, on: DecidedOn): boolean {
    if (!maySign(event)) return true;
    const signers = this.#signersOf(event, on);
    if (signers === 'nobody') return true;
    const signer = signerOf(
      event,
      event.type === 'LedgerPinned' ? undefined : this.#state.ledger_id,
    );
    const refusal = this.#refusalOf(event, signer, signers);
    if (refusal !== undefined) this.#state.refused[refusal]++;
    if (refusal !== undefined || signer === undefined) return false;
    const isForTwo = signers === 'two_operators' || signers === 'authority_or_operators';
    const isTheirs = signers.startsWith('authority') && this.#isAuthority(signer);
    if (isTheirs || !isForTwo || !isHuman(event) || !this.#asksForTwo) return true;
    return this.#isSeconded(event, signer);
  }

  /** Whether this operator has proposed the same, and another one has to decide it too. */
  isProposed(decision: HumanDecision, operator: Buffer): boolean {
    const own = this.#state.proposals.get(bytesKey(operator));
    return (
      own?.content.equals(contentOf(decision)) === true &&
      Math.abs(decision.decided_at - own.decided_at) <= PROPOSAL_MS
    );
  }

  #refusalOf(
    event: SignedDecision,
    signer: Buffer | undefined,
    signers: Signers,
  ): SignatureRefusal | undefined {
    if (event.signature === undefined || event.signature.length === 0) return 'unsigned';
    if (signer === undefined) return 'foreign_signature';
    const authority =
      event.type === 'LedgerPinned' ? event.authority : this.#state.authority?.authority;
    const isAuthority = signers.startsWith('authority') && authority?.equals(signer) === true;
    const isOperator = signers !== 'authority' && this.#isOperator(signer);
    return isAuthority || isOperator ? undefined : 'foreign_signature';
  }

  #isAuthority(signer: Buffer): boolean {
    return this.#state.authority?.authority.equals(signer) === true;
  }

  #isOperator(signer: Buffer): boolean {
    return this.#state.operators?.operators.some((each) => each.equals(signer)) === true;
  }

  /** Whether another operator in force has proposed the same; else it is a proposal itself. */
  #isSeconded(event: HumanDecision, operator: Buffer): boolean {
    const content = contentOf(event);
    const { decided_at } = event;
    const other = this.proposals.find(
      (each) =>
        !each.operator.equals(operator) &&
        each.content.equals(content) &&
        Math.abs(decided_at - each.decided_at) <= PROPOSAL_MS &&
        this.#isOperator(each.operator),
    );
    if (other === undefined)
      this.#state.proposals.set(bytesKey(operator), { operator, content, decided_at });
    else
      for (const each of [operator, other.operator]) this.#state.proposals.delete(bytesKey(each));
    return other !== undefined;
  }

  /** Applies an event that was admitted; false when it does not fit. */
  apply(event: GovernanceEvent, facts: LedgerFacts): boolean {
    if (misfitOf(event, this, facts) !== undefined) return false;
    switch (event.type) {
      case 'OperatorsSet':
        this.#state.operators = event;
        break;
      case 'CustodyPinned':
        this.#state.custody = event;
        break;
      case 'AuthoritySet':
        this.#state.authority = event;
        this.#state.authorities.push(event.authority);
        break;
      case 'BaselinePinned':
        this.#state.baseline = event;
        break;
      case 'MintAcknowledged':
        this.#state.acknowledged.set(bytesKey(event.tx_hash), event);
        break;
      case 'SurplusBooked':
        this.#state.surplus += event.amount;
        break;
      case 'MintingSet':
        this.#state.is_stopped = !event.open;
        break;
      case 'LedgerPinned':
        this.#state.pin = event;
        this.#state.ledger_id = event.ledger_id;
        if (this.#state.authority === undefined) {
          this.#state.authority = { version: 1, authority: event.authority };
          this.#state.authorities.push(event.authority);
        }
    }
    return true;
  }

  get #asksForTwo(): boolean {
    return this.#state.ledger_id !== undefined && (this.#state.operators?.two_above ?? 0n) > 0n;
  }

  #signersOf(event: SignedDecision, { policy, deposit }: DecidedOn): Signers {
    const isPinned = this.#state.ledger_id !== undefined;
    const first = isPinned ? 'authority' : 'nobody';
    const loosening = this.#asksForTwo ? 'two_operators' : 'operator';
    const hasOperators = this.#state.operators !== undefined;
    switch (event.type) {
      case 'LedgerPinned':
        return 'authority';
      case 'OperatorsSet':
        return hasOperators ? loosening : first;
      case 'CustodyPinned':
        // by the event alone: the fold of rows knows no custody
        return event.version === 1 ? first : loosening;
      case 'AuthoritySet':
        return this.#state.authority === undefined ? first : loosening;
      case 'PolicySet':
        if (!hasOperators || event.version === 1) return first;
        return policy !== undefined && isTighter(event, policy) ? 'operator' : loosening;
      case 'BaselinePinned':
      case 'MintAcknowledged':
        return loosening;
      case 'SurplusBooked':
        return event.amount > 0n ? loosening : 'operator';
      case 'RefundRecorded':
        return 'operator';
      case 'MintingSet':
        if (!hasOperators) return 'nobody';
        return event.open ? loosening : 'operator';
      case 'DepositApproved':
      case 'DepositsDecided':
        return hasOperators ? 'operator' : 'nobody';
      case 'DepositRejected':
        if (!hasOperators) return 'nobody';
        return deposit.status === 'mint_requested' ? loosening : 'operator';
      case 'MintVoided':
        return 'authority_or_operators';
      case 'DepositHeld':
        return isPinned && !isByPolicy(event) ? 'authority' : 'nobody';
      case 'MintIntended':
      case 'MintDead':
        return first;
    }
  }
}

/** Why the signature of a person's decision does not count under these operators. */
export function signatureRefusal(
  decision: HumanDecision,
  { operators, ledger_id }: Pick<Governance, 'operators' | 'ledger_id'>,
): SignatureRefusal | undefined {
  if (decision.signature === undefined || decision.signature.length === 0) return 'unsigned';
  const signer = signerOf(decision, ledger_id);
  const isListed =
    signer !== undefined && operators?.operators.some((each) => each.equals(signer)) === true;
  return isListed ? undefined : 'foreign_signature';
}

/** Whether a person decides it. */
export function isHuman(event: TreasuryEvent): event is HumanDecision {
  return 'actor' in event || event.type === 'PolicySet';
}

const OF_AUTHORITY: ReadonlySet<string> = new Set<AuthorityDecision['type']>([
  'LedgerPinned',
  'DepositHeld',
  'MintIntended',
  'MintDead',
]);

function maySign(event: TreasuryEvent): event is SignedDecision {
  if (isHuman(event)) return true;
  return OF_AUTHORITY.has(event.type);
}

/** Whether the policy alone gives the reason, which the fold compares. */
export function isByPolicy({ reason }: Pick<DepositHeld, 'reason'>): boolean {
  return reason === 'below_minimum' || reason === 'over_single_cap';
}

/** Whether a policy mints nothing that the one before does not. */
function isTighter(next: PolicySet, before: PolicyLimits): boolean {
  return (
    next.first_fee === before.first_fee &&
    next.later_fee === before.later_fee &&
    next.minimum >= before.minimum &&
    next.single_cap <= before.single_cap &&
    next.rolling_cap <= before.rolling_cap
  );
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
    case 'LedgerPinned':
      if (before.ledger_id !== undefined) return 'pinned_before';
      if (facts.network !== undefined && facts.network !== event.network) return 'other_network';
      return before.authority?.authority.equals(event.authority) === false
        ? 'other_authority'
        : undefined;
    case 'MintingSet':
      if (event.open !== before.is_stopped) return event.open ? 'open_before' : 'stopped_before';
      return undefined;
    case 'OperatorsSet':
      return misfitVersion(event, before.operators) ?? misfitOperators(event);
    case 'CustodyPinned':
      if (before.pin !== undefined && !event.usdt_contract.equals(before.pin.usdt_contract))
        return 'other_token';
      return misfitVersion(event, before.custody) ?? misfitAddresses(event.custody_addresses);
    case 'AuthoritySet':
      // the outcome of a mint in flight is shown by transactions of the authority before
      if (isRotation(event) && facts.is_minting) return 'mint_in_flight';
      return misfitVersion(event, before.authority);
    case 'BaselinePinned':
      if (before.baseline !== undefined) return 'baseline_is_pinned';
      if (facts.has_minted) return 'minted_before';
      if (event.liability < 0n) return 'negative_amount';
      return event.liability > event.supply ? 'liability_above_supply' : undefined;
    case 'MintAcknowledged':
      if (event.amount <= 0n) return 'nothing_minted';
      if (before.acknowledged.has(bytesKey(event.tx_hash))) return 'acknowledged_before';
      return facts.isOurs(event.tx_hash) ? 'mint_of_a_deposit' : undefined;
    case 'SurplusBooked':
      if (event.amount === 0n) return 'nothing_to_book';
      return before.booked_surplus + event.amount < 0n ? 'more_than_was_booked' : undefined;
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
