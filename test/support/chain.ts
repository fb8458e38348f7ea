/**
 * A seeded chain as events of `chain.blocks`, without a node. The same options give the same bytes.
 *
 *   chainEvents({ seed, blocks, transactions_per_block, reorg_probability, .. })
 *       generates empty blocks, reorganisations down to finality and finalized blocks; for
 *       `blocks: Infinity` take as many events as needed
 *   new TestChain({ seed })
 *       the same in steps: .append(transactions) .revert() .finalize(height) return the event
 *   bigBlock(20_000)
 *       one block, the first of a chain, with this many transactions
 *
 * Sequences are 0, 1, 2, .., so the events belong into an empty topic. Every block links to the one
 * before; nonces are consecutive; no balance is negative. The effects of a block sum up to the
 * minted less the burned amount; some are zero. Every transaction has a fee, except the producer's
 * own, RideAcceptance, and those of blocks below `fees_from`. Most transactions of a reverted block
 * return in later blocks under the same hashes. Ride rules are not followed; hashes and raw are
 * random bytes.
 */
import type {
  BalanceEffect,
  BlockAppended,
  BlockReverted,
  BlocksFinalized,
  BlockTransaction,
  ChainEvent,
} from '../../schemas/chain.blocks/events.ts';
import { planCall, type Account, type Cast, type Planned } from './chain-calls.ts';
import { Random } from './random.ts';

export interface TestChainOptions {
  readonly seed?: number;
  /** how many accounts send; others turn up as recipients on the way. Default 200, at least 8 */
  readonly accounts?: number;
  /** blocks below this height have no fees. Default 3 */
  readonly fees_from?: number;
}

export interface ChainOptions extends TestChainOptions {
  /** how many BlockAppended there are, those that are reverted later counted in */
  readonly blocks: number;
  /** on average; a tenth of the blocks is empty. Default 5 */
  readonly transactions_per_block?: number;
  /** of a reorganisation after each block. Default 0.05 */
  readonly reorg_probability?: number;
  /** a block is final when so many stand on top of it. Default 6 */
  readonly final_depth?: number;
}

const ALLOCATION = 1n << 80n;
const FEE = 1_000n;
const REWARD = 50_000n;
const BEGINNING = 1_700_000_000_000;

export function* chainEvents(options: ChainOptions): Generator<ChainEvent, void> {
  const {
    blocks,
    transactions_per_block: average = 5,
    reorg_probability: reorg = 0.05,
    final_depth: depth = 6,
  } = options;
  const chain = new TestChain(options);
  const random = new Random((options.seed ?? 1) + 0x5eed);
  for (let made = 0; made < blocks; made++) {
    const count =
      chain.height < 0 || random.chance(0.1)
        ? 0
        : random.below(Math.round((2 * average) / 0.9) + 1);
    yield chain.append(count);
    if (chain.finalized_height < 0) yield chain.finalize(0);
    if (chain.height - depth > chain.finalized_height && random.chance(0.6))
      yield chain.finalize(chain.height - depth);
    const revertible = chain.height - chain.finalized_height;
    if (revertible === 0 || !random.chance(reorg)) continue;
    const reverts = random.chance(0.3) ? revertible : 1 + random.below(Math.min(3, revertible));
    for (let at = 0; at < reverts; at++) yield chain.revert();
  }
}

/** One block with so many transactions, at height 0 and sequence 0 of a chain of its own. */
export function bigBlock(transactions: number, seed = 1): BlockAppended {
  return new TestChain({ seed, fees_from: 0 }).append(transactions);
}

/** A block that is not final. */
interface Standing {
  readonly event: BlockAppended;
  readonly planned: readonly Planned[];
  readonly moves: readonly (readonly [account: Account, delta: bigint])[];
}

export class TestChain {
  readonly #random: Random;
  readonly #feesFrom: number;
  readonly #cast: Cast;
  readonly #senders: number;
  /** blocks that are not final yet, and the newest one in any case */
  #standing: Standing[] = [];
  /** transactions of reverted blocks that wait for a block again, in order */
  #returned: Planned[] = [];
  #sequence = -1;
  #finalizedHeight = -1;

