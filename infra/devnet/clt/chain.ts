/**
 * The chain in memory: the state after the newest block, the unfinalized blocks with their undos,
 * and the waiting transactions. No I/O and no clock.
 */
import {
  assembleBlock,
  type Assembled,
  type Block,
  type BlockSlot,
  type SealedBlock,
} from './block.ts';
import { refused, type Refused } from './calls.ts';
import { execute, type ExecutionRefusal, type VerifiedTransaction } from './execute.ts';
import {
  SUPPLY,
  State,
  StateOverlay,
  accountAt,
  type Account,
  type Parameters,
  type Rows,
  type Undo,
} from './state.ts';

export interface Anchor {
  readonly height: number;
  readonly hash: string;
  readonly timestamp: number;
}

/** From this height on, only this account may mint. */
export interface Authority {
  readonly from_height: number;
  readonly mint_authority: string;
}

interface Entry {
  readonly block: SealedBlock;
  readonly undo: Undo;
}

export class Chain {
  readonly parameters: Parameters;
  readonly state: State;
  readonly mempool: Mempool;
  #hidesFees = false;
  /** mint authorities after the first, by the height from which each mints, ascending */
  #authorities: readonly Authority[];
  /** the newest block without an undo */
  #anchor: Anchor;
  /** the blocks above the anchor, ascending */
  #entries: Entry[] = [];

  constructor(
    parameters: Parameters,
    anchor: Anchor,
    rows: Rows,
    authorities: readonly Authority[] = [],
  ) {
    this.parameters = parameters;
    this.#anchor = anchor;
    this.#authorities = authorities;
    this.state = new State(rows);
    this.mempool = new Mempool(this.state, () => this.#parametersAt(this.head.height + 1));
  }

  get authorities(): readonly Authority[] {
    return this.#authorities;
  }

  /** Who may mint in the block at this height. */
  mintAuthority(height: number): string {
    const last = this.#authorities.findLast(({ from_height }) => from_height <= height);
    return last?.mint_authority ?? this.parameters.mint_authority;
  }

  /** Waiting Mints of an account that may not mint any more are dropped. */
  setAuthorities(authorities: readonly Authority[]): void {
    this.#authorities = authorities;
    this.mempool.replace(this.mempool.first(Infinity));
  }

  /** Whether new blocks hide from whom fees were taken. */
  hideFees(hides: boolean): void {
    this.#hidesFees = hides;
  }

  get head(): Anchor {
    return this.#entries.at(-1)?.block ?? this.#anchor;
  }

  get finalized_height(): number {
    return Math.max(this.#anchor.height, this.head.height - this.parameters.finality_depth);
  }

  /** The supply after the block at `height`, at least the last final one. */
  supply(height = this.head.height): bigint {
    const entry = this.#entries.find(
      ({ block, undo }) => block.height > height && undo.supply.has(SUPPLY),
    );
    return (
      (entry === undefined ? this.state.get('supply', SUPPLY) : entry.undo.supply.get(SUPPLY)) ?? 0n
    );
  }

  /** The account after the block at `height`, at least the last final one. */
  account(address: string, height = this.head.height): Account {
    const entry = this.#entries.find(
      ({ block, undo }) => block.height > height && undo.accounts.has(address),
    );
    return entry === undefined
      ? accountAt(this.state, address)
      : (entry.undo.accounts.get(address) ?? { balance: 0n, nonce: 0 });
  }

  /** The newest block up to this Unix time in ms, at least the last final block. */
  newestUntil(timestamp: number): Anchor {
    return (
      this.#entries.findLast(({ block }) => block.timestamp <= timestamp)?.block ?? this.#anchor
    );
  }

  /** The next block of waiting transactions, not yet part of the chain. */
  propose(timestamp: number): Assembled {
    return this.assemble(
      this.#slot(this.head, timestamp, 0),
      this.mempool.first(this.parameters.block_transactions_max),
    );
  }

