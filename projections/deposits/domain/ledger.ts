/**
 * What the treasury knows and decides: a fold of `treasury.ledger` and `deposit.addresses`. The verbs beside it (`decide.ts`, `mint.ts`) ask it and change nothing.
 *
 * The log itself is the compare-and-set, as in `chain/chain.ts`: an event's `sequence` is the offset that its writer wrote it for, and it counts only where it
 * stands at just that offset. A batch that came after somebody else's is thus without effect as a whole: its writer folds what was there first, and decides anew.
 * Intents to mint are judged once more, by what stands before them alone: see `mint-book.ts`.
 */
import { shortfallOf } from '../../../schemas/deposit-policy.ts';
import type {
  DepositConfirmed,
  DepositEvent,
  MintIntended,
  TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import { AddressBook } from './address-book.ts';
import { ABSENT, evolve, type Deposit } from './deposit.ts';
import { MintBook, type CountedMint, type Policy } from './mint-book.ts';
import { MintQueue, type Waiting } from './mint-queue.ts';

/** Sums over all deposits, in micro-USDT: gross = credit + fees - shortfalls. */
export interface Sums {
  readonly gross: bigint;
  readonly credit: bigint;
  readonly fees: bigint;
  /** what fees were larger than what arrived */
  readonly shortfalls: bigint;
  /** of the credit, what is minted and final */
  readonly minted: bigint;
}

/** A mint that was requested. */
export interface RequestedMint {
  readonly deposit_id: string;
  readonly nonce: number;
  readonly to: Buffer;
  readonly amount: bigint;
  readonly tx_hash: Buffer;
  /** by the ledger, Unix milliseconds */
  readonly at: number;
  /** the rolling cap that it was found within */
  readonly rolling_cap: bigint;
}

export class Ledger {
  readonly addresses = new AddressBook();
  readonly #deposits = new Map<string, Deposit>();
  /** how many deposits an address has, by its bytes in latin1 */
  readonly #counts = new Map<string, number>();
  /** where each partition of `tron.transfers` goes on */
  readonly #positions = new Map<number, bigint>();
  readonly #book = new MintBook();
  readonly #queue = new MintQueue();
  /** every one that ever counted, by the hash of its transaction in latin1 */
  readonly #requested = new Map<string, RequestedMint>();
  /** those of which nobody knows yet what became of them, by nonce, in order */
  readonly #live = new Map<number, RequestedMint>();
  /** by deposit, the nonce of its newest mint that was given up */
  readonly #givenUp = new Map<string, number>();
  #sums: Sums = { gross: 0n, credit: 0n, fees: 0n, shortfalls: 0n, minted: 0n };
  #end = 0n;

  /** The offset after the last record folded: what the next event is written for. */
  get end(): bigint {
    return this.#end;
  }

  /** The policy in force; undefined before the first. */
  get policy(): Policy | undefined {
    return this.#book.policy;
  }

  get sums(): Sums {
    return this.#sums;
  }

  policyOf(version: number): Policy | undefined {
    return this.#book.policyOf(version);
  }

  /** A deposit that there is not is absent. */
  deposit(id: string): Deposit {
    return this.#deposits.get(id) ?? ABSENT;
  }

  /** By id, in the order of the ledger. */
  get deposits(): ReadonlyMap<string, Deposit> {
    return this.#deposits;
  }

  /** How many deposits an address has: the ordinal of its next. */
  depositsTo(address: Buffer): number {
    return this.#counts.get(address.toString('latin1')) ?? 0;
  }

  /** The first offset of the partition of `tron.transfers` whose transfers are not all decided, as far as this ledger tells: read on from here after a start. */
  positionIn(partition: number): bigint {
    return this.#positions.get(partition) ?? 0n;
  }

  /** Deposits that wait to be minted, in the order in which they are served. Those that are confirmed and not held yet are among them. */
  get waiting(): Iterable<Waiting> {
    return this.#queue.waiting;
  }

  get waitingCount(): number {
    return this.#queue.size;
  }

  /** Mints that were requested and are neither credited nor given up, by nonce, in order. */
  get live(): ReadonlyMap<number, RequestedMint> {
    return this.#live;
  }

  /** The mint that was ever requested with this transaction; undefined when none that counts was. */
  requestedBy(txHash: Buffer): RequestedMint | undefined {
    return this.#requested.get(txHash.toString('latin1'));
  }

  /** Nonce of the newest mint of a deposit that was given up; -1: none was. */
  givenUpNonce(depositId: string): number {
    return this.#givenUp.get(depositId) ?? -1;
  }

  /** Every mint that was ever requested, those given up among them, in order. */
  get requested(): Iterable<RequestedMint> {
    return this.#requested.values();
  }

  /** Mints requested and not given up, those at least that the rolling cap still has to do with, in order. */
  get counted(): Iterable<CountedMint> {
    return this.#book.counted;
  }

  /** Nonce of the last mint requested; -1 before the first. */
  get lastNonce(): number {
    return this.#book.lastNonce;
  }

  /** What the rolling cap leaves to a mint requested at this moment, micro-USDT. */
  leftAt(now: number): bigint {
    return this.#book.leftAt(now);
  }

  /** Folds the record of `treasury.ledger` at this offset; every record must be given, in order. One given before has no effect again. */
  apply(event: TreasuryEvent, offset: bigint): 'applied' | 'replayed' | 'ignored' {
    if (offset < this.#end) return 'replayed';
    if (offset > this.#end)
      throw new Error(
        `treasury.ledger goes on at ${this.#end}, not at ${offset}: records are missing`,
      );
    this.#end++;
    if (!isWrittenFor(event, offset)) return 'ignored';
    const fits = event.type === 'PolicySet' ? this.#book.setPolicy(event) : this.#evolve(event);
    return fits ? 'applied' : 'ignored';
  }

  #evolve(event: DepositEvent): boolean {
    const before = this.deposit(event.deposit_id);
    if (event.type === 'MintIntended' && this.#book.voidReasonOf(before, event) !== undefined)
      return false;
    const after = evolve(before, event);
    if (after === before) return false;
    this.#deposits.set(event.deposit_id, after);
    this.#note(before, event);
    return true;
  }

  #note(before: Deposit, event: DepositEvent): void {
    const { deposit_id: id } = event;
    switch (event.type) {
      case 'DepositConfirmed':
        return this.#confirmed(event);
      case 'DepositHeld':
        this.#settle(id, before, 'gone');
        return this.#queue.remove(id);
      case 'DepositApproved':
        return this.#queue.enter({
          deposit_id: id,
          place: event.sequence,
          since: event.decided_at,
        });
      case 'DepositRejected':
        return;
      case 'MintIntended':
        return this.#intended(event);
      case 'MintCredited':
        this.#settle(id, before, 'minted');
        return this.#queue.remove(id);
      case 'MintDead':
        this.#settle(id, before, 'gone');
        return this.#queue.comeBack(id);
    }
  }

  #confirmed(event: DepositConfirmed): void {
    const { deposit_address: address, transfer_partition: partition, gross, fee, credit } = event;
    this.#counts.set(address.toString('latin1'), this.depositsTo(address) + 1);
    const next = BigInt(event.transfer_offset) + 1n;
    if (next > this.positionIn(partition)) this.#positions.set(partition, next);
    const { gross: grosses, credit: credits, fees, shortfalls, minted } = this.#sums;
    this.#sums = {
      gross: grosses + gross,
      credit: credits + credit,
      fees: fees + fee,
      shortfalls: shortfalls + shortfallOf(gross, fee),
      minted,
    };
    this.#queue.enter({
      deposit_id: event.deposit_id,
      place: event.sequence,
      since: event.decided_at,
    });
  }

  #intended(event: MintIntended): void {
    const { deposit_id, nonce, to, amount, tx_hash } = event;
    const { at } = this.#book.count(event);
    const mint = {
      deposit_id,
      nonce,
      to,
      amount,
      tx_hash,
      at,
      rolling_cap: this.policy?.rolling_cap ?? 0n,
    };
    this.#requested.set(tx_hash.toString('latin1'), mint);
    this.#live.set(nonce, mint);
    this.#queue.leave(deposit_id);
  }

  /** The mint that was under way is over. */
  #settle(id: string, before: Deposit, outcome: 'minted' | 'gone'): void {
    if (before.status !== 'mint_requested') return;
    const { nonce } = before.mint;
    this.#live.delete(nonce);
    if (outcome === 'gone') {
      this.#book.release(nonce);
      this.#givenUp.set(id, nonce);
    } else this.#sums = { ...this.#sums, minted: this.#sums.minted + before.terms.credit };
  }
}

/** True for an event that counts. */
export function isWrittenFor(event: TreasuryEvent, offset: bigint): boolean {
  return BigInt(event.sequence) === offset;
}
