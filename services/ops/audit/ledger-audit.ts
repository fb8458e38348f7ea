/** I3 to I6 along `treasury.ledger`: the fold says which events count; what they amount to is worked out anew here, from the events alone. */
import { isWrittenFor, Ledger } from '../../../projections/deposits/domain/ledger.ts';
import type { Deposit } from '../../../projections/deposits/domain/deposit.ts';
import { holdReasonOf } from '../../../schemas/deposit-policy.ts';
import { TREASURY_LEDGER } from '../../../schemas/topics.ts';
import type {
  DepositConfirmed,
  DepositEvent,
  MintIntended,
  PolicySet,
  TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import type { Findings, Place } from './findings.ts';

const DAY_MS = 86_400_000;

/** What of it a deposit may become. */
const ARROWS: Readonly<Record<Deposit['status'], readonly Deposit['status'][]>> = {
  absent: ['confirmed'],
  confirmed: ['needs_manual', 'mint_requested'],
  needs_manual: ['confirmed', 'needs_manual'],
  mint_requested: ['credited', 'confirmed', 'needs_manual'],
  credited: [],
};

export interface Intent {
  readonly deposit_id: string;
  readonly nonce: number;
  readonly to: Buffer;
  readonly amount: bigint;
  readonly offset: bigint;
  /** by the ledger */
  readonly at: number;
  outcome: 'live' | 'credited' | 'dead' | 'failed';
  /** what has taken its nonce, as its end says */
  given_up_for:
    { readonly tx_hash: Buffer; readonly height: number; readonly offset: bigint } | undefined;
  /** where a credit says that it stands */
  block: { readonly height: number; readonly hash: Buffer } | undefined;
}

type OnConfirmed = (event: DepositConfirmed, place: Place, policy: PolicySet | undefined) => void;

export class LedgerAudit {
  readonly ledger = new Ledger();
  /** every intent that counts, by the hash of its transaction in hex */
  readonly intents = new Map<string, Intent>();
  readonly counts = { records: 0, without_effect: 0 };
  readonly #findings: Findings;
  readonly #onConfirmed: OnConfirmed;
  readonly #policies = new Map<number, PolicySet>();
  #policy: PolicySet | undefined;
  readonly #terms = new Map<string, DepositConfirmed>();
  readonly #approved = new Set<string>();
  /** in order */
  readonly #counted: Intent[] = [];
  /** by deposit */
  readonly #newest = new Map<string, Intent>();
  readonly #sums = { arrived: 0n, minted: 0n, fees: 0n, held: 0n };

  /** `onConfirmed` is told of every confirmation that counts. */
  constructor(findings: Findings, onConfirmed: OnConfirmed) {
    this.#findings = findings;
    this.#onConfirmed = onConfirmed;
  }

  get sums(): {
    readonly arrived: bigint;
    readonly minted: bigint;
    readonly fees: bigint;
    readonly held: bigint;
  } {
    return this.#sums;
  }

  apply(event: TreasuryEvent, offset: bigint): void {
    const place = { topic: TREASURY_LEDGER.name, partition: 0, offset };
    const before = event.type === 'PolicySet' ? undefined : this.ledger.deposit(event.deposit_id);
    this.counts.records++;
    if (this.ledger.apply(event, offset) !== 'applied') this.#withoutEffect(event, place);
    else if (event.type === 'PolicySet') this.#setPolicy(event);
    else this.#deposit(event, place, before?.status ?? 'absent');
    const { arrived, minted, fees, held } = this.#sums;
    this.#findings.look(
      'I5',
      place,
      arrived === minted + fees + held,
      () => `${arrived} arrived; ${minted} minted, ${fees} fees, ${held} held`,
    );
  }

  /** Whoever writes for the place where it stands knew all that is before it: only what came after somebody else's may count for nothing. */
  #withoutEffect(event: TreasuryEvent, place: Place): void {
    this.counts.without_effect++;
    if (!isWrittenFor(event, place.offset)) return;
    const invariant = event.type === 'MintIntended' ? 'I4' : 'I6';
    const whose =
      event.type === 'PolicySet' ? `version ${event.version}` : `deposit ${event.deposit_id}`;
    this.#findings.look(
      invariant,
      place,
      false,
      () => `${event.type} of ${whose} does not fit what is before it, and counts for nothing`,
    );
  }

  #setPolicy(event: PolicySet): void {
    this.#policy = event;
    this.#policies.set(event.version, event);
  }

  #deposit(event: DepositEvent, place: Place, before: Deposit['status']): void {
    const after = this.ledger.deposit(event.deposit_id).status;
    this.#findings.look(
      'I6',
      place,
      ARROWS[before].includes(after),
      () => `deposit ${event.deposit_id} went from ${before} to ${after} by ${event.type}`,
    );
    const intent = this.#newest.get(event.deposit_id);
    switch (event.type) {
      case 'DepositConfirmed':
        this.#terms.set(event.deposit_id, event);
        this.#confirmed(event);
        return this.#onConfirmed(event, place, this.#policy);
      case 'DepositHeld':
        this.#approved.delete(event.deposit_id);
        if (intent?.outcome === 'live') intent.outcome = 'failed';
        return;
      case 'DepositApproved':
        this.#approved.add(event.deposit_id);
        return;
      case 'DepositRejected':
        return;
      case 'MintIntended':
        return this.#intended(event, place);
      case 'MintDead':
        if (intent === undefined) return;
        intent.outcome = 'dead';
        intent.given_up_for = {
          tx_hash: event.other_tx_hash,
          height: event.block_height,
          offset: place.offset,
        };
        return;
      case 'MintCredited':
        if (intent === undefined) return;
        intent.outcome = 'credited';
        intent.block = { height: event.block_height, hash: event.block_hash };
        this.#sums.minted += intent.amount;
        this.#sums.held -= intent.amount;
    }
  }

  #confirmed({ gross, fee, credit }: DepositConfirmed): void {
    this.#sums.arrived += gross;
    this.#sums.fees += fee > gross ? gross : fee;
    this.#sums.held += credit;
  }

  #intended(event: MintIntended, place: Place): void {
    const { deposit_id: id, nonce, to, amount, tx_hash } = event;
    const terms = this.#terms.get(id);
    const isCredit =
      terms !== undefined &&
      amount === terms.gross - terms.fee &&
      to.equals(terms.clt_address) &&
      event.fee === terms.fee;
    this.#findings.look(
      'I3',
      place,
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
      offset: place.offset,
      at,
      outcome: 'live',
      block: undefined,
      given_up_for: undefined,
    };
    const sum = this.#within(at) + amount;
    const cap = this.#policy?.rolling_cap ?? 0n;
    this.#findings.look(
      'I4',
      place,
      sum <= cap,
      () => `${sum} within 24 hours is above the rolling cap of ${cap}`,
    );
    const limits = this.#policies.get(terms?.policy_version ?? 0);
    const isInside = limits !== undefined && holdReasonOf(limits, amount) === undefined;
    this.#findings.look(
      'I4',
      place,
      isInside || this.#approved.has(id),
      () => `deposit ${id} is outside the limits of a single mint, and nobody has approved it`,
    );
    const isNext = nonce > (last?.nonce ?? -1);
    this.#findings.look(
      'I2',
      place,
      isNext,
      () => `nonce ${nonce} was requested before, or is below that of another mint`,
    );
    this.intents.set(tx_hash.toString('hex'), intent);
    this.#counted.push(intent);
    this.#newest.set(id, intent);
  }

  /** What was requested in the 24 hours up to a moment and was not given up. */
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
