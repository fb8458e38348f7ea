/**
 * I3 to I6 along `treasury.ledger`. The fold decides which events count; sums, limits and statuses
 * are computed here a second time, from the events alone.
 */
import { isWrittenFor, Ledger } from '../../../projections/deposits/domain/ledger.ts';
import type { Deposit } from '../../../projections/deposits/domain/deposit.ts';
import { holdReasonOf } from '../../../schemas/deposit-policy.ts';
import { TREASURY_LEDGER } from '../../../schemas/topics.ts';
import {
  isDepositEvent,
  treasuryEventKey,
  type DepositConfirmed,
  type DepositEvent,
  type MintIntended,
  type PolicySet,
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
  credited: [],
};

/** A mint that was requested. */
export interface Intent {
  readonly deposit_id: string;
  readonly nonce: number;
  readonly to: Buffer;
  readonly amount: bigint;
  readonly offset: bigint;
  /** Unix milliseconds, never less than that of the intent before */
  readonly at: number;
  outcome: 'live' | 'credited' | 'dead' | 'failed';
  /** the transaction that took its nonce, by `MintDead` */
  given_up_for:
    { readonly tx_hash: Buffer; readonly height: number; readonly offset: bigint } | undefined;
  /** the block of its credit, by `MintCredited` */
  block: { readonly height: number; readonly hash: Buffer } | undefined;
}

export class LedgerAudit {
  readonly ledger = new Ledger();
  /** by transaction hash in hex; those that count */
  readonly intents = new Map<string, Intent>();
  /** records */
  withoutEffect = 0;
  /** micro-USDT */
  readonly sums = { arrived: 0n, minted: 0n, fees: 0n, held: 0n };
  readonly #findings: Findings;
  readonly #onConfirmed: TransferAudit['confirmed'];
  readonly #policies = new Map<number, PolicySet>();
  #policy: PolicySet | undefined;
  readonly #terms = new Map<string, DepositConfirmed>();
  readonly #approved = new Set<string>();
  /** the same in the order of the ledger */
  readonly #counted: Intent[] = [];
  /** the newest one of each deposit */
  readonly #newest = new Map<string, Intent>();

  /** `onConfirmed` gets every confirmation that counts, with the policy in force before it. */
  constructor(findings: Findings, onConfirmed: TransferAudit['confirmed']) {
    this.#findings = findings;
    this.#onConfirmed = onConfirmed;
  }

  apply(event: TreasuryEvent, offset: bigint, valueHash?: Buffer): void {
    const position = { topic: TREASURY_LEDGER.name, partition: 0, offset };
    const before = isDepositEvent(event) ? this.ledger.deposit(event.deposit_id) : undefined;
    if (this.ledger.apply(event, offset, valueHash) !== 'applied')
      this.#withoutEffect(event, position);
    else if (event.type === 'PolicySet') {
      this.#policy = event;
      this.#policies.set(event.version, event);
    } else if (isDepositEvent(event)) this.#deposit(event, position, before?.status ?? 'absent');
    const { arrived, minted, fees, held } = this.sums;
    this.#findings.check(
      'I5',
      position,
      arrived === minted + fees + held,
      () => `${arrived} arrived; ${minted} minted, ${fees} fees, ${held} held`,
    );
  }

  /**
   * An event may have no effect when its writer lost a race: then it was written for an earlier
   * offset than the one it has. At the offset that it was written for this is a violation.
   */
  #withoutEffect(event: TreasuryEvent, position: LogPosition): void {
    this.withoutEffect++;
    if (!isWrittenFor(event, position.offset)) return;
    const invariant = event.type === 'MintIntended' ? 'I4' : 'I6';
    const whose = isDepositEvent(event) ? `deposit ${event.deposit_id}` : treasuryEventKey(event);
    this.#findings.check(
      invariant,
      position,
      false,
      () =>
        `${event.type} of ${whose} does not follow from the events before it, and has no effect`,
    );
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
        return this.#onConfirmed(event, position, this.#policy);
      case 'DepositHeld':
        this.#approved.delete(event.deposit_id);
        if (intent?.outcome === 'live') intent.outcome = 'failed';
        return;
      case 'DepositApproved':
        this.#approved.add(event.deposit_id);
        return;
      case 'DepositRejected':
      case 'RefundRecorded':
        return;
      case 'MintIntended':
        return this.#intended(event, position);
      case 'MintDead':
        if (intent === undefined) return;
        intent.outcome = 'dead';
        intent.given_up_for = {
          tx_hash: event.other_tx_hash,
          height: event.block_height,
          offset: position.offset,
        };
        return;
      case 'MintCredited':
        if (intent === undefined) return;
        intent.outcome = 'credited';
        intent.block = { height: event.block_height, hash: event.block_hash };
        this.sums.minted += intent.amount;
        this.sums.held -= intent.amount;
    }
  }

  #intended(event: MintIntended, position: LogPosition): void {
    const { deposit_id: id, nonce, to, amount, tx_hash } = event;
    const check = this.#findings.at(position);
    const terms = this.#terms.get(id);
    const isCredit =
      terms !== undefined &&
      amount === terms.gross - terms.fee &&
      to.equals(terms.clt_address) &&
      event.fee === terms.fee;
    check(
      'I3',
      isCredit,
      () => `the mint requested for deposit ${id} is not of what it credits, or not for its owner`,
    );
    const last = this.#counted.at(-1);
    const at = Math.max(last?.at ?? 0, event.decided_at);
    const intent: Intent = {
      deposit_id: id,
      nonce,
      to,
      amount,
      offset: position.offset,
      at,
      outcome: 'live',
      block: undefined,
      given_up_for: undefined,
    };
    const sum = this.#within(at) + amount;
    const cap = this.#policy?.rolling_cap ?? 0n;
    check('I4', sum <= cap, () => `${sum} within 24 hours is above the rolling cap of ${cap}`);
    const limits = this.#policies.get(terms?.policy_version ?? 0);
    const isInside = limits !== undefined && holdReasonOf(limits, amount) === undefined;
    check(
      'I4',
      isInside || this.#approved.has(id),
      () => `deposit ${id} is outside the limits of a single mint, and nobody has approved it`,
    );
    const isNext = nonce > (last?.nonce ?? -1);
    check(
      'I2',
      isNext,
      () => `nonce ${nonce} was requested before, or is below that of another mint`,
    );
    this.intents.set(tx_hash.toString('hex'), intent);
    this.#counted.push(intent);
    this.#newest.set(id, intent);
  }

  /** The sum of the mints requested in the 24 hours before `at` and not given up. */
  #within(at: number): bigint {
    let sum = 0n;
    for (let index = this.#counted.length - 1; index >= 0; index--) {
      const intent = this.#counted[index];
      if (intent === undefined || intent.at <= at - DAY_MS) break;
      if (intent.outcome === 'live' || intent.outcome === 'credited') sum += intent.amount;
    }
    return sum;
  }
}