  assemble(slot: BlockSlot, transactions: readonly VerifiedTransaction[]): Assembled {
    return assembleBlock(this.state, slot, transactions, this.#parametersAt(slot.height));
  }

  /** Makes an assembled block the newest. */
  append({ block, overlay }: Assembled): void {
    if (block.parent_hash !== this.head.hash)
      throw new Error(`the parent of block ${block.height} is not the head ${this.head.hash}`);
    this.#push(block, overlay.commit());
    this.#dropFinal();
    this.mempool.removeIncluded(block.transactions);
  }

  /**
   * Replaces the newest `depth` blocks by one more, with other validators and times and the still
   * valid transactions in another order. Transactions left over wait; invalid ones are dropped.
   * `random` returns numbers in [0, 1).
   */
  reorganise(
    depth: number,
    timestamp: number,
    random: () => number,
  ): { readonly removed: readonly SealedBlock[]; readonly added: readonly Block[] } {
    if (depth < 1 || depth > this.head.height - this.finalized_height)
      throw new Error(`cannot reorganise ${depth} blocks`);
    const removed = this.rollBack(depth);
    let waiting = [
      ...removed.flatMap((block) => block.transactions),
      ...this.mempool.first(Infinity),
    ];
    const shift = 1 + Math.floor(random() * (this.parameters.validators.length - 1));
    const added: Block[] = [];
    for (let built = 0; built <= depth; built++) {
      const at = built < depth ? (removed[built]?.timestamp ?? timestamp) + 1 : timestamp;
      const chosen = shuffled(someOfEach(waiting, random), random);
      const assembled = this.assemble(
        this.#slot(this.head, at, shift),
        chosen.slice(0, this.parameters.block_transactions_max),
      );
      this.#push(assembled.block, assembled.overlay.commit());
      added.push(assembled.block);
      const included = new Set(assembled.block.transactions);
      waiting = waiting.filter((transaction) => !included.has(transaction));
    }
    this.#dropFinal();
    this.mempool.replace(waiting);
    return { removed, added };
  }

  /** Removes the newest `depth` blocks; returns them ascending. The mempool is then stale. */
  rollBack(depth: number): readonly SealedBlock[] {
    const removed = this.#entries.splice(this.#entries.length - depth);
    for (const { undo } of removed.toReversed()) this.state.revert(undo);
    return removed.map(({ block }) => block);
  }

  /** The last final block, and the rows after it. */
  finalRows(): { readonly anchor: Anchor; readonly rows: Rows } {
    return {
      anchor: this.#anchor,
      rows: this.state.rowsBefore(this.#entries.map(({ undo }) => undo).toReversed()),
    };
  }

  #parametersAt(height: number): Parameters {
    return this.#authorities.length === 0
      ? this.parameters
      : { ...this.parameters, mint_authority: this.mintAuthority(height) };
  }

  #slot(parent: Anchor, timestamp: number, shift: number): BlockSlot {
    const height = parent.height + 1;
    const { validators } = this.parameters;
    const validator = validators[(height + shift) % validators.length];
    if (validator === undefined) throw new Error('a chain needs a validator');
    return {
      height,
      parent_hash: parent.hash,
      timestamp: Math.max(timestamp, parent.timestamp + 1),
      validator,
      hides_fees: this.#hidesFees,
    };
  }

  /** Drops the text, which may be tens of megabytes and is on disk. */
  #push({ height, hash, parent_hash, timestamp, transactions }: Block, undo: Undo): void {
    this.#entries.push({ block: { height, hash, parent_hash, timestamp, transactions }, undo });
  }

  #dropFinal(): void {
    const final = this.head.height - this.parameters.finality_depth - this.#anchor.height;
    const anchor = this.#entries[final - 1];
    if (anchor === undefined) return;
    const { height, hash, timestamp } = anchor.block;
    this.#anchor = { height, hash, timestamp };
    this.#entries = this.#entries.slice(final);
  }
}

/** Transactions that wait for a block, in execution order. Each is valid after those before it. */
class Mempool {
  readonly #state: State;
  readonly #parameters: () => Parameters;
  /** by hash, in order */
  #waiting = new Map<string, VerifiedTransaction>();
  #overlay: StateOverlay;

  /** `parameters` are those of the next block. */
  constructor(state: State, parameters: () => Parameters) {
    this.#state = state;
    this.#parameters = parameters;
    this.#overlay = new StateOverlay(state);
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** The account after all waiting transactions. */
  account(address: string): Account {
    return accountAt(this.#overlay, address);
  }

  /** Adds the transaction if it is valid after those that wait. */
  add(
    transaction: VerifiedTransaction,
  ): ExecutionRefusal | Refused<'already_known' | 'mempool_full'> | undefined {
    const { hash } = transaction;
    const parameters = this.#parameters();
    if (this.#waiting.has(hash))
      return refused('already_known', `transaction ${hash} waits for a block already`);
    if (this.#waiting.size >= parameters.mempool_transactions_max)
      return refused('mempool_full', 'too many transactions wait for a block; try again later');
    const result = execute(this.#overlay, transaction, parameters, undefined);
    if ('refused' in result) return result;
    this.#waiting.set(hash, transaction);
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

/** All transactions of most senders, and only the first few of others. */
function someOfEach(
  transactions: readonly VerifiedTransaction[],
  random: () => number,
): readonly VerifiedTransaction[] {
  const bySender = Map.groupBy(transactions, (transaction) => transaction.from);
  return [...bySender.values()].flatMap((each) =>
    random() < 0.6 ? each : each.slice(0, Math.floor(random() * each.length)),
  );
}

/** A random order that keeps the order of each sender's transactions. */
function shuffled(
  transactions: readonly VerifiedTransaction[],
  random: () => number,
): readonly VerifiedTransaction[] {
  const turns = transactions
    .map((transaction) => ({ from: transaction.from, weight: random() }))
    .toSorted((a, b) => a.weight - b.weight);
  const bySender = Map.groupBy(transactions, (transaction) => transaction.from);
  const taken = new Map<string, number>();
  return turns.flatMap(({ from }) => {
    const next = taken.get(from) ?? 0;
    taken.set(from, next + 1);
    const transaction = bySender.get(from)?.[next];
    return transaction === undefined ? [] : [transaction];
  });
}
