/** The running CLT chain: accepts transactions, makes and stores blocks, wakes long polls. */
import type { ChainStore } from '../store/chain-store.ts';
import type { Block } from './block.ts';
import { refused, type Refused } from './calls.ts';
import type { Anchor, Authority, Chain } from './chain.ts';
import {
  verify,
  type ExecutionRefusal,
  type VerifiedTransaction,
  type VerifyRefusal,
} from './execute.ts';
import type { Genesis } from './genesis.ts';

export type SubmitRefusal =
  VerifyRefusal | ExecutionRefusal | Refused<'already_known' | 'mempool_full'>;

interface NodeObserver {
  /** `blocks` are stored, and the last one is the head */
  blocksAdded(blocks: readonly Block[]): void;
  /** the chain cannot be stored: the process must exit */
  broken(error: unknown): void;
}

export class CltNode {
  readonly genesis: Genesis;
  readonly chain: Chain;
  readonly store: ChainStore;
  readonly #observer: NodeObserver;
  readonly #waiters = new Set<() => void>();
  #closed = false;

  constructor(genesis: Genesis, store: ChainStore, observer: NodeObserver) {
    this.genesis = genesis;
    this.chain = store.chain;
    this.store = store;
    this.#observer = observer;
  }

  /** Verifies a raw transaction and adds it to the mempool. */
  submit(raw: Uint8Array): VerifiedTransaction | SubmitRefusal {
    const transaction = verify(raw, this.chain.parameters.chain_id);
    return 'refused' in transaction ? transaction : this.enqueue(transaction);
  }

  /** Adds a verified transaction to the mempool. */
  enqueue(transaction: VerifiedTransaction): VerifiedTransaction | SubmitRefusal {
    return this.chain.mempool.add(transaction) ?? transaction;
  }

  /** Makes the next block of waiting transactions. `now` in Unix milliseconds. */
  produce(now: number): Block {
    const assembled = this.chain.propose(now);
    this.chain.append(assembled);
    this.#persist([assembled.block]);
    return assembled.block;
  }

  /** From the next block on, only this account may mint. */
  rotateAuthority(mint_authority: string): Authority {
    const authority = { from_height: this.head.height + 1, mint_authority };
    this.store.setAuthorities([...this.chain.authorities, authority]);
    return authority;
  }

  /** Replaces the newest `depth` blocks by one more. Final blocks cannot be replaced. */
  reorganise(
    depth: number,
    now: number,
    random: () => number,
  ): ReturnType<Chain['reorganise']> | Refused<'would_revert_final_blocks'> {
    const { head, finalized_height: finalizedHeight } = this.chain;
    const depthMax = head.height - finalizedHeight;
    if (depth > depthMax)
      return refused(
        'would_revert_final_blocks',
        `the head is ${head.height} and ${finalizedHeight} is final: at most ${depthMax} blocks can be replaced`,
      );
    const branch = this.chain.reorganise(depth, now, random);
    this.#persist(branch.added);
    return branch;
  }

  /** Resolves when the condition holds, after `wait_ms`, on abort, or when the node closes. */
  async waitUntil(condition: () => boolean, wait_ms: number, signal: AbortSignal): Promise<void> {
    if (condition() || this.#closed || wait_ms <= 0 || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = (): void => {
      if (this.#closed || condition()) resolve();
    };
    const timer = setTimeout(resolve, wait_ms);
    signal.addEventListener('abort', () => resolve(), { once: true });
    this.#waiters.add(check);
    await promise;
    clearTimeout(timer);
    this.#waiters.delete(check);
  }

  /** The number of long polls. */
  get waiting(): number {
    return this.#waiters.size;
  }

  get head(): Anchor {
    return this.chain.head;
  }

  /** Ends every long poll. No block may be made afterwards. */
  release(): void {
    this.#closed = true;
    for (const check of this.#waiters) check();
  }

  #persist(blocks: readonly Block[]): void {
    if (this.#closed) throw new Error('a block was made after the node closed');
    this.store.write(blocks);
    this.store.flush().catch((error: unknown) => this.#observer.broken(error));
    this.#observer.blocksAdded(blocks);
    for (const check of this.#waiters) check();
  }
}
