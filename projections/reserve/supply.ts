/**
 * The chain's side of a reconciliation: the supply and its mints in final blocks of `chain.blocks`.
 * Created and burned amounts are read from balance effects alone, never from the claims of a call.
 */
import { bytesKey } from '../../schemas/address.ts';
import type { BlockAppended, ChainEvent } from '../../schemas/chain.blocks/events.ts';
import { EMPTY_CHAIN, evolve, type Chain } from '../chain/chain.ts';

/** The state after one final block, from the first block on. Amounts are base units. */
export interface FinalSupply {
  readonly height: number;
  readonly hash: Buffer;
  /** block time, Unix milliseconds */
  readonly timestamp: number;
  /** created by the first block */
  readonly genesis_allocation: bigint;
  /** sum of all balance effects */
  readonly supply: bigint;
  readonly burned: bigint;
}

/** Created by one transaction for one account. */
export interface ChainMint {
  readonly height: number;
  readonly to: Buffer;
  readonly amount: bigint;
}

interface BlockChange {
  readonly height: number;
  readonly hash: Buffer;
  readonly timestamp: number;
  readonly created: bigint;
  readonly burned: bigint;
  readonly mints: readonly (ChainMint & { readonly tx_hash: Buffer })[];
}

export type SupplyVerdict = 'applied' | 'replayed' | 'ignored' | { readonly broken: string };

/** Everything that was folded. */
export interface SupplyState {
  chain: Chain;
  end: bigint;
  final: FinalSupply | undefined;
  /** changes of the revertible blocks, the newest last */
  readonly open: BlockChange[];
  /** the sums of what was burned, by the height of the block that burned, ascending */
  readonly burned: { readonly height: number; readonly burned: bigint }[];
  /** by transaction, its hash as `bytesKey` gives it */
  readonly mints: Map<string, readonly ChainMint[]>;
}

export class ChainSupply {
  readonly #onFinal: (final: FinalSupply) => void;
  #state: SupplyState = {
    chain: EMPTY_CHAIN,
    end: 0n,
    final: undefined,
    open: [],
    burned: [],
    mints: new Map(),
  };

  /** `onFinal` gets every final block, in order. */
  constructor(onFinal: (final: FinalSupply) => void = () => undefined) {
    this.#onFinal = onFinal;
  }

  /** To be copied at once: it changes with the next record. */
  get state(): SupplyState {
    return this.#state;
  }

  /** Goes on from the state of another. */
  restore(state: SupplyState): boolean {
    this.#state = state;
    return true;
  }

  /** The offset after the last record folded. */
  get end(): bigint {
    return this.#state.end;
  }

  /** Undefined until a block is final. */
  get final(): FinalSupply | undefined {
    return this.#state.final;
  }

  /** Mints of a transaction in a final block. */
  mintsOf(txHash: Buffer): readonly ChainMint[] {
    return this.#state.mints.get(bytesKey(txHash)) ?? [];
  }

  /** Burned in final blocks up to this height. */
  burnedUpTo(height: number): bigint {
    return this.#state.burned.findLast((each) => each.height <= height)?.burned ?? 0n;
  }

  /** Folds the record at this offset; every record, in order. `broken`: an impossible log. */
  apply(event: ChainEvent, offset: bigint): SupplyVerdict {
    if (offset < this.#state.end) return 'replayed';
    const judged = evolve(this.#state.chain, event, offset);
    if (judged.verdict === 'broken') return { broken: judged.reason };
    const isApplied = judged.verdict === 'applied';
    const isFirst =
      isApplied && event.type === 'BlockAppended' && this.#state.chain.status === 'empty';
    if (isFirst && event.height !== 0)
      return { broken: `the first block is ${event.height}, not 0: blocks before it are missing` };
    this.#state.end = offset + 1n;
    if (judged.verdict !== 'applied') return judged.verdict;
    this.#state.chain = judged.chain;
    switch (event.type) {
      case 'BlockAppended':
        this.#state.open.push(changeOf(event));
        return 'applied';
      case 'BlockReverted':
        this.#state.open.pop();
        return 'applied';
      case 'BlocksFinalized': {
        const behind = this.#state.open.findIndex(({ height }) => height > event.height);
        for (const change of this.#state.open.splice(
          0,
          behind === -1 ? this.#state.open.length : behind,
        ))
          this.#settle(change);
        return 'applied';
      }
    }
  }

  #settle({ height, hash, timestamp, created, burned, mints }: BlockChange): void {
    const before = this.#state.final;
    this.#state.final = {
      height,
      hash,
      timestamp,
      genesis_allocation: before?.genesis_allocation ?? created,
      supply: (before?.supply ?? 0n) + created,
      burned: (before?.burned ?? 0n) + burned,
    };
    if (burned !== 0n) this.#state.burned.push({ height, burned: this.#state.final.burned });
    for (const { tx_hash, ...mint } of mints)
      this.#state.mints.set(bytesKey(tx_hash), [...this.mintsOf(tx_hash), mint]);
    this.#onFinal(this.#state.final);
  }
}

function changeOf(block: BlockAppended): BlockChange {
  const { height, hash, timestamp, transactions, balance_effects: balanceEffects } = block;
  let created = 0n;
  let burned = 0n;
  const mints: (ChainMint & { readonly tx_hash: Buffer })[] = [];
  for (const { address, kind, delta, tx_index: txIndex } of balanceEffects) {
    created += delta;
    if (kind === 'burn') burned -= delta;
    const tx_hash = kind !== 'mint' || txIndex === null ? undefined : transactions[txIndex]?.hash;
    if (tx_hash !== undefined) mints.push({ tx_hash, height, to: address, amount: delta });
  }
  return { height, hash, timestamp, created, burned, mints };
}