  constructor({ seed = 1, accounts = 200, fees_from: feesFrom = 3 }: TestChainOptions = {}) {
    if (accounts < 8) throw new Error('a test chain needs at least 8 accounts');
    this.#random = new Random(seed);
    this.#feesFrom = feesFrom;
    this.#senders = accounts;
    const people = Array.from({ length: accounts }, () => ({
      address: this.#random.bytes(20),
      balance: 0n,
      nonce: 0,
    }));
    this.#cast = {
      people,
      nobody: special(0),
      escrow: special(0xe5c0),
      reward_pool: special(0xb10c),
      raw: this.#random.bytes(1 << 16),
    };
  }

  /** Height of the newest block, -1 before the first. */
  get height(): number {
    return this.#standing.at(-1)?.event.height ?? -1;
  }

  get finalized_height(): number {
    return this.#finalizedHeight;
  }

  /**
   * A block on top of the newest one with this many transactions, those of reverted blocks first.
   * The first block mints the allocation.
   */
  append(transactions: number): BlockAppended {
    const parent = this.#standing.at(-1)?.event;
    const height = this.height + 1;
    const validator = this.#validator();
    const planned: Planned[] = [];
    const moves: [Account, bigint][] = [];
    const listed: BlockTransaction[] = [];
    const effects: BalanceEffect[] = [];
    const showsZeros = this.#random.chance(0.2);
    const move = (
      account: Account,
      kind: string,
      delta: bigint,
      counterparty: Account | null,
      index: number | null,
    ): void => {
      if (delta === 0n && !showsZeros) return;
      account.balance += delta;
      moves.push([account, delta]);
      effects.push({
        address: account.address,
        kind,
        delta,
        tx_index: index,
        counterparty: counterparty?.address ?? null,
      });
    };
    if (height === 0)
      for (const account of [...this.#cast.people, this.#cast.reward_pool])
        move(account, 'mint', ALLOCATION, null, null);

    let fees = 0n;
    for (let index = 0; index < transactions; index++) {
      const next = this.#again(FEE) ?? planCall(this.#random, this.#cast, this.#senders, FEE);
      const { transaction, sender } = next;
      const free =
        height < this.#feesFrom ||
        sender === validator ||
        transaction.function_call_type === 'RideAcceptance';
      for (const { account, kind, delta, counterparty } of next.effects)
        move(account, kind, delta, counterparty, index);
      if (!free) {
        move(sender, 'tx_fee_paid', -FEE, validator, index);
        fees += FEE;
      }
      sender.nonce++;
      planned.push(next);
      listed.push({ ...transaction, index });
    }
    move(validator, 'tx_fee_earned', fees, null, null);
    const recipient = this.#cast.people[7] ?? validator;
    const reward = height === 0 ? 0n : REWARD;
    move(this.#cast.reward_pool, 'block_reward', -reward, null, null);
    move(recipient, 'block_reward', reward, null, null);
    if (showsZeros) {
      const stranger: Account = { address: this.#random.bytes(20), balance: 0n, nonce: 0 };
      const unmoved = this.#random.chance(0.5) ? stranger : this.#random.pick(this.#cast.people);
      move(
        unmoved,
        'transfer_in',
        0n,
        validator,
        transactions === 0 ? null : this.#random.below(transactions),
      );
    }

    const event: BlockAppended = {
      type: 'BlockAppended',
      sequence: ++this.#sequence,
      height,
      hash: this.#random.bytes(32),
      parent_hash: parent?.hash ?? Buffer.alloc(32),
      timestamp:
        parent === undefined ? BEGINNING : parent.timestamp + 200 + this.#random.below(1_600),
      producer: validator.address,
      reward_recipient: recipient.address,
      block_reward: reward,
      transactions: listed,
      balance_effects: effects,
    };
    this.#standing.push({ event, planned, moves });
    return event;
  }

  /** The newest block leaves again; throws when it is final. */
  revert(): BlockReverted {
    const last = this.#standing.at(-1);
    if (last === undefined || last.event.height <= this.#finalizedHeight)
      throw new Error(`block ${this.height} cannot be reverted`);
    if (this.#standing.length === 1) throw new Error('the first block cannot be reverted');
    this.#standing.pop();
    for (const [account, delta] of last.moves) account.balance -= delta;
    for (const { sender } of last.planned) sender.nonce--;
    this.#returned = [...last.planned, ...this.#returned];
    const { height, hash, parent_hash } = last.event;
    return { type: 'BlockReverted', sequence: ++this.#sequence, height, hash, parent_hash };
  }

  /** All blocks up to this height become final; by default up to the newest. */
  finalize(height: number = this.height): BlocksFinalized {
    const found = this.#standing.find(({ event }) => event.height === height);
    if (found === undefined || height <= this.#finalizedHeight)
      throw new Error(`block ${height} is not one that could become final`);
    this.#finalizedHeight = height;
    this.#standing = this.#standing.filter(({ event }) => event.height >= height);
    return { type: 'BlocksFinalized', sequence: ++this.#sequence, height, hash: found.event.hash };
  }

  #validator(): Account {
    return this.#cast.people[1 + this.#random.below(5)] ?? this.#cast.nobody;
  }

  /**
   * The next transaction of a reverted block that is still valid on this branch; a tenth is
   * dropped, each with all later ones of its sender.
   */
  #again(fee: bigint): Planned | undefined {
    for (;;) {
      const next = this.#returned.shift();
      if (next === undefined) return undefined;
      const lost = this.#random.chance(0.1) || next.transaction.nonce !== next.sender.nonce;
      const need = new Map<Account, bigint>([[next.sender, fee]]);
      for (const { account, delta } of next.effects)
        need.set(account, (need.get(account) ?? 0n) - delta);
      if (!lost && [...need].every(([account, amount]) => account.balance >= amount)) return next;
    }
  }
}

/** An account at a small address, which nobody has the key of. */
function special(last: number): Account {
  const address = Buffer.alloc(20);
  address.writeUInt16BE(last, 18);
  return { address, balance: 0n, nonce: 0 };
}
