/**
 * The treasury's state: a fold of `treasury.ledger` and `deposit.addresses`. The decisions in
 * `confirmation.ts`, `minting.ts` and `approval.ts` read it and change nothing.
 *
 * The log itself is the compare-and-set, as in `chain/chain.ts`: an event's `sequence` is the
 * offset that its writer wrote it for, and the event counts only at that offset. A batch that lost
 * a race therefore has no effect as a whole: its writer folds the other batch and decides again.
 * Intents to mint are judged once more, by the events before them alone: see `mint-book.ts`.
 *
 * Every event that stands where it was written for is a record of the chain (LOG-8), whether or not
 * it fits. One that breaks a rule of its fields has no effect, whoever signed it.
 */
import { bytesKey } from '../../../schemas/address.ts';
import { linked, NO_RECORDS } from '../../../schemas/hash-chain.ts';
import { shortfallOf } from '../../../schemas/deposit-policy.ts';
import { brokenRule } from '../../../schemas/rules.ts';
import { LEDGER_RULES } from '../../../schemas/treasury.ledger/rules.ts';
import {
  depositEventsIn,
  isDepositEvent,
  type DepositConfirmed,
  type DepositEvent,
  type DepositsDecided,
  type GovernanceEvent,
  type MintIntended,
  type PolicySet,
  type RefundRecorded,
  type TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import { AddressBook } from './address-book.ts';
import {
  ABSENT,
  evolve,
  isDecidable,
  type Approvals,
  type Credited,
  type Deposit,
  type MintRequested,
} from './deposit.ts';
import {
  Governance,
  isRotation,
  misfitOf,
  type DecidedOn,
  type LedgerFacts,
  type Misfit,
} from './governance.ts';
import { MintBook, type CountedMint } from './mint-book.ts';
import type { Policy } from './proof.ts';
import { MintQueue, type QueuedDeposit } from './mint-queue.ts';

/** Sums over all deposits, in micro-USDT: gross = credit + fees - shortfalls. */
export interface Sums {
  readonly gross: bigint;
  readonly credit: bigint;
  readonly fees: bigint;
  /** how much fees exceeded what arrived */
  readonly shortfalls: bigint;
  /** the part of the credit that is minted in final blocks */
  readonly minted: bigint;
  /** paid back after rejections */
  readonly refunded: bigint;
}

/** An intent to mint that counts. */
export interface RequestedMint extends Pick<
  MintIntended,
  'deposit_id' | 'sequence' | 'nonce' | 'to' | 'amount' | 'tx_hash'
> {
  /** the ledger's time, Unix milliseconds */
  readonly at: number;
  /** whose nonce it has; undefined: requested before the ledger named an authority */
  readonly authority: Buffer | undefined;
}

/** A refund that a person recorded. */
export type Refund = Pick<RefundRecorded, 'tron_tx_id' | 'amount'>;

/** A record that breaks a rule of its fields: it has no effect. */
export interface BrokenRecord {
  readonly offset: bigint;
  readonly type: TreasuryEvent['type'];
  /** in words */
  readonly rule: string;
}

function newState() {
  const none: Sums = { gross: 0n, credit: 0n, fees: 0n, shortfalls: 0n, minted: 0n, refunded: 0n };
  const broken: BrokenRecord[] = [];
  return {
    deposits: new Map<string, Deposit>(),
    /** how many deposits an account has, by its `bytesKey` */
    counts: new Map<string, number>(),
    /** every intent that ever counted, by its sequence */
    requested: new Map<number, RequestedMint>(),
    /** by the `bytesKey` of its hash; one that names the hash of another is left out */
    requested_by: new Map<string, RequestedMint>(),
    /** the mints in flight, by nonce, in order */
    live: new Map<number, RequestedMint>(),
    /** by deposit, its mints that were given up (dead, failed or released), the newest last */
    given_up: new Map<string, readonly RequestedMint[]>(),
    refunds: new Map<string, Refund>(),
    /** the deposits that were paid back, by the `bytesKey` of the transaction's hash on TRON */
    refunded_by: new Map<string, string>(),
    broken,
    sums: none,
    is_policy_signed: false,
    end: 0n,
    head: NO_RECORDS,
  };
}

export class Ledger {
  readonly addresses = new AddressBook();
  readonly governance = new Governance();
  readonly #book = new MintBook();
  readonly #queue = new MintQueue();
  #state = newState();

  /** Everything folded of the ledger, to be copied at once: it changes with the next record. */
  get state() {
    const { state: governance } = this.governance;
    return { ...this.#state, governance, book: this.#book.state, queue: this.#queue.state };
  }

  /** Goes on from the state of another; the addresses have their own. */
  restore({ governance, book, queue, ...own }: Ledger['state']): void {
    this.#state = own;
    this.governance.restore(governance);
    this.#book.restore(book);
    this.#queue.restore(queue);
  }

  /** The offset after the last record folded: what the next event is written for. */
  get end(): bigint {
    return this.#state.end;
  }

  /** The hash of the last record of the chain; empty before the first. */
  get head(): Buffer {
    return this.#state.head;
  }

  /** The policy in force; undefined before the first. */
  get policy(): Policy | undefined {
    return this.#book.policy;
  }

  get sums(): Sums {
    return this.#state.sums;
  }

  /** Whether operators, or the key of a pinned ledger, have signed the policy in force. */
  get is_policy_signed(): boolean {
    return this.#state.is_policy_signed;
  }

  policyOf(version: number): Policy | undefined {
    return this.#book.policyOf(version);
  }

  /** An unknown deposit is absent. */
  deposit(id: string): Deposit {
    return this.#state.deposits.get(id) ?? ABSENT;
  }

  /** By id, in the order of the ledger. */
  get deposits(): ReadonlyMap<string, Deposit> {
    return this.#state.deposits;
  }

  /** How many deposits an account has: the ordinal of its next. */
  depositsOf(account: Buffer): number {
    return this.#state.counts.get(bytesKey(account)) ?? 0;
  }

  /** The records that break a rule of their fields, in order. */
  get broken(): readonly BrokenRecord[] {
    return this.#state.broken;
  }

  /** The deposit that was paid back with this transaction on TRON, if any. */
  refundedBy(txId: Buffer): string | undefined {
    return this.#state.refunded_by.get(bytesKey(txId));
  }

  /** By deposit, what a person recorded as paid back. */
  get refunds(): ReadonlyMap<string, Refund> {
    return this.#state.refunds;
  }

  /** Deposits that wait to be minted, in the order of service, with those about to be held. */
  get waiting(): Iterable<QueuedDeposit> {
    return this.#queue.waiting;
  }

  get waiting_count(): number {
    return this.#queue.size;
  }

  /** The mints in flight: requested, and neither credited nor given up; by nonce, in order. */
  get live(): ReadonlyMap<number, RequestedMint> {
    return this.#state.live;
  }

  /** The mint that was ever requested with this transaction, if any. */
  requestedBy(txHash: Buffer): RequestedMint | undefined {
    return this.#state.requested_by.get(bytesKey(txHash));
  }

  /** The mint that the MintIntended of this sequence requested, if it counts. */
  requestedAt(sequence: number): RequestedMint | undefined {
    return this.#state.requested.get(sequence);
  }

  /** A deposit's mints that were given up, the newest last. */
  givenUp(depositId: string): readonly RequestedMint[] {
    return this.#state.given_up.get(depositId) ?? [];
  }

  /** The mints that were given up and whose deposits wait to be minted again. */
  get given_up_to_mint(): readonly RequestedMint[] {
    return [...this.#state.given_up].flatMap(([id, mints]) =>
      this.deposit(id).status === 'confirmed' ? mints : [],
    );
  }

  /** Every mint that was ever requested, with those given up, in order. */
  get requested(): Iterable<RequestedMint> {
    return this.#state.requested.values();
  }

  /** Mints requested and not given up, in order: at least those in the window of the cap. */
  get counted(): Iterable<CountedMint> {
    return this.#book.counted;
  }

  /** The nonce that the next intent has to be above, unless it has a free one; -1: any. */
  get last_nonce(): number {
    return this.#book.last_nonce;
  }

  /** Nonces below the last one that count again, ascending. */
  get free_nonces(): readonly number[] {
    return this.#book.free_nonces;
  }

  /** The room under the rolling cap for a mint requested at this moment, micro-USDT. */
  leftAt(now: number): bigint {
    return this.#book.leftAt(now);
  }

  /** When there is room under the rolling cap for a mint of this amount; see `MintBook`. */
  roomAt(amount: bigint, now: number): number | undefined {
    return this.#book.roomAt(amount, now);
  }

  /** Why this decision would have no effect as the next record; signatures are judged apart. */
  misfitOf(event: GovernanceEvent): Misfit | undefined {
    return misfitOf(event, this.governance, this.#facts);
  }

  /**
   * Folds the record at this offset; every record, in order. Repeats have no effect. Throws
   * `BrokenChain`.
   */
  apply(
    event: TreasuryEvent,
    offset: bigint,
    valueHash?: Buffer,
  ): 'applied' | 'replayed' | 'ignored' {
    if (offset < this.#state.end) return 'replayed';
    const counts = isWrittenFor(event, offset);
    // before the end moves: a record that breaks the chain is read again
    if (counts) this.#state.head = linked(this.#state.head, event, offset, valueHash);
    this.#state.end = offset + 1n;
    if (!counts) return 'ignored';
    return this.#takes(event, offset) ? 'applied' : 'ignored';
  }

  #takes(event: TreasuryEvent, offset: bigint): boolean {
    const rule = brokenRule(LEDGER_RULES, event);
    if (rule !== undefined) this.#state.broken.push({ offset, type: event.type, rule });
    return (
      rule === undefined &&
      this.governance.admits(event, this.#decidedOn(event)) &&
      this.#fits(event)
    );
  }

  #decidedOn(event: TreasuryEvent): DecidedOn {
    const deposit = isDepositEvent(event) ? this.deposit(event.deposit_id) : ABSENT;
    return { policy: this.policy, deposit };
  }

  #fits(event: TreasuryEvent): boolean {
    if (isDepositEvent(event)) return this.#evolve(event, this.governance.approvingBy(event));
    if (event.type === 'DepositsDecided') return this.#decide(event);
    if (event.type === 'PolicySet') return this.#setPolicy(event);
    const applied = this.governance.apply(event, this.#facts);
    if (applied && isRotation(event)) this.#book.beginNonces();
    return applied;
  }

  #setPolicy(event: PolicySet): boolean {
    if (!this.#book.setPolicy(event)) return false;
    const { ledger_id, operators } = this.governance;
    this.#state.is_policy_signed =
      ledger_id !== undefined || (operators !== undefined && event.version > 1);
    return true;
  }

  get #facts(): LedgerFacts {
    return {
      is_minting: this.#state.live.size > 0,
      has_minted: this.#state.requested.size > 0,
      network: this.policy?.network,
      isOurs: (txHash) => this.#isOurs(txHash),
    };
  }

  /** Whether a mint in flight or credited has this transaction. */
  #isOurs(txHash: Buffer): boolean {
    const mint = this.requestedBy(txHash);
    if (mint === undefined) return false;
    const deposit = this.deposit(mint.deposit_id);
    return 'mint' in deposit && deposit.mint.tx_hash.equals(txHash);
  }

  #decide(event: DepositsDecided): boolean {
    const approvals = this.governance.approvingBy(event);
    if (!isDecidable(event, (id) => this.deposit(id), approvals)) return false;
    for (const each of depositEventsIn(event)) this.#evolve(each, approvals);
    return true;
  }

  #evolve(event: DepositEvent, approvals: Approvals): boolean {
    const before = this.deposit(event.deposit_id);
    if (!this.#isDue(event, before)) return false;
    const after = evolve(before, event, approvals(before));
    if (after === before) return false;
    this.#state.deposits.set(event.deposit_id, after);
    this.#queue.apply(event, after);
    if (event.type === 'DepositConfirmed') this.#confirmed(event);
    if (event.type === 'MintIntended') this.#intended(event);
    if (event.type === 'RefundRecorded') {
      this.#state.sums = {
        ...this.#state.sums,
        refunded: this.#state.sums.refunded + event.amount,
      };
      this.#state.refunds.set(event.deposit_id, event);
      this.#state.refunded_by.set(bytesKey(event.tron_tx_id), event.deposit_id);
    }
    if (before.status === 'mint_requested') this.#concluded(event, before);
    if (before.status === 'credited') this.#voided(event, before);
    return true;
  }

  /** Whether the rest of the ledger lets the event count. */
  #isDue(event: DepositEvent, before: Deposit): boolean {
    switch (event.type) {
      case 'DepositConfirmed':
        return this.#book.whyNotTerms(event, this.depositsOf(event.clt_address)) === undefined;
      case 'DepositHeld':
        return this.#book.isHold(before, event);
      case 'MintIntended':
        return !this.governance.is_stopped && this.#book.voidReasonOf(before, event) === undefined;
      case 'RefundRecorded':
        // older writers let one transaction pay several deposits back
        return (
          this.governance.ledger_id === undefined || this.refundedBy(event.tron_tx_id) === undefined
        );
      case 'DepositApproved':
      case 'DepositRejected':
      case 'MintCredited':
      case 'MintDead':
      case 'MintVoided':
        return true;
    }
  }

  #confirmed(event: DepositConfirmed): void {
    const { clt_address: cltAddress, gross, fee, credit } = event;
    this.#state.counts.set(bytesKey(cltAddress), this.depositsOf(cltAddress) + 1);
    const sums = this.#state.sums;
    this.#state.sums = {
      ...sums,
      gross: sums.gross + gross,
      credit: sums.credit + credit,
      fees: sums.fees + fee,
      shortfalls: sums.shortfalls + shortfallOf(gross, fee),
    };
  }

  #intended(event: MintIntended): void {
    const { deposit_id, sequence, nonce, to, amount, tx_hash } = event;
    const { at } = this.#book.count(event);
    const authority = this.governance.authority?.authority;
    const mint = { deposit_id, sequence, nonce, to, amount, tx_hash, at, authority };
    const hash = bytesKey(tx_hash);
    this.#state.requested.set(sequence, mint);
    if ((this.#state.requested_by.get(hash)?.deposit_id ?? deposit_id) === deposit_id)
      this.#state.requested_by.set(hash, mint);
    const isLast = this.#state.live.keys().every((other) => other < nonce);
    this.#state.live.set(nonce, mint);
    // a free nonce
    if (!isLast)
      this.#state.live = new Map([...this.#state.live].toSorted(([one], [other]) => one - other));
  }

  /** The mint in flight ended: credited, dead, void, failed on the chain, or released. */
  #concluded(event: DepositEvent, { mint: { nonce, sequence }, terms }: MintRequested): void {
    const ended = this.#state.live.get(nonce);
    this.#state.live.delete(nonce);
    if (event.type === 'MintCredited')
      this.#state.sums = { ...this.#state.sums, minted: this.#state.sums.minted + terms.credit };
    else {
      if (event.type === 'MintVoided') this.#book.unmake(sequence);
      else this.#book.giveUp(sequence);
      if (event.type === 'DepositRejected' || event.type === 'MintVoided')
        this.#book.freeNonce(nonce, this.#state.live.keys());
      if (ended !== undefined) this.#gaveUp(event, ended);
    }
  }

  /** A credit turned out not to be on the chain. */
  #voided(event: DepositEvent, { mint: { nonce, sequence }, terms }: Credited): void {
    this.#state.sums = { ...this.#state.sums, minted: this.#state.sums.minted - terms.credit };
    this.#book.unmake(sequence);
    this.#book.freeNonce(nonce, this.#state.live.keys());
    const mint = this.requestedAt(sequence);
    if (mint !== undefined) this.#gaveUp(event, mint);
  }

  #gaveUp({ deposit_id: depositId }: DepositEvent, mint: RequestedMint): void {
    this.#state.given_up.set(depositId, [...this.givenUp(depositId), mint]);
  }
}

/** True for an event at the offset that it was written for: no other counts. */
export function isWrittenFor(event: TreasuryEvent, offset: bigint): boolean {
  return BigInt(event.sequence) === offset;
}
