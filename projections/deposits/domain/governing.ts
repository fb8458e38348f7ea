/**
 * Decisions about who decides, and about money outside of deposits. The first operators and custody
 * are the settings of the treasury, which names the first mint authority, too; operators replace
 * them. The returned events are to be appended, those of persons once they are signed.
 */
import {
  problemsOf,
  sameLimits,
  type Network,
  type PolicyLimits,
} from '../../../schemas/deposit-policy.ts';
import type {
  AuthoritySet,
  BaselinePinned,
  CustodyPinned,
  GovernanceEvent,
  LedgerPinned,
  MintAcknowledged,
  MintingSet,
  OperatorsSet,
  PolicySet,
  SurplusBooked,
} from '../../../schemas/treasury.ledger/events.ts';
import { decidedBy, type Person } from './approval.ts';
import type { Decision } from './confirmation.ts';
import type { Misfit } from './governance.ts';
import type { Ledger } from './ledger.ts';

type Operators = Pick<OperatorsSet, 'operators' | 'two_above'>;
export type Custody = Pick<CustodyPinned, 'usdt_contract' | 'custody_addresses'>;

/** The settings of a treasury that the ledger has to agree with. */
export interface Governed extends Operators, Custody {}

export type OtherSettings = 'other_operators' | 'other_custody';

/**
 * The treasury's settings as the first decisions of a ledger that has none. Refused where the
 * ledger has others. Without operators (`undefined`) decisions count without signatures.
 */
export function begin(
  ledger: Ledger,
  settings: Governed | undefined,
  now: number,
): Decision<OtherSettings | Misfit, GovernanceEvent> {
  const { operators, custody } = ledger.governance;
  if (settings === undefined)
    return operators === undefined ? { events: [] } : { refused: 'other_operators' };
  if (operators !== undefined && !sameOperators(operators, settings))
    return { refused: 'other_operators' };
  if (custody !== undefined && !sameCustody(custody, settings)) return { refused: 'other_custody' };
  const events: GovernanceEvent[] = [];
  const by = () => ({
    sequence: Number(ledger.end) + events.length,
    actor: 'treasury',
    reason: 'its settings',
    decided_at: now,
    version: 1,
  });
  const { two_above, usdt_contract, custody_addresses } = settings;
  if (operators === undefined)
    events.push({ type: 'OperatorsSet', ...by(), operators: settings.operators, two_above });
  if (custody === undefined)
    events.push({ type: 'CustodyPinned', ...by(), usdt_contract, custody_addresses });
  const refused = events.map((event) => ledger.misfitOf(event)).find((each) => each !== undefined);
  return refused === undefined ? { events } : { refused };
}

/** `not_begun`: the treasury has not put the first in force; it needs operators. */
export type GovernanceRefusal =
  Misfit | 'no_operators' | 'not_begun' | 'contradicting_limits' | 'contract_as_custody';

export function setOperators(
  ledger: Ledger,
  { operators, two_above }: Operators,
  person: Person,
): Decision<GovernanceRefusal, OperatorsSet> {
  const before = ledger.governance.operators;
  if (before !== undefined && sameOperators(before, { operators, two_above }))
    return { events: [] };
  const version = (before?.version ?? 0) + 1;
  const by = decidedBy(ledger, person);
  return fitting(ledger, { type: 'OperatorsSet', ...by, version, operators, two_above });
}

/** All addresses; the token stays the one pinned before. */
export function pinCustody(
  ledger: Ledger,
  { custody_addresses }: Pick<Custody, 'custody_addresses'>,
  person: Person,
): Decision<GovernanceRefusal, CustodyPinned> {
  const before = ledger.governance.custody;
  if (before === undefined) return { refused: notBegun(ledger) };
  const custody = { usdt_contract: before.usdt_contract, custody_addresses };
  if (sameCustody(before, custody)) return { events: [] };
  if (custody.custody_addresses.some((each) => each.equals(custody.usdt_contract)))
    return { refused: 'contract_as_custody' };
  const version = before.version + 1;
  const by = decidedBy(ledger, person);
  return fitting(ledger, { type: 'CustodyPinned', ...by, version, ...custody });
}

/** The facts that the treasury pins a ledger to. */
export interface Pinning extends Pick<
  LedgerPinned,
  'ledger_id' | 'chain_id' | 'usdt_contract' | 'authority'
> {
  readonly network: Network;
  /** limits of the settings: a first policy that nobody has signed must have the same */
  readonly limits: PolicyLimits;
}

export type PinRefusal = 'other_network' | 'other_chain' | 'other_token' | 'other_policy';

/**
 * Pins the ledger, once: the treasury's key signs the event. Refused where the ledger is another
 * than the settings say; a pinned ledger is compared again.
 */
