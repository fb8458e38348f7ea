/**
 * The chain in memory: the state after the newest block, the unfinalised blocks with what takes them back, and the transactions that wait. No I/O, no clock;
 * what is to be kept is proposed first and becomes part of the chain by `append` or `replace`, so that it can be written down in between.
 */
import type { Assembled, Block, BlockSeat, SealedBlock } from './block.ts';
import { assembleBlock } from './block.ts';
import type { ExecutionRefusal, VerifiedTransaction } from './execute.ts';
import { Mempool } from './mempool.ts';
import type { Parameters, Validator } from './parameters.ts';
import type { Account, Rows, Undo } from './state.ts';
import { SUPPLY, State, accountOf } from './state.ts';

export interface Anchor {
  readonly height: number;
  readonly hash: string;
  readonly timestamp: number;
}

interface Entry {
  readonly block: SealedBlock;
  readonly undo: Undo;
}

export class Chain {
  readonly parameters: Parameters;
  readonly state: State;
  readonly mempool: Mempool;
  /** the newest block whose undo is no longer kept */
  #anchor: Anchor;
  /** the blocks above the anchor, oldest first */
  #entries: Entry[] = [];

  constructor(parameters: Parameters, anchor: Anchor, rows: Rows) {
    this.parameters = parameters;
    this.#anchor = anchor;
    this.state = new State(rows);
    this.mempool = new Mempool(this.state, parameters);
  }

  get head(): Anchor {
    return this.#entries.at(-1)?.block ?? this.#anchor;
  }

  get finalizedHeight(): number {
    return Math.max(this.#anchor.height, this.head.height - this.parameters.finality_depth);
  }

  /** In all accounts after the block at `height`, which reaches back to the last final block. */
  supply(height = this.head.height): bigint {
    const entry = this.#entries.find(
      ({ block, undo }) => block.height > height && undo.supply.has(SUPPLY),
    );
    return (
      (entry === undefined ? this.state.get('supply', SUPPLY) : entry.undo.supply.get(SUPPLY)) ?? 0n
    );
  }

