/**
 * The invariants of a sequence, judged by what is true: the arrivals on TRON, the Mints of the
 * chain, and who wrote which record. Nothing here asks the treasury what it believes.
 */
import { toHex } from '../../../schemas/address.ts';
import { depositIdOf } from '../../../schemas/deposit-id.ts';
import { feeOf, sameLimits, type PolicyLimits } from '../../../schemas/deposit-policy.ts';
import {
  depositEventsIn,
  type DepositConfirmed,
  type PolicySet,
  type TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import type { Minted } from './clt.ts';
import { addressOf, mallory } from '../../support/operators.ts';
import type { Placed, Signer } from './logs.ts';
import { LIMITS } from './processes.ts';
import { CUSTODY, type Paid } from './tron.ts';
import { isStopping, LOOSENING_NEEDS_TWO, ORDINAL_OF } from './version.ts';
import type { Depositor, World } from './world.ts';

const DAY_MS = 86_400_000;

export interface Violation {
  readonly invariant: 'I-a' | 'I-b' | 'I-c' | 'I-d' | 'I-e';
  /** the same for the same kind of violation */
  readonly kind: string;
  readonly what: string;
}

/** A transfer of USDT to a deposit address that the gateway gave to an account. */
interface Arrival extends Paid {
  readonly deposit_id: string;
  readonly owner: Depositor;
  /** one of our own addresses paid it */
  readonly isInternal: boolean;
}

interface LegitPolicy {
  readonly version: number;
  readonly limits: PolicyLimits;
}

export class Oracle {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** After the world has come to rest. `alarm`: what operators are told; undefined: all is well. */
  judge(alarm: string | undefined): readonly Violation[] {
    return [...this.#minted(), ...this.#deposits(alarm), ...this.gate()];
  }

  /** I-c: after a run that began behind the last robbery. */
  gate(): readonly Violation[] {
    const { treasury, robbed_at: at } = this.#world;
    const own = treasury?.newest.own;
    if (treasury === undefined || treasury.isHalted) return [];
    if (own === undefined || own.begun_at <= at) return [];
    const missing = this.#missing(own.ledger_offset);
    if (missing <= 0n || treasury.forbidden !== undefined) return [];
    return [
      {
        invariant: 'I-c',
        kind: 'the gate is open over missing money',
        what: `${missing} micro-USDT are missing, and the reserve run of ${own.begun_at} allows minting: custody ${own.custody_reported}, liability ${own.ledger_liability}, minting ${own.minting}, waiting ${own.waiting}, uncovered ${own.uncovered}, ${own.status}`,
      },
    ];
  }

  /** Whether the record counts by the key of an operator, where one alone decides that. */
  isEntitled({ event, forged, offset }: Placed<TreasuryEvent>): boolean {
    if (forged === undefined) return true;
    if (forged.signer !== 'operator' && !this.#isOperatorSince(forged.signer, offset)) return false;
    if (event.type === 'PolicySet' && !isWithinRules(event)) return false;
    return this.#world.two_above === 0n || !LOOSENING_NEEDS_TWO || !this.#loosens(event, offset);
  }

  /** Whether it lets more be minted, or less be noticed. */
  #loosens(event: TreasuryEvent, offset: bigint): boolean {
    const { type } = event;
    // the first of two approvals changes nothing but that it is noted
    if (type === 'DepositRejected' || type === 'RefundRecorded' || type === 'DepositApproved')
      return false;
    if (type === 'DepositsDecided') return false;
    if (type === 'SurplusBooked') return event.amount > 0n;
    if (type !== 'PolicySet') return !isStopping(event);
    const before = this.#policiesBefore(offset).at(-1)?.limits ?? LIMITS;
    return !(
      event.first_fee === before.first_fee &&
      event.later_fee === before.later_fee &&
      event.minimum >= before.minimum &&
      event.single_cap <= before.single_cap &&
      event.rolling_cap <= before.rolling_cap
    );
  }

  /** The stolen key may have made an operator of a stranger. */
  #isOperatorSince(signer: Signer, offset: bigint): boolean {
    const set = this.#world.logs.of_ledger.findLast(
      (each) => each.counts && each.event.type === 'OperatorsSet' && each.offset < offset,
    );
    return (
      signer === 'stranger' &&
      set?.event.type === 'OperatorsSet' &&
      set.event.operators.some((each) => each.equals(addressOf(mallory))) &&
      this.isEntitled(set)
    );
  }

  get arrivals(): readonly Arrival[] {
    const { tron, depositors } = this.#world;
    return tron.paid.flatMap((paid) => {
      const owner = depositors.find(({ address }) => address.equals(paid.to));
      if (owner === undefined || paid.value <= 0n || paid.from.equals(paid.to)) return [];
      const isInternal =
        paid.from.equals(CUSTODY) || depositors.some(({ address }) => address.equals(paid.from));
      return [{ ...paid, deposit_id: depositIdOf(paid.tx_id, 0), owner, isInternal }];
    });
  }

  /** I-a: nothing is minted but what arrived, less its fee, once. */
  *#minted(): Generator<Violation> {
    const { node } = this.#world;
    const arrivals = new Map(this.arrivals.map((each) => [referenceOf(each.deposit_id), each]));
    const found = new Map<string, Minted>();
    for (const mint of node.mints) {
      const arrival = arrivals.get(mint.reference);
      const wrong =
        arrival === undefined ? 'of nothing that arrived' : this.#whyNot(mint, arrival, found);
      found.set(mint.reference, mint);
      if (wrong === undefined) continue;
      yield {
        invariant: 'I-a',
        kind: `a mint is ${wrong}`,
        what: `Mint ${toHex(mint.tx_hash).slice(0, 10)} of ${mint.amount} to ${toHex(mint.to)} is ${wrong}; arrived: ${arrival?.value ?? 0n}`,
      };
    }
  }

  #whyNot(
    { to, amount, reference }: Minted,
    arrival: Arrival,
    found: ReadonlyMap<string, Minted>,
  ): string | undefined {
    const { deposit_id, value, owner, isInternal } = arrival;
    if (found.has(reference)) return 'the second one of its deposit';
    if (!to.equals(owner.account)) return 'not for the owner of the address';
    if (amount <= 0n) return 'of nothing';
    if (amount > value) return 'of more than arrived';
    const fee = this.#feeOf(arrival);
    if (amount > value - fee) return 'of more than arrived less the fee';
    if (isInternal && !this.#isApproved(deposit_id))
      return 'of money that was among ours, and nobody approved it';
    const cap = this.#policies.reduce(
      (most, { limits }) => (limits.single_cap > most ? limits.single_cap : most),
      0n,
    );
    return amount > cap && !this.#isApproved(deposit_id)
      ? 'above the cap of a single mint, and nobody approved it'
      : undefined;
  }

  /** By operators who are entitled to; where two are asked for, the thief is one at most. */
  #isApproved(id: string): boolean {
    const { logs, two_above } = this.#world;
    const credit = logs.confirmed.get(id)?.event.credit ?? 0n;
    const needsTwo = two_above > 0n && credit > two_above;
    return logs.of_ledger.some(
      (each) =>
        each.counts &&
        decides(each.event, 'DepositApproved', id) &&
        (each.forged === undefined || (!needsTwo && this.isEntitled(each))),
    );
  }

  /** The fee that an honest policy asks for this arrival. */
  #feeOf({ deposit_id, owner }: Arrival): bigint {
    const { confirmed } = this.#world.logs;
    const policies = this.#policies;
    const event = confirmed.get(deposit_id)?.event;
    const policy = policies.find(({ version }) => version === event?.policy_version);
    if (event === undefined || policy === undefined)
      return policies.reduce((least, { limits }) => {
        const fee = limits.first_fee < limits.later_fee ? limits.first_fee : limits.later_fee;
        return fee < least ? fee : least;
      }, LIMITS.later_fee);
    // an invented deposit takes an ordinal, too
    const before = [...confirmed.values()].filter(
      (each) => each.offset < BigInt(event.sequence) && this.#isOfSame(each.event, owner),
    );
    return feeOf(policy.limits, before.length);
  }

  #isOfSame(event: DepositConfirmed, { account, address }: Depositor): boolean {
    return ORDINAL_OF === 'address'
      ? event.deposit_address.equals(address)
      : event.clt_address.equals(account);
  }

  /** Those that operators, or the treasury's own settings, have put in force. */
  get #policies(): readonly LegitPolicy[] {
    return this.#policiesBefore(this.#world.logs.ledger.end);
  }

  #policiesBefore(end: bigint): readonly LegitPolicy[] {
    return this.#world.logs.of_ledger.flatMap((each) => {
      const { event, counts, offset } = each;
      if (offset >= end) return [];
      return counts && event.type === 'PolicySet' && (isOfSettings(event) || this.isEntitled(each))
        ? [{ version: event.version, limits: event }]
        : [];
    });
  }

  /** I-b: what arrived is minted, or operators are told; and `credited` means minted. */
  *#deposits(alarm: string | undefined): Generator<Violation> {
    const { logs, node, treasury } = this.#world;
    for (const [id, deposit] of logs.ledger.deposits) {
      // one that says what is wrong with it need not take anything back
      if (deposit.status !== 'credited' || treasury?.problem !== undefined) continue;
      const { mint, terms } = deposit;
      const isMinted = node.mints.some(
        ({ tx_hash, to, amount }) =>
          tx_hash.equals(mint.tx_hash) && amount === terms.credit && to.equals(terms.clt_address),
      );
      if (isMinted) continue;
      const hasArrived = this.arrivals.some(({ deposit_id }) => deposit_id === id);
      yield {
        invariant: 'I-b',
        kind: `${hasArrived ? 'a deposit' : 'a deposit that never arrived'} is credited without its Mint`,
        what: `deposit ${id} is credited by ${toHex(mint.tx_hash).slice(0, 10)} with nonce ${mint.nonce}, which no block has; alarm: ${alarm ?? 'none'}`,
      };
    }
    if (alarm !== undefined) return;
    for (const { deposit_id, value, isInternal } of this.arrivals) {
      if (isInternal || this.#isMinted(deposit_id)) continue;
      const { status } = logs.ledger.deposit(deposit_id);
      if (status === 'needs_manual' || status === 'credited') continue;
      if (status === 'confirmed' && this.#waitsForCap()) continue;
      yield {
        invariant: 'I-b',
        kind: `a deposit stays ${status} and nobody is told`,
        what: `deposit ${deposit_id} of ${value} is ${status} in the ledger, and not minted; there is no alarm`,
      };
    }
  }

  #isMinted(id: string): boolean {
    return this.#world.node.mints.some(({ reference }) => reference === referenceOf(id));
  }

  /** Whether the true mints of a day, with all that wait, are above the cap in force. */
  #waitsForCap(): boolean {
    const { node, logs, time } = this.#world;
    const recent = node.mints
      .filter(({ height }) => (node.all[height]?.timestamp ?? 0) > time.now - DAY_MS)
      .reduce((sum, { amount }) => sum + amount, 0n);
    const waiting = this.arrivals
      .filter(({ deposit_id }) => !this.#isMinted(deposit_id))
      .reduce((sum, { value }) => sum + value, 0n);
    const newest = this.#policies.at(-1);
    return (
      newest !== undefined &&
      newest.version === logs.ledger.policy?.version &&
      recent + waiting > newest.limits.rolling_cap
    );
  }

  /** By how much less there is than is owed at least, for deposits that the run's ledger had. */
  #missing(run_offset: number): bigint {
    const { tron, depositors, logs } = this.#world;
    const ours = [CUSTODY, ...depositors.map(({ address }) => address)];
    const there = ours.reduce((sum, address) => sum + tron.balanceOf(address), 0n);
    // also of limits that a stranger wrote first, by which the treasury mints nothing
    const fees = logs.of_ledger.flatMap(({ event, counts }) =>
      counts && event.type === 'PolicySet' ? [event.first_fee, event.later_fee] : [],
    );
    const most = fees.reduce((fee, each) => (each > fee ? each : fee), 0n);
    const minted = this.#world.node.mints
      .filter(({ height }) => height <= this.#world.node.final_height)
      .reduce((sum, { amount }) => sum + amount, 0n);
    const waiting = this.arrivals
      .filter(({ deposit_id: id }) => {
        const deposit = logs.ledger.deposit(id);
        const confirmed = logs.confirmed.get(id);
        // a run knows of no deposit before its ledger does
        if (deposit.status === 'absent' || this.#isMinted(id)) return false;
        if (confirmed === undefined || confirmed.offset >= BigInt(run_offset)) return false;
        return !(deposit.status === 'needs_manual' && deposit.rejected && this.#isRejected(id));
      })
      .filter(({ isInternal, deposit_id }) => !isInternal || this.#isApproved(deposit_id))
      .reduce((sum, { value }) => sum + (value > most ? value - most : 0n), 0n);
    return minted + waiting - there;
  }

  #isRejected(id: string): boolean {
    return this.#world.logs.of_ledger.some(
      (each) => each.counts && decides(each.event, 'DepositRejected', id) && this.isEntitled(each),
    );
  }
}

/** Alone, or with others. */
function decides(event: TreasuryEvent, type: TreasuryEvent['type'], id: string): boolean {
  return depositEventsIn(event).some((each) => each.type === type && each.deposit_id === id);
}

/** The specification's rules of limits, reckoned apart from its code. */
export function isWithinRules(policy: PolicySet): boolean {
  const { first_fee, later_fee, minimum, single_cap, rolling_cap, network } = policy;
  return (
    [first_fee, later_fee, minimum, single_cap, rolling_cap].every((amount) => amount >= 0n) &&
    minimum <= single_cap &&
    single_cap <= rolling_cap &&
    network === 'testnet'
  );
}

/** Whether the treasury would have written the same. */
function isOfSettings(policy: PolicySet): boolean {
  return policy.network === 'testnet' && sameLimits(policy, LIMITS);
}

function referenceOf(id: string): string {
  return `0x${id.replaceAll('-', '')}${'0'.repeat(32)}`;
}
