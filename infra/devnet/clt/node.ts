/** The running chain: takes transactions, makes blocks, keeps them, tells those who wait. The one place where chain, disk and waiting readers meet. */
import type { ChainStore } from '../store/chain-store.ts';
import type { Block, SealedBlock } from './block.ts';
import type { Refused } from './call-outcome.ts';
import { refused } from './call-outcome.ts';
import type { Anchor, Chain } from './chain.ts';
import type { ExecutionRefusal, VerifiedTransaction } from './execute.ts';
import type { Genesis } from './genesis.ts';
import type { VerifyRefusal } from './verify.ts';
import { verify } from './verify.ts';

export type SubmitRefusal =
  VerifyRefusal | ExecutionRefusal | Refused<'already_known' | 'mempool_full'>;

export interface NodeObserver {
  /** these blocks are kept and the newest is the head */
  blocksAdded(blocks: readonly Block[]): void;
  /** the chain cannot be kept: the process has to end */
  broken(error: unknown): void;
}

export class CltNode {
  readonly genesis: Genesis;
  readonly chain: Chain;
  readonly #store: ChainStore;
  readonly #observer: NodeObserver;
  readonly #waiters = new Set<() => void>();
  #closed = false;

  constructor(genesis: Genesis, store: ChainStore, observer: NodeObserver) {
    this.genesis = genesis;
    this.chain = store.chain;
    this.#store = store;
    this.#observer = observer;
  }

  /** Checks raw bytes from outside and lets the transaction wait for a block. */
  submit(raw: Uint8Array): VerifiedTransaction | SubmitRefusal {
    const transaction = verify(raw, this.chain.parameters.chain_id);
    return 'refused' in transaction ? transaction : this.enqueue(transaction);
  }

  /** The same for a transaction whose signature is known to be right. */
  enqueue(transaction: VerifiedTransaction): VerifiedTransaction | SubmitRefusal {
    const refusal = this.chain.submit(transaction);
    if (refusal === undefined) return transaction;
    if (refusal === 'already_known')
      return refused(refusal, `transaction ${transaction.hash} waits for a block already`);
    if (refusal === 'mempool_full')
      return refused(refusal, 'too many transactions wait for a block; try again later');
    return refusal;
  }

  /** Makes the next block out of what waits. `now` in Unix milliseconds. */
  produce(now: number): Block {
    const assembled = this.chain.propose(now);
    this.chain.append(assembled);
    this.#keep([assembled.block]);
    return assembled.block;
  }

  /** Replaces the newest `depth` blocks by one more than that; refused when that would touch a final block. `random` gives numbers from 0 up to 1. */
  reorganise(
    depth: number,
    now: number,
    random: () => number,
  ):
    | { readonly left: readonly SealedBlock[]; readonly blocks: readonly Block[] }
    | Refused<'would_revert_final_blocks'> {
    const { head, finalizedHeight } = this.chain;
    const depthMax = head.height - finalizedHeight;
    if (depth > depthMax) {
      return refused(
        'would_revert_final_blocks',
        `the head is ${head.height} and ${finalizedHeight} is final: at most ${depthMax} blocks can be replaced`,
      );
    }
    const branch = this.chain.reorganise(depth, now, random);
    this.#keep(branch.blocks);
    return branch;
  }

  /** JSON of a block that exists. */
  readBlock(height: number): Promise<Buffer> {
    return this.#store.read(height);
  }

  /** JSON of the blocks from `from` to `to`, both existing: as many as fit into `bytes_max`, at least one. */
  readBlocks(from: number, to: number, bytes_max: number): Promise<readonly Buffer[]> {
    return this.#store.readRange(from, to, bytes_max);
  }

  /** Resolves when the condition holds, `wait_ms` passed, the signal came or the node closes, whichever is first. It is asked again at every new head. */
  async waitUntil(condition: () => boolean, wait_ms: number, signal: AbortSignal): Promise<void> {
    if (condition() || this.#closed || wait_ms <= 0 || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.#closed || condition()) resolve();
    };
    const timer = setTimeout(resolve, wait_ms);
    signal.addEventListener('abort', () => resolve(), { once: true });
    this.#waiters.add(look);
    await promise;
    clearTimeout(timer);
    this.#waiters.delete(look);
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  get head(): Anchor {
    return this.chain.head;
  }

  /** Answers everybody who waits; no block may be made after it. */
  release(): void {
    this.#closed = true;
    for (const look of this.#waiters) look();
  }

  /** Resolves when all is on the disk. */
  async close(): Promise<void> {
    await this.#store.close();
  }

  #keep(blocks: readonly Block[]): void {
    if (this.#closed) throw new Error('a block was made after the node closed');
    this.#store.keep(blocks);
    this.#store.flush().catch((error: unknown) => this.#observer.broken(error));
    this.#observer.blocksAdded(blocks);
    for (const look of this.#waiters) look();
  }
}