export function pinLedger(
  ledger: Ledger,
  { limits, ...pinning }: Pinning,
  now: number,
): Decision<PinRefusal, LedgerPinned> {
  const { policy, governance } = ledger;
  const { ledger_id, network, chain_id, usdt_contract, authority } = pinning;
  const { pin, custody } = governance;
  const token = pin?.usdt_contract ?? custody?.usdt_contract;
  if ((pin?.network ?? policy?.network ?? network) !== network) return { refused: 'other_network' };
  if ((pin?.chain_id ?? chain_id) !== chain_id) return { refused: 'other_chain' };
  if (token?.equals(usdt_contract) === false) return { refused: 'other_token' };
  if (pin !== undefined || policy === undefined) return { events: [] };
  if (!ledger.is_policy_signed && !sameLimits(policy, limits)) return { refused: 'other_policy' };
  const pinned = { ledger_id, network, chain_id, usdt_contract, authority };
  const sequence = Number(ledger.end);
  return { events: [{ type: 'LedgerPinned', sequence, decided_at: now, ...pinned }] };
}

/** Another account mints from here on; no mint may be in flight. */
export function rotateAuthority(
  ledger: Ledger,
  authority: Buffer,
  person: Person,
): Decision<GovernanceRefusal, AuthoritySet> {
  const before = ledger.governance.authority;
  if (before === undefined) return { refused: notBegun(ledger) };
  if (before.authority.equals(authority)) return { events: [] };
  const version = before.version + 1;
  const by = decidedBy(ledger, person);
  return fitting(ledger, { type: 'AuthoritySet', ...by, version, authority });
}

/** Accepts the supply of a final block as one that this ledger did not mint. */
export function pinBaseline(
  ledger: Ledger,
  baseline: Pick<BaselinePinned, 'block_height' | 'block_hash' | 'supply' | 'liability'>,
  person: Person,
): Decision<GovernanceRefusal, BaselinePinned> {
  return fitting(ledger, { type: 'BaselinePinned', ...decidedBy(ledger, person), ...baseline });
}

/** No events when the Mint is acknowledged already. */
export function acknowledgeMint(
  ledger: Ledger,
  mint: Pick<MintAcknowledged, 'tx_hash' | 'to' | 'amount' | 'block_height'>,
  person: Person,
): Decision<GovernanceRefusal, MintAcknowledged> {
  const by = decidedBy(ledger, person);
  const decided = fitting(ledger, { type: 'MintAcknowledged', ...by, ...mint });
  return 'refused' in decided && decided.refused === 'acknowledged_before'
    ? { events: [] }
    : decided;
}

/** Stops all minting at once, or opens it again. No events when it is so already. */
export function setMinting(
  ledger: Ledger,
  open: boolean,
  person: Person,
): Decision<GovernanceRefusal, MintingSet> {
  if (ledger.governance.is_stopped !== open) return { events: [] };
  return { events: [{ type: 'MintingSet', ...decidedBy(ledger, person), open }] };
}

/** Repeated, it books the amount once more. */
export function bookSurplus(
  ledger: Ledger,
  amount: bigint,
  person: Person,
): Decision<GovernanceRefusal, SurplusBooked> {
  return fitting(ledger, { type: 'SurplusBooked', ...decidedBy(ledger, person), amount });
}

/** Replaces the limits given; the others stay in force. */
export function changePolicy(
  ledger: Ledger,
  given: Partial<PolicyLimits>,
  person: Person,
): Decision<GovernanceRefusal, PolicySet> {
  const { policy, governance } = ledger;
  if (policy === undefined) return { refused: 'not_begun' };
  if (governance.operators === undefined) return { refused: 'no_operators' };
  const { network, first_fee, later_fee, minimum, single_cap, rolling_cap } = policy;
  const limits = { first_fee, later_fee, minimum, single_cap, rolling_cap, ...given };
  if (problemsOf(limits).length > 0) return { refused: 'contradicting_limits' };
  if (sameLimits(policy, limits)) return { events: [] };
  const version = policy.version + 1;
  const by = decidedBy(ledger, person);
  return { events: [{ type: 'PolicySet', ...by, version, network, ...limits }] };
}

/** The event, unless it would have no effect. */
function fitting<Event extends GovernanceEvent>(
  ledger: Ledger,
  event: Event,
): Decision<GovernanceRefusal, Event> {
  if (ledger.governance.operators === undefined) return { refused: 'no_operators' };
  const refused = ledger.misfitOf(event);
  return refused === undefined ? { events: [event] } : { refused };
}

function notBegun({ governance }: Ledger): 'no_operators' | 'not_begun' {
  return governance.operators === undefined ? 'no_operators' : 'not_begun';
}

/** In any order. */
function sameOperators(one: Operators, other: Operators): boolean {
  return one.two_above === other.two_above && sameAddresses(one.operators, other.operators);
}

/** In any order. */
export function sameCustody(one: Custody, other: Custody): boolean {
  return (
    one.usdt_contract.equals(other.usdt_contract) &&
    sameAddresses(one.custody_addresses, other.custody_addresses)
  );
}

function sameAddresses(some: readonly Buffer[], others: readonly Buffer[]): boolean {
  return (
    some.length === others.length &&
    some.every((address) => others.some((other) => other.equals(address)))
  );
}