  /** By the block at `height`, which is the newest when not given; older ones reach back to the last final block. */
  account(address: string, height = this.head.height): Account {
    const entry = this.#entries.find(
      ({ block, undo }) => block.height > height && undo.accounts.has(address),
    );
    return entry === undefined
      ? accountOf(this.state, address)
      : (entry.undo.accounts.get(address) ?? { balance: 0n, nonce: 0 });
  }

  /** The newest block that is not younger than this, in Unix milliseconds; never one below the last final block. */
  newestUntil(timestamp: number): Anchor {
    return (
      this.#entries.findLast(({ block }) => block.timestamp <= timestamp)?.block ?? this.#anchor
    );
  }

  /** Takes the transaction into the mempool if it can be executed after all that wait there. */
  submit(
    transaction: VerifiedTransaction,
  ): ExecutionRefusal | 'already_known' | 'mempool_full' | undefined {
    return this.mempool.add(transaction);
  }

  /** The next block out of what waits, not yet part of the chain. */
  propose(timestamp: number): Assembled {
    return this.assemble(
      this.#seat(this.head, timestamp, 0),
      this.mempool.first(this.parameters.block_transactions_max),
    );
  }

  assemble(seat: BlockSeat, transactions: readonly VerifiedTransaction[]): Assembled {
    return assembleBlock(this.state, seat, transactions, this.parameters);
  }

  /** Makes the proposed block the newest. */
  append({ block, draft }: Assembled): void {
    if (block.parent_hash !== this.head.hash)
      throw new Error(`block ${block.height} does not stand on the head ${this.head.hash}`);
    this.#push(block, draft.commit());
    this.#forgetFinal();
    this.mempool.restart(block.transactions);
  }

  /**
   * Takes the newest `depth` blocks away and builds one more than that in their place: other validators, other times, the same transactions in another order
   * as far as they are still valid. What found no place waits; what is no longer valid vanishes. `random` gives numbers from 0 up to 1.
   */
  reorganise(
    depth: number,
    timestamp: number,
    random: () => number,
  ): { readonly left: readonly SealedBlock[]; readonly blocks: readonly Block[] } {
    if (depth < 1 || depth > this.head.height - this.finalizedHeight)
      throw new Error(`cannot reorganise ${depth} blocks`);
    const left = this.rollBack(depth);
    let waiting = [...left.flatMap((block) => block.transactions), ...this.mempool.first(Infinity)];
    const shift = 1 + Math.floor(random() * (this.parameters.validators.length - 1));
    const blocks: Block[] = [];
    for (let built = 0; built <= depth; built++) {
      const at = built < depth ? (left[built]?.timestamp ?? timestamp) + 1 : timestamp;
      const chosen = shuffled(someOfEach(waiting, random), random);
      const assembled = this.assemble(
        this.#seat(this.head, at, shift),
        chosen.slice(0, this.parameters.block_transactions_max),
      );
      this.#push(assembled.block, assembled.draft.commit());
      blocks.push(assembled.block);
      const placed = new Set(assembled.block.transactions);
      waiting = waiting.filter((transaction) => !placed.has(transaction));
    }
    this.#forgetFinal();
    this.mempool.replace(waiting);
    return { left, blocks };
  }

  /** Takes the newest `depth` blocks away, oldest first. The mempool is stale until it is replaced. */
  rollBack(depth: number): readonly SealedBlock[] {
    const taken = this.#entries.splice(this.#entries.length - depth);
    for (const { undo } of taken.toReversed()) this.state.revert(undo);
    return taken.map(({ block }) => block);
  }

  /** The rows as they were after the last final block, and which that is. */
  finalRows(): { readonly anchor: Anchor; readonly rows: Rows } {
    return {
      anchor: this.#anchor,
      rows: this.state.rowsBefore(this.#entries.map(({ undo }) => undo).toReversed()),
    };
  }

  #seat(parent: Anchor, timestamp: number, shift: number): BlockSeat {
    const height = parent.height + 1;
    const validator: Validator | undefined =
      this.parameters.validators[(height + shift) % this.parameters.validators.length];
    if (validator === undefined) throw new Error('a chain needs a validator');
    return {
      height,
      parent_hash: parent.hash,
      timestamp: Math.max(timestamp, parent.timestamp + 1),
      validator,
    };
  }

  /** Without its text, which is on the disk and may be tens of megabytes. */
  #push({ height, hash, parent_hash, timestamp, transactions }: Block, undo: Undo): void {
    this.#entries.push({ block: { height, hash, parent_hash, timestamp, transactions }, undo });
  }

  #forgetFinal(): void {
    const final = this.head.height - this.parameters.finality_depth - this.#anchor.height;
    const anchor = this.#entries[final - 1];
    if (anchor === undefined) return;
    const { height, hash, timestamp } = anchor.block;
    this.#anchor = { height, hash, timestamp };
    this.#entries = this.#entries.slice(final);
  }
}

/** Of every sender all or, now and then, only the first few: the others come later, or wait. */
function someOfEach(
  transactions: readonly VerifiedTransaction[],
  random: () => number,
): readonly VerifiedTransaction[] {
  const bySender = Map.groupBy(transactions, (transaction) => transaction.from);
  return [...bySender.values()].flatMap((each) =>
    random() < 0.6 ? each : each.slice(0, Math.floor(random() * each.length)),
  );
}

/** Another order in which every sender's transactions keep theirs. */
function shuffled(
  transactions: readonly VerifiedTransaction[],
  random: () => number,
): readonly VerifiedTransaction[] {
  const places = transactions
    .map((transaction) => ({ from: transaction.from, weight: random() }))
    .toSorted((a, b) => a.weight - b.weight);
  const bySender = Map.groupBy(transactions, (transaction) => transaction.from);
  const taken = new Map<string, number>();
  return places.flatMap(({ from }) => {
    const next = taken.get(from) ?? 0;
    taken.set(from, next + 1);
    const transaction = bySender.get(from)?.[next];
    return transaction === undefined ? [] : [transaction];
  });
}
