/**
 * I3 to I6 and I14 along `treasury.ledger`. The fold decides which events count, and judges
 * signatures; sums, limits and statuses are computed here a second time, from the events alone.
 */
import { bytesKey } from '../../../schemas/address.ts';
import { isWrittenFor, Ledger } from '../../../projections/deposits/domain/ledger.ts';
import type { Deposit } from '../../../projections/deposits/domain/deposit.ts';
import { holdReasonOf } from '../../../schemas/deposit-policy.ts';
import type { HumanDecision } from '../../../schemas/operator-signature.ts';
import { isHuman } from '../../../projections/deposits/domain/governance.ts';
import { TREASURY_LEDGER } from '../../../schemas/topics.ts';
import { LEDGER_RULES } from '../../../schemas/treasury.ledger/rules.ts';
import {
  depositEventsIn,
  isDepositEvent,
  NOT_OF_OUR_KEY,
  treasuryEventKey,
  type BaselinePinned,
  type DepositConfirmed,
  type DepositEvent,
  type GovernanceEvent,
  type MintAcknowledged,
  type MintIntended,
  type PolicySet,
  type RefundRecorded,
  type TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import type { Findings, LogPosition } from './findings.ts';
import type { TransferAudit } from './transfer-audit.ts';

const DAY_MS = 86_400_000;

/** The statuses that may follow each status. */
const TRANSITIONS: Readonly<Record<Deposit['status'], readonly Deposit['status'][]>> = {
  absent: ['confirmed'],
  confirmed: ['needs_manual', 'mint_requested'],
  needs_manual: ['confirmed', 'needs_manual'],
  mint_requested: ['credited', 'confirmed', 'needs_manual'],
  // by a record that a credit which is not on the chain is void
  credited: ['confirmed'],
};

/** A mint that was requested. */
export interface Intent {
  readonly deposit_id: string;
  readonly nonce: number;
  readonly to: Buffer;
  readonly amount: bigint;
  readonly offset: bigint;
  /** Unix milliseconds, by the clock of its writer */
  readonly decided_at: number;
  /** `decided_at`, never less than that of the intent before */
  readonly at: number;
  outcome: 'live' | 'credited' | 'dead' | 'failed' | 'released' | 'void';
  /** the transaction that took its nonce, by `MintDead` */
  given_up_for:
    { readonly tx_hash: Buffer; readonly height: number; readonly offset: bigint } | undefined;
  /** the block of its credit, by `MintCredited` */
  block: { readonly height: number; readonly hash: Buffer } | undefined;
  /** offset of that `MintCredited` */
  credited_at: bigint | undefined;
  /** by `MintVoided`: whether nobody with the key of the mint authority had made it */
  is_foreign: boolean;
}

/** An event that counts, with its offset. */
interface Placed<Event> {
  readonly event: Event;
  readonly offset: bigint;
}

export class LedgerAudit {
  readonly ledger = new Ledger();
  /** by transaction hash in hex, in the order of the ledger; those that count */
  readonly intents = new Map<string, Intent>();
  /** by transaction hash in hex */
  readonly acknowledged = new Map<string, Placed<MintAcknowledged>>();
  baseline: Placed<BaselinePinned> | undefined;
  /** every mint authority that the ledger has had, as `bytesKey` gives it */
  readonly authorities = new Set<string>();
  /** records */
  without_effect = 0;
  /** micro-USDT */
  readonly sums = { arrived: 0n, minted: 0n, fees: 0n, held: 0n, refunded: 0n };
  readonly #findings: Findings;
  readonly #onConfirmed: TransferAudit['confirmed'];
  readonly #policies = new Map<number, PolicySet>();
  #policy: PolicySet | undefined;
  readonly #terms = new Map<string, DepositConfirmed>();
  readonly #approved = new Set<string>();
  /** deposits that one of our addresses paid */
  readonly #internal = new Set<string>();
  /** the newest one of each deposit */
  readonly #newest = new Map<string, Intent>();
  /** intents of the 24 hours up to the last one, in order, without the ones given up */
  readonly #window = new Set<Intent>();
  #windowSum = 0n;
  /** an intent counts above it: that of the last one under the authority in force, or -1 */
  #lastNonce = -1;
  /** below it, nonces of mints that were released or voided */
  readonly #freeNonces = new Set<number>();
  #lastAt = 0;
  /** by how much the sums differ: each difference is reported once */
  #missing = 0n;

  /** `onConfirmed` gets every confirmation that counts, with the settings in force before it. */
  constructor(findings: Findings, onConfirmed: TransferAudit['confirmed']) {
    this.#findings = findings;
    this.#onConfirmed = onConfirmed;
  }

  apply(event: TreasuryEvent, offset: bigint, valueHash?: Buffer): void {
    const position = { topic: TREASURY_LEDGER.name, partition: 0, offset };
    const moved = depositEventsIn(event).map(
      (each) => [each, this.ledger.deposit(each.deposit_id).status] as const,
    );
    const refusals = this.#refusals;
    const counts = this.ledger.apply(event, offset, valueHash) === 'applied';
    const isRefused = this.#refusals > refusals;
    const isSigned = 'actor' in event && this.ledger.governance.operators !== undefined;
    if (isRefused || (counts && isSigned))
      this.#findings.check(
        'I14',
        position,
        !isRefused,
        () =>
          `${event.type} of ${subjectOf(event)} has no signature of anybody who may decide it, and no effect`,
      );
    const isProposal = isHuman(event) && this.#proposes(event);
    const isWhole = this.#findings.rules(LEDGER_RULES, event, position);
    if (!counts) this.#withoutEffect(event, position, isRefused || isProposal || !isWhole);
    else if (event.type === 'PolicySet') {
      this.#policy = event;
      this.#policies.set(event.version, event);
    } else if (isDepositEvent(event) || event.type === 'DepositsDecided')
      for (const [each, before] of moved) this.#deposit(each, position, before);
    else this.#governance(event, offset);
    this.#balance(position);
  }

  /** Whether the decision waits for a second operator, as one that an operator has just made. */
  #proposes(event: HumanDecision): boolean {
    const { governance } = this.ledger;
    return governance.proposals.some(({ operator }) => governance.isProposed(event, operator));
  }

  /** Records that the fold refused for their signature. */
  get #refusals(): number {
    const { unsigned, foreign_signature: foreignSignature } = this.ledger.governance.refused;
    return unsigned + foreignSignature;
  }

  #balance(position: LogPosition): void {
    const { arrived, minted, fees, held, refunded } = this.sums;
    const missing = arrived - (minted + fees + held + refunded);
    this.#findings.check(
      'I5',
      position,
      missing === this.#missing,
      () =>
        `${arrived} arrived; ${minted} minted, ${fees} fees, ${held} held, ${refunded} paid back`,
    );
    this.#missing = missing;
  }

  /**
   * An event may have no effect when its writer lost a race: then it was written for an earlier
   * offset than the one it has. At the offset that it was written for this is a violation.
   */
  #withoutEffect(event: TreasuryEvent, position: LogPosition, isReported: boolean): void {
    this.without_effect++;
    if (isReported || !isWrittenFor(event, position.offset)) return;
    this.#findings.check(
      event.type === 'MintIntended' ? 'I4' : 'I6',
      position,
      false,
      () =>
        `${event.type} of ${subjectOf(event)} does not follow from the events before it, and has no effect`,
    );
  }

  #governance(event: GovernanceEvent, offset: bigint): void {
    switch (event.type) {
      case 'AuthoritySet':
        this.authorities.add(bytesKey(event.authority));
        this.#lastNonce = -1;
        this.#freeNonces.clear();
        return;
      case 'LedgerPinned':
        // a ledger that named its authority before names the same
        this.authorities.add(bytesKey(event.authority));
        return;
      case 'BaselinePinned':
        this.baseline = { event, offset };
        return;
      case 'MintAcknowledged':
        this.acknowledged.set(event.tx_hash.toString('hex'), { event, offset });
        return;
      case 'OperatorsSet':
      case 'CustodyPinned':
      case 'SurplusBooked':
      case 'MintingSet':
    }
  }

  #deposit(event: DepositEvent, position: LogPosition, before: Deposit['status']): void {
    const after = this.ledger.deposit(event.deposit_id).status;
    this.#findings.check(
      'I6',
      position,
      TRANSITIONS[before].includes(after),
      () => `deposit ${event.deposit_id} went from ${before} to ${after} by ${event.type}`,
    );
    const intent = this.#newest.get(event.deposit_id);
    switch (event.type) {
      case 'DepositConfirmed':
        this.#terms.set(event.deposit_id, event);
        this.sums.arrived += event.gross;
        this.sums.fees += event.fee > event.gross ? event.gross : event.fee;
        this.sums.held += event.credit;
        this.#confirmed(event, position);
        return;
      case 'DepositHeld':
        this.#approved.delete(event.deposit_id);
        if (intent?.outcome === 'live') this.#giveUp(intent, 'failed');
        return;
      case 'DepositApproved':
        // the first of two approvals changes no status
        if (after === 'confirmed') this.#approved.add(event.deposit_id);
        return;
      case 'DepositRejected':
        if (intent?.outcome === 'live') this.#released(intent, 'released');
        return;
      case 'RefundRecorded':
        return this.#refunded(event);
      case 'MintIntended':
        return this.#intended(event, position);
      case 'MintDead':
        if (intent === undefined) return;
        this.#giveUp(intent, 'dead');
        intent.given_up_for = {
          tx_hash: event.other_tx_hash,
          height: event.block_height,
          offset: position.offset,
        };
        return;
      case 'MintCredited':
        if (intent === undefined) return;
        intent.outcome = 'credited';
        intent.credited_at = position.offset;
        intent.block = { height: event.block_height, hash: event.block_hash };
        this.sums.minted += intent.amount;
        this.sums.held -= intent.amount;
        return;
      case 'MintVoided':
        if (intent === undefined) return;
        if (intent.outcome === 'credited') {
          this.sums.minted -= intent.amount;
          this.sums.held += intent.amount;
        }
        intent.is_foreign = event.reason === NOT_OF_OUR_KEY;
        this.#released(intent, 'void');
    }
  }

  #confirmed(event: DepositConfirmed, position: LogPosition): void {
    const { custody_addresses } = this.ledger.governance.custody ?? {};
    const inForce = { policy: this.#policy, custody_addresses };
    if (this.#onConfirmed(event, position, inForce)) this.#internal.add(event.deposit_id);
  }

  /** The credit is paid back first, then the fee. */
  #refunded({ deposit_id: depositId, amount }: RefundRecorded): void {
    const credit = this.#terms.get(depositId)?.credit ?? 0n;
    const ofCredit = amount < credit ? amount : credit;
    this.sums.refunded += amount;
    this.sums.held -= ofCredit;
    this.sums.fees -= amount - ofCredit;
  }

  /** The nonce counts again; the mints in flight are each the newest of its deposit. */
  #released(intent: Intent, outcome: 'released' | 'void'): void {
    this.#giveUp(intent, outcome);
    if (outcome === 'void') this.#unmake();
    const live = [...this.#newest.values()].filter((each) => each.outcome === 'live');
    this.#lastNonce = Math.max(-1, ...live.map(({ nonce }) => nonce));
    this.#freeNonces.add(intent.nonce);
    for (const nonce of this.#freeNonces)
      if (nonce >= this.#lastNonce || live.some((each) => each.nonce === nonce))
        this.#freeNonces.delete(nonce);
  }

  /** The window is again what the mints that are not given up make it. */
  #unmake(): void {
    const counted = [...this.intents.values()].filter(
      ({ outcome }) => outcome === 'live' || outcome === 'credited',
    );
    this.#lastAt = counted.reduce((time, { at }) => Math.max(time, at), 0);
    this.#window.clear();
    this.#windowSum = 0n;
    for (const each of counted) {
      if (each.at <= this.#lastAt - DAY_MS) continue;
      this.#window.add(each);
      this.#windowSum += each.amount;
    }
  }

  #giveUp(intent: Intent, outcome: 'dead' | 'failed' | 'released' | 'void'): void {
    intent.outcome = outcome;
    if (this.#window.delete(intent)) this.#windowSum -= intent.amount;
  }

  #intended(event: MintIntended, position: LogPosition): void {
    const { deposit_id: depositId, nonce, to, amount, tx_hash, decided_at } = event;
    const check = this.#findings.at(position);
    const terms = this.#terms.get(depositId);
    const isCredit =
      terms !== undefined &&
      amount === terms.gross - terms.fee &&
      to.equals(terms.clt_address) &&
      event.fee === terms.fee;
    check(
      'I3',
      isCredit,
      () =>
        `the mint requested for deposit ${depositId} is not of what it credits, or not for its owner`,
    );
    const at = Math.max(this.#lastAt, decided_at);
    const intent: Intent = {
      deposit_id: depositId,
      nonce,
      to,
      amount,
      offset: position.offset,
      decided_at,
      at,
      outcome: 'live',
      block: undefined,
      given_up_for: undefined,
      credited_at: undefined,
      is_foreign: false,
    };
    const sum = this.#within(at) + amount;
    const cap = this.#policy?.rolling_cap ?? 0n;
    check('I4', sum <= cap, () => `${sum} within 24 hours is above the rolling cap of ${cap}`);
    const limits = this.#policies.get(terms?.policy_version ?? 0);
    const isInside = limits !== undefined && holdReasonOf(limits, amount) === undefined;
    check(
      'I4',
      (isInside && !this.#internal.has(depositId)) || this.#approved.has(depositId),
      () =>
        `deposit ${depositId} is ${isInside ? 'of money that was among ours' : 'outside the limits of a single mint'}, and nobody has approved it`,
    );
    check(
      'I2',
      nonce > this.#lastNonce || this.#freeNonces.has(nonce),
      () => `nonce ${nonce} was requested before, or is below that of another mint`,
    );
    const hash = tx_hash.toString('hex');
    const isFirst = (this.intents.get(hash)?.deposit_id ?? depositId) === depositId;
    check(
      'I2',
      isFirst,
      () => `the mint of deposit ${depositId} names the transaction of another one`,
    );
    if (isFirst) this.intents.set(hash, intent);
    this.#newest.set(depositId, intent);
    this.#window.add(intent);
    this.#windowSum = sum;
    this.#freeNonces.delete(nonce);
    this.#lastNonce = Math.max(this.#lastNonce, nonce);
    this.#lastAt = at;
  }

  /** The sum of the mints requested in the 24 hours before `at` and not given up. */
  #within(at: number): bigint {
    for (const intent of this.#window) {
      if (intent.at > at - DAY_MS) break;
      this.#window.delete(intent);
      this.#windowSum -= intent.amount;
    }
    return this.#windowSum;
  }
}

function subjectOf(event: TreasuryEvent): string {
  return isDepositEvent(event) ? `deposit ${event.deposit_id}` : treasuryEventKey(event);
}
