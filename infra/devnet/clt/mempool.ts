/** Transactions that wait for a block, in execution order. Each is valid after those before it. */
import { execute, type ExecutionRefusal } from './execute.ts';
import type { Parameters } from './parameters.ts';
import type { Account, State } from './state.ts';
import { StateOverlay, accountAt } from './state.ts';
import type { VerifiedTransaction } from './verify.ts';

export class Mempool {
  readonly #state: State;
  readonly #parameters: Parameters;
  /** by hash, in order */
  #waiting = new Map<string, VerifiedTransaction>();
  #overlay: StateOverlay;

  constructor(state: State, parameters: Parameters) {
    this.#state = state;
    this.#parameters = parameters;
    this.#overlay = new StateOverlay(state);
  }

  get size(): number {
    return this.#waiting.size;
  }

  has(hash: string): boolean {
    return this.#waiting.has(hash);
  }

  /** The account after all waiting transactions. */
  account(address: string): Account {
    return accountAt(this.#overlay, address);
  }

  add(
    transaction: VerifiedTransaction,
  ): ExecutionRefusal | 'already_known' | 'mempool_full' | undefined {
    if (this.#waiting.has(transaction.hash)) return 'already_known';
    if (this.#waiting.size >= this.#parameters.mempool_transactions_max) return 'mempool_full';
    const result = execute(this.#overlay, transaction, this.#parameters, undefined);
    if ('refused' in result) return result;
    this.#waiting.set(transaction.hash, transaction);
    return undefined;
  }

  first(count: number): readonly VerifiedTransaction[] {
    return this.#waiting.values().take(count).toArray();
  }

  /** Removes transactions that a new block includes and revalidates the others. */
  removeIncluded(included: readonly VerifiedTransaction[]): void {
    for (const { hash } of included) this.#waiting.delete(hash);
    this.replace([...this.#waiting.values()]);
  }

  /** Replaces the waiting transactions by the valid ones of these. */
  replace(transactions: readonly VerifiedTransaction[]): void {
    this.#waiting = new Map();
    this.#overlay = new StateOverlay(this.#state);
    for (const transaction of transactions) this.add(transaction);
  }
}
