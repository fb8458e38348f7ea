/** The transactions that wait for a block, in the order in which they will be executed: each was executed once on a draft after all before it. */
import type { ExecutionRefusal, VerifiedTransaction } from './execute.ts';
import { execute } from './execute.ts';
import type { Parameters } from './parameters.ts';
import type { Account, State } from './state.ts';
import { Draft, accountOf } from './state.ts';

export class Mempool {
  readonly #state: State;
  readonly #parameters: Parameters;
  /** by hash, in order */
  #waiting = new Map<string, VerifiedTransaction>();
  #draft: Draft;

  constructor(state: State, parameters: Parameters) {
    this.#state = state;
    this.#parameters = parameters;
    this.#draft = new Draft(state);
  }

  get size(): number {
    return this.#waiting.size;
  }

  has(hash: string): boolean {
    return this.#waiting.has(hash);
  }

  /** As it will be once all that waits is in a block. */
  account(address: string): Account {
    return accountOf(this.#draft, address);
  }

  add(
    transaction: VerifiedTransaction,
  ): ExecutionRefusal | 'already_known' | 'mempool_full' | undefined {
    if (this.#waiting.has(transaction.hash)) return 'already_known';
    if (this.#waiting.size >= this.#parameters.mempool_transactions_max) return 'mempool_full';
    const result = execute(this.#draft, transaction, this.#parameters, undefined);
    if ('refused' in result) return result;
    this.#waiting.set(transaction.hash, transaction);
    return undefined;
  }

  first(count: number): readonly VerifiedTransaction[] {
    return this.#waiting.values().take(count).toArray();
  }

  /** The state moved on by a block with these transactions: they wait no longer, and the rest is executed anew. */
  restart(included: readonly VerifiedTransaction[]): void {
    for (const { hash } of included) this.#waiting.delete(hash);
    this.replace([...this.#waiting.values()]);
  }

  /** Only these wait, as far as they are still valid. */
  replace(transactions: readonly VerifiedTransaction[]): void {
    this.#waiting = new Map();
    this.#draft = new Draft(this.#state);
    for (const transaction of transactions) this.add(transaction);
  }
}
