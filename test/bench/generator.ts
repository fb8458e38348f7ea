/**
 * A seeded chain of any size as events of `chain.blocks`, in constant memory (except for accounts),
 * fast enough to fill a topic with ten million transactions. A third of them have a hot address, a
 * few a rare one; regular accounts are busy or quiet; newcomers appear once. Hashes and signed
 * bytes are random. The same settings give the same bytes.
 *
 *     const generated = new GeneratedChain({ transactions: 1_000_000, seed: 1 });
 *     for (const event of generated.events()) ...
 *     generated.counts()    the expected counts of the explorer's tables
 */
import type {
  BlockAppended,
  BlockTransaction,
  ChainEvent,
} from '../../schemas/chain.blocks/events.ts';
import { FUNCTION_CALL_TYPES } from '../../schemas/function-call.ts';
import { Random } from '../support/random.ts';
import { BlockBody } from './block-body.ts';
import {
  ESCROW,
  FIRST_VALIDATOR,
  HOT,
  NEWCOMER,
  NOBODY,
  RARE,
  REWARD_POOL,
  WHALE,
  type Call,
} from './calls.ts';
import { Ledger } from './ledger.ts';
import { plan } from './plan.ts';

export interface GeneratedChainSettings {
  /** that stand in the end */
  readonly transactions: number;
  readonly seed: number;
}

export interface AccountCounts {
  readonly address: Buffer;
  readonly transactions: number;
  readonly activities: number;
  readonly balance: bigint;
}

/** Rows of the explorer's tables, by what was generated and not reverted. */
export interface ChainCounts {
  readonly transactions: number;
  readonly blocks: number;
  readonly validators: number;
  readonly activity: number;
  readonly account_transactions: number;
  readonly accounts: number;
  readonly transactions_of_type: Readonly<Record<string, number>>;
  /** minted less burned, in base units */
  readonly supply: bigint;
  readonly hot: AccountCounts;
  readonly rare: AccountCounts;
  readonly events: number;
  readonly reverted_blocks: number;
}

const VALIDATORS = 120;
const REGULARS_MIN = 200;
const TRANSACTIONS_PER_REGULAR = 50;
const RARE_TRANSACTIONS = 200;
const ALLOCATED_PER_BLOCK = 5_000;
const ALLOCATION = 1_000_000_000_000;
const LARGE_ALLOCATION = 4_000 * ALLOCATION;
const WHALE_ALLOCATION = 1n << 80n;
const FEE = 1_000;
const REWARD = 50_000;
const FREE_BLOCKS = 3;
const FINAL_DEPTH = 6;
const FULL_BLOCK = 5_000;
const FULL_BLOCK_FROM = 50_000;
const BEGINNING = 1_700_000_000_000;
const RAW_BYTES_MIN = 110;
const RAW_BYTES_SPREAD = 60;

export class GeneratedChain {
  readonly #transactions: number;
  readonly #random: Random;
  readonly #ledger: Ledger;
  readonly #addresses: Buffer[];
  readonly #firstRegular = FIRST_VALIDATOR + VALIDATORS;
  readonly #rareEvery: number;
  readonly #allocationBlocks: number;
  readonly #raw: Buffer;
  /** the newest blocks that are not final, and the one below them */
  #headers: { readonly height: number; readonly hash: Buffer; readonly timestamp: number }[] = [];
  #standing = 0;
  #sequence = 0;
  #finalizedHeight = -1;
  #reverted = 0;

