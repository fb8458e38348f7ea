/** The devnet's chain as events of `chain.blocks`, unsigned, with reorganisations. */
import type { Assembled } from '../../../infra/devnet/clt/block.ts';
import type { Chain } from '../../../infra/devnet/clt/chain.ts';
import { execute } from '../../../infra/devnet/clt/execute.ts';
import type { Genesis } from '../../../infra/devnet/clt/genesis.ts';
import { accountAt, StateOverlay, State, type Rows } from '../../../infra/devnet/clt/state.ts';
import { nextIntention, seededRandom } from '../../../infra/devnet/traffic/traffic.ts';
import type { BlockAppended, ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { parseBlock } from '../../../schemas/chain-node.ts';
import { BEGIN, newChain, testGenesis, transactionOf } from '../../support/clt-world.ts';

export interface RideChainOptions {
  readonly seed: number;
  /** besides the first one; those that leave later counted in */
  readonly blocks: number;
  readonly transactions_per_block: number;
  /** of a reorganisation after each block */
  readonly reorg_probability: number;
  /** a block is final when so many stand on top of it */
  readonly final_depth: number;
}

export interface RideChain {
  readonly log: readonly ChainEvent[];
  /** open requests, offers and trips in the chain's own state at its end */
  readonly rows: Rows;
}

export function rideChain(options: RideChainOptions): RideChain {
  return new Told(options).told();
}

class Told {
  readonly #options: RideChainOptions;
  readonly #genesis: Genesis;
  readonly #chain: Chain;
  readonly #random: () => number;
  readonly #log: ChainEvent[] = [];
  /** by height */
  readonly #standing: BlockAppended[] = [];
  #finalized = -1;

  constructor(options: RideChainOptions) {
    this.#options = options;
    this.#genesis = testGenesis(`rides ${options.seed}`, options.final_depth);
    this.#chain = newChain(this.#genesis);
    this.#random = seededRandom(`ride chain ${options.seed}`);
    this.#append(this.#genesis.block.text);
  }

  told(): RideChain {
    const { blocks, reorg_probability: reorgProbability } = this.#options;
    for (let made = 0; made < blocks; made++) {
      const assembled = this.#next(BEGIN + 1_000 * (made + 1));
      this.#chain.append(assembled);
      this.#append(assembled.block.text);
      if (this.#chain.finalized_height > this.#finalized && this.#random() < 0.7)
        this.#finalize(this.#chain.finalized_height);
      const depth = this.#chain.head.height - this.#chain.finalized_height;
      if (depth > 0 && this.#random() < reorgProbability)
        this.#reorganise(1 + Math.floor(this.#random() * depth), BEGIN + 1_000 * (made + 1) + 500);
    }
    return { log: this.#log, rows: this.#chain.state.rows };
  }

  /** Each acts on what the one before has done, as if it had been in a block already. */
  #next(timestamp: number): Assembled {
    const { parameters, cast } = this.#genesis;
    const seen = new State(this.#chain.state.rowsBefore([]));
    for (
      let left = Math.floor(this.#random() * (2 * this.#options.transactions_per_block + 1));
      left > 0;
      left--
    ) {
      const { key, call } = nextIntention(seen.rows, cast, this.#random);
      const transaction = transactionOf(key.address, accountAt(seen, key.address).nonce, call);
      const draft = new StateOverlay(seen);
      if ('refused' in execute(draft, transaction, parameters, undefined)) continue;
      draft.commit();
      this.#chain.mempool.add(transaction);
    }
    return this.#chain.propose(timestamp);
  }

  #append(text: string): void {
    const parsed = parseBlock(JSON.parse(text));
    if ('problem' in parsed) throw new Error(parsed.problem);
    const event: BlockAppended = {
      type: 'BlockAppended',
      sequence: this.#log.length,
      ...parsed.value,
    };
    this.#standing.push(event);
    this.#log.push(event);
  }

  #finalize(height: number): void {
    const hash = this.#standing[height]?.hash;
    if (hash === undefined) throw new Error(`there is no block ${height}`);
    this.#finalized = height;
    this.#log.push({ type: 'BlocksFinalized', sequence: this.#log.length, height, hash });
  }

  #reorganise(depth: number, timestamp: number): void {
    const { added: blocks } = this.#chain.reorganise(depth, timestamp, this.#random);
    for (let left = depth; left > 0; left--) {
      const block = this.#standing.pop();
      if (block === undefined) throw new Error('there is no block to revert');
      const { height, hash, parent_hash } = block;
      this.#log.push({
        type: 'BlockReverted',
        sequence: this.#log.length,
        height,
        hash,
        parent_hash,
      });
    }
    for (const { text } of blocks) this.#append(text);
  }
}
