/**
 * What the treasury knows and decides: a fold of `treasury.ledger` and `deposit.addresses`, and the verbs by which a transfer becomes a deposit.
 *
 * The log itself is the compare-and-set, as in `chain/chain.ts`: an event's `sequence` is the offset that its writer wrote it for, and it counts only where it
 * stands at just that offset. A batch that came after somebody else's is thus without effect as a whole: its writer folds what was there first, and decides anew.
 */
import { shortfallOf } from '../../schemas/deposit-policy.ts';
import type { DepositEvent, PolicySet, TreasuryEvent } from '../../schemas/treasury.ledger/events.ts';
import { AddressBook } from './address-book.ts';
import { ABSENT, evolve, type Deposit } from './deposit.ts';

/** Sums over all deposits, in micro-USDT: gross = credit + fees - shortfalls. */
export interface Sums {
  readonly gross: bigint;
  readonly credit: bigint;
  readonly fees: bigint;
  /** what fees were larger than what arrived */
  readonly shortfalls: bigint;
}

export class Ledger {
  readonly addresses = new AddressBook();
  readonly #deposits = new Map<string, Deposit>();
  /** how many deposits an address has, by its bytes in latin1 */
  readonly #counts = new Map<string, number>();
  /** where each partition of `tron.transfers` goes on */
  readonly #positions = new Map<number, bigint>();
  readonly #policies = new Map<number, PolicySet>();
  #policy: PolicySet | undefined;
  #sums: Sums = { gross: 0n, credit: 0n, fees: 0n, shortfalls: 0n };
  #end = 0n;

  /** The offset after the last record folded: what the next event is written for. */
  get end(): bigint {
    return this.#end;
  }

  /** The policy in force; undefined before the first. */
  get policy(): PolicySet | undefined {
    return this.#policy;
  }

  get sums(): Sums {
    return this.#sums;
  }

  policyOf(version: number): PolicySet | undefined {
    return this.#policies.get(version);
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

  /** Folds the record of `treasury.ledger` at this offset; every record must be given, in order. One given before has no effect again. */
  apply(event: TreasuryEvent, offset: bigint): 'applied' | 'replayed' | 'ignored' {
    if (offset < this.#end) return 'replayed';
    if (offset > this.#end) throw new Error(`treasury.ledger goes on at ${this.#end}, not at ${offset}: records are missing`);
    this.#end++;
    if (!isWrittenFor(event, offset)) return 'ignored';
    const fits = event.type === 'PolicySet' ? this.#setPolicy(event) : this.#evolve(event);
    return fits ? 'applied' : 'ignored';
  }

  #setPolicy(event: PolicySet): boolean {
    if (event.version !== (this.#policy?.version ?? 0) + 1) return false;
    this.#policy = event;
    this.#policies.set(event.version, event);
    return true;
  }

  #evolve(event: DepositEvent): boolean {
    const before = this.deposit(event.deposit_id);
    const after = evolve(before, event);
    if (after === before) return false;
    this.#deposits.set(event.deposit_id, after);
    if (event.type !== 'DepositConfirmed') return true;
    const { deposit_address: address, transfer_partition: partition, gross, fee, credit } = event;
    this.#counts.set(address.toString('latin1'), this.depositsTo(address) + 1);
    const next = BigInt(event.transfer_offset) + 1n;
    if (next > this.positionIn(partition)) this.#positions.set(partition, next);
    const { gross: grosses, credit: credits, fees, shortfalls } = this.#sums;
    this.#sums = {
      gross: grosses + gross,
      credit: credits + credit,
      fees: fees + fee,
      shortfalls: shortfalls + shortfallOf(gross, fee),
    };
    return true;
  }
}

/** True for an event that counts. */
export function isWrittenFor(event: TreasuryEvent, offset: bigint): boolean {
  return BigInt(event.sequence) === offset;
}
