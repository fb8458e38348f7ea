/**
 * A ledger with its sums over deposits at one block height. A position costs the changes since the
 * position before, not all deposits: there is one for every run.
 */
import { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import {
  DepositSums,
  ledgerPosition,
  type LedgerPosition,
} from '../../../projections/reserve/position.ts';
import type { ChainSupply, FinalSupply } from '../../../projections/reserve/supply.ts';
import { depositEventsIn, type TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';

export interface Told {
  /** of the whole chain, the same in each call */
  readonly supply: ChainSupply;
  /** SHA-256 of the record's value; undefined: no record names it */
  readonly value_hash?: Buffer;
}

export class SummedLedger {
  readonly #ledger = new Ledger();
  #sums = new DepositSums();
  #height = -1;
  /** deposits that are minted above that height, by the height of their Mint */
  readonly #above = new Map<number, string[]>();

  get end(): bigint {
    return this.#ledger.end;
  }

  /** The hash of the last record of the chain (LOG-8); empty before the first. */
  get head(): Buffer {
    return this.#ledger.head;
  }

  /** Returns whether the event counts. */
  apply(event: TreasuryEvent, offset: bigint, { supply, value_hash: valueHash }: Told): boolean {
    const befores = depositEventsIn(event).map(
      ({ deposit_id: depositId }) => [depositId, this.#ledger.deposit(depositId)] as const,
    );
    const counts = this.#ledger.apply(event, offset, valueHash) === 'applied';
    for (const [id, before] of befores) {
      const after = this.#ledger.deposit(id);
      if (after === before) continue;
      this.#sums.add(id, before, supply, this.#height, -1n);
      this.#sums.add(id, after, supply, this.#height);
      if (event.type === 'MintIntended') this.#note(id, supply);
    }
    return counts;
  }

  /** The position with the Mints up to this block; fast where blocks do not go back. */
  at({ height }: Pick<FinalSupply, 'height'>, supply: ChainSupply): LedgerPosition {
    if (height < this.#height) this.#restart(height, supply);
    // a deposit may have been requested twice
    const passed = new Set<string>();
    for (const [minted, ids] of this.#above) {
      if (minted > height) continue;
      this.#above.delete(minted);
      for (const id of ids) passed.add(id);
    }
    for (const id of passed) {
      const deposit = this.#ledger.deposit(id);
      this.#sums.add(id, deposit, supply, this.#height, -1n);
      this.#sums.add(id, deposit, supply, height);
    }
    this.#height = height;
    return ledgerPosition(this.#ledger, supply, { height }, this.#sums);
  }

  #note(id: string, supply: ChainSupply): void {
    const deposit = this.#ledger.deposit(id);
    const [made] = 'mint' in deposit ? supply.mintsOf(deposit.mint.tx_hash) : [];
    if (made === undefined || made.height <= this.#height) return;
    const others = this.#above.get(made.height);
    if (others === undefined) this.#above.set(made.height, [id]);
    else others.push(id);
  }

  #restart(height: number, supply: ChainSupply): void {
    this.#sums = new DepositSums();
    this.#height = height;
    this.#above.clear();
    for (const [id, deposit] of this.#ledger.deposits) {
      this.#sums.add(id, deposit, supply, height);
      this.#note(id, supply);
    }
  }
}