  constructor({ transactions, seed }: GeneratedChainSettings) {
    this.#transactions = transactions;
    this.#random = new Random(seed);
    const regulars = Math.max(REGULARS_MIN, Math.floor(transactions / TRANSACTIONS_PER_REGULAR));
    this.#ledger = new Ledger(this.#firstRegular + regulars, FUNCTION_CALL_TYPES.length);
    const slab = this.#random.bytes(this.#ledger.accounts * 20);
    this.#addresses = Array.from({ length: this.#ledger.accounts }, (_, at) =>
      slab.subarray(at * 20, at * 20 + 20),
    );
    for (const [account, last] of CHAIN_OWNED) this.#addresses[account] = smallAddress(last);
    this.#rareEvery = Math.max(2, Math.floor(transactions / RARE_TRANSACTIONS));
    this.#allocationBlocks = Math.ceil(this.#ledger.accounts / ALLOCATED_PER_BLOCK);
    this.#raw = this.#random.bytes(1 << 16);
  }

  /** In the order of the log, from offset 0 on. To be taken once. */
  *events(): Generator<ChainEvent, void> {
    let nextReorganisation = this.#allocationBlocks + 40;
    let nextFull = this.#transactions < FULL_BLOCK_FROM ? Infinity : this.#allocationBlocks + 20;
    while (this.#standing < this.#transactions) {
      const height = this.#height + 1;
      const isFull = height >= nextFull;
      if (isFull) nextFull = height + 600 + this.#random.below(800);
      yield this.#append(height, this.#blockSize(height, isFull));
      const final = height - FINAL_DEPTH;
      if (final > this.#finalizedHeight) yield this.#finalize(final);
      if (height < nextReorganisation || this.#standing === this.#transactions) continue;
      nextReorganisation = height + 250 + this.#random.below(500);
      for (let depth = 1 + this.#random.below(FINAL_DEPTH - 1); depth > 0; depth--)
        yield this.#revert();
    }
  }

  counts(): ChainCounts {
    const ledger = this.#ledger;
    let accounts = ledger.transactionsOf(NEWCOMER);
    for (let at = 0; at < ledger.accounts; at++)
      if (at !== NEWCOMER && ledger.isSeen(at)) accounts++;
    return {
      transactions: ledger.transactions,
      blocks: ledger.blocks,
      validators: ledger.producers,
      activity: ledger.activities,
      account_transactions: ledger.account_transactions,
      accounts,
      transactions_of_type: Object.fromEntries(
        ledger.of_type.map((count, at) => [FUNCTION_CALL_TYPES[at] ?? '', count]),
      ),
      supply: ledger.supply,
      hot: this.#countsOf(HOT),
      rare: this.#countsOf(RARE),
      events: this.#sequence,
      reverted_blocks: this.#reverted,
    };
  }

  #countsOf(account: number): AccountCounts {
    const ledger = this.#ledger;
    return {
      address: this.#address(account),
      transactions: ledger.transactionsOf(account),
      activities: ledger.activitiesOf(account),
      balance: BigInt(ledger.balance(account)),
    };
  }

  /** Transactions on the chain so far. */
  get standing(): number {
    return this.#standing;
  }

  get #height(): number {
    return this.#headers.at(-1)?.height ?? -1;
  }

  #address(account: number): Buffer {
    const address = this.#addresses[account];
    if (address === undefined) throw new Error(`there is no account ${account}`);
    return address;
  }

  #blockSize(height: number, isFull: boolean): number {
    if (height < this.#allocationBlocks) return 0;
    const size = isFull
      ? FULL_BLOCK
      : this.#random.chance(0.05)
        ? 0
        : 100 + this.#random.below(220);
    return Math.min(size, this.#transactions - this.#standing);
  }

  #append(height: number, size: number): BlockAppended {
    const random = this.#random;
    const parent = this.#headers.at(-1);
    const validator = (height + this.#reverted) % VALIDATORS;
    const producer = FIRST_VALIDATOR + validator;
    // every second validator has its rewards sent elsewhere
    const recipient = validator % 2 === 0 ? producer : this.#firstRegular + validator;
    this.#ledger.begin(producer);
    const block = new BlockBody(random, this.#ledger, this.#addresses);
    if (height < this.#allocationBlocks) this.#allocate(block, height);
    const transactions: BlockTransaction[] = [];
    let fees = 0;
    for (let index = 0; index < size; index++) {
      block.index = index;
      const planned = plan(random, this.#ledger, {
        regulars_from: this.#firstRegular,
        producer,
        is_rare: this.#isRareTurn(index),
      });
      if (planned.other === NEWCOMER) this.#addresses[NEWCOMER] = random.bytes(20);
      const { sender } = planned;
      const call = block.carryOut(planned);
      transactions.push(this.#transaction(call, sender, index));
      if (
        height < this.#allocationBlocks + FREE_BLOCKS ||
        sender === producer ||
        call.type === 'RideAcceptance'
      )
        continue;
      block.move(sender, 'tx_fee_paid', -FEE, producer);
      fees += FEE;
    }
    this.#standing += size;
    block.index = null;
    block.move(producer, 'tx_fee_earned', fees, null);
    const reward = height === 0 ? 0 : REWARD;
    block.move(REWARD_POOL, 'block_reward', -reward, null);
    block.move(recipient, 'block_reward', reward, null);
    const event: BlockAppended = {
      type: 'BlockAppended',
      sequence: this.#sequence++,
      height,
      hash: random.bytes(32),
      parent_hash: parent?.hash ?? Buffer.alloc(32),
      timestamp: (parent?.timestamp ?? BEGINNING) + 1_000 + random.below(2_000),
      producer: this.#address(producer),
      reward_recipient: this.#address(recipient),
      block_reward: BigInt(reward),
      transactions,
      balance_effects: block.effects,
    };
    this.#headers.push({ height, hash: event.hash, timestamp: event.timestamp });
    return event;
  }

  #isRareTurn(index: number): boolean {
    return (this.#standing + index) % this.#rareEvery === 0;
  }

  /** Mints the opening balances, over the first blocks. */
  #allocate(block: BlockBody, height: number): void {
    const first = height * ALLOCATED_PER_BLOCK;
    const end = Math.min(first + ALLOCATED_PER_BLOCK, this.#ledger.accounts);
    for (let account = first; account < end; account++) {
      if (account === NOBODY || account === ESCROW || account === NEWCOMER) continue;
      if (account === WHALE) block.mintToWhale(WHALE_ALLOCATION);
      else
        block.mint(
          account,
          account === HOT || account === REWARD_POOL ? LARGE_ALLOCATION : ALLOCATION,
        );
    }
  }

  #transaction(call: Call, sender: number, index: number): BlockTransaction {
    const random = this.#random;
    const bytes = RAW_BYTES_MIN + random.below(RAW_BYTES_SPREAD);
    const from = random.below(this.#raw.length - bytes);
    return {
      hash: random.bytes(32),
      index,
      from: this.#address(sender),
      to: this.#address(call.to),
      nonce: this.#ledger.sign(sender, call.to, FUNCTION_CALL_TYPES.indexOf(call.type)),
      amount: BigInt(call.amount),
      function_call_type: call.type,
      arguments: call.arguments,
      referrer: call.referrer === null ? null : this.#address(call.referrer),
      request_referrer:
        call.request_referrer === null ? null : this.#address(call.request_referrer),
      offer_referrer: call.offer_referrer === null ? null : this.#address(call.offer_referrer),
      request_referrer_fee: BigInt(call.request_referrer_fee),
      offer_referrer_fee: BigInt(call.offer_referrer_fee),
      raw: this.#raw.subarray(from, from + bytes),
    };
  }

  #finalize(height: number): ChainEvent {
    const header = this.#headers.find((each) => each.height === height);
    if (header === undefined) throw new Error(`block ${height} is not among the newest`);
    this.#finalizedHeight = height;
    this.#headers = this.#headers.filter((each) => each.height >= height);
    this.#ledger.finalize(this.#height - height);
    return { type: 'BlocksFinalized', sequence: this.#sequence++, height, hash: header.hash };
  }

  #revert(): ChainEvent {
    const header = this.#headers.pop();
    const parent = this.#headers.at(-1);
    if (header === undefined || parent === undefined)
      throw new Error('there is no block to revert');
    this.#ledger.undo();
    this.#standing = this.#ledger.transactions;
    this.#reverted++;
    return {
      type: 'BlockReverted',
      sequence: this.#sequence++,
      height: header.height,
      hash: header.hash,
      parent_hash: parent.hash,
    };
  }
}

/** Nobody has their keys. */
const CHAIN_OWNED: readonly (readonly [account: number, last: number])[] = [
  [NOBODY, 0],
  [ESCROW, 0xe5c0],
  [REWARD_POOL, 0xb10c],
];

function smallAddress(last: number): Buffer {
  const address = Buffer.alloc(20);
  address.writeUInt16BE(last, 18);
  return address;
}
