/**
 * The TRON network as a fold of its events. A transaction waits, is included in a block, and is
 * solid once that block or a later one is solidified. Only before that it can be dropped.
 */
import { createHash } from 'node:crypto';
import { AMOUNT_MAX } from '../../../schemas/money.ts';
import { compare, type ListedRow, type Position } from './listing.ts';
import { HARMLESS } from './token.ts';
import {
  emittedLogs,
  listedLogs,
  type TokenLog,
  type TokenRules,
  type TronEvent,
  type TronTransaction,
} from './transaction.ts';

/** How long earlier solidified heads are kept, in ms: the maximum of the fault `lag`. */
export const LAG_MS_MAX = 600_000;

export interface BlockReference {
  readonly number: number;
  readonly timestamp: number;
  readonly id: string;
  readonly parent_id: string;
}

export interface Entry {
  readonly transaction: TronTransaction;
  readonly held: boolean;
  /** undefined: it waits for a block */
  readonly block: BlockReference | undefined;
  /** index in that block */
  readonly index: number;
  readonly status: 'open' | 'solidified' | 'dropped';
}

export interface Included extends Entry {
  readonly block: BlockReference;
}

type Genesis = Extract<TronEvent, { type: 'genesis' }>;
type BlockMade = Extract<TronEvent, { type: 'block' }>;

export class TronChain {
  readonly genesis: Genesis;
  readonly #entries = new Map<string, Entry>();
  /** ids of transactions that are not solid, in submission order */
  readonly #open = new Set<string>();
  /** rows of solid transactions by account, ascending */
  readonly #rows = new Map<string, ListedRow[]>();
  readonly #contracts = new Set<string>();
  readonly #balances: Balances;
  #token = HARMLESS;
  /** the newest solid block and all above it */
  #blocks: BlockReference[];
  /** the solidified heads, each with the time from which it was one */
  readonly #solidified: { readonly since: number; readonly block: BlockReference }[];

  constructor(genesis: Genesis) {
    this.genesis = genesis;
    this.#contracts.add(genesis.usdt_contract);
    this.#balances = new Balances(genesis);
    this.#balances.set(genesis.usdt_contract, genesis.holder, genesis.supply);
    // not 0: the wire format omits zeros
    const number = 1;
    const { timestamp } = genesis;
    const id = blockId(number, timestamp, '');
    const block = { number, timestamp, id, parent_id: '0'.repeat(64) };
    this.#blocks = [block];
    this.#solidified = [{ since: timestamp, block }];
  }

  get head(): BlockReference {
    return existing(this.#blocks.at(-1));
  }

  get solidified(): BlockReference {
    return existing(this.#solidified.at(-1)).block;
  }

  /** The solidified head at this Unix time in ms, or the oldest one kept. */
  solidifiedAsOf(time: number): BlockReference {
    const head = this.#solidified.findLast(({ since }) => since <= time);
    return existing(head ?? this.#solidified[0]).block;
  }

  /** The rules of the USDT contract in force. */
  get token(): TokenRules {
    return this.#token;
  }

  /** The number of transactions ever submitted. */
  get size(): number {
    return this.#entries.size;
  }

  entry(id: string): Entry | undefined {
    return this.#entries.get(id);
  }

  /** True for the USDT contract and every contract that was called or emitted a log. */
  isContract(address: string): boolean {
    return this.#contracts.has(address);
  }

  /** Transactions that are not solid, in submission order. */
  get open(): readonly Entry[] {
    return [...this.#open].flatMap((id) => this.#entries.get(id) ?? []);
  }

  /** The newest block that a block made at `timestamp` solidifies. */
  solidifiableAt(timestamp: number, solidify_ms: number): BlockReference {
    return (
      this.#blocks.findLast((block) => block.timestamp <= timestamp - solidify_ms) ??
      this.solidified
    );
  }

  /** The account's rows of solid transactions, ascending. */
  solidRows(account: string): readonly ListedRow[] {
    return this.#rows.get(account) ?? [];
  }

  /** The account's rows of transactions in a block that is not solid, ascending. */
  includedRows(account: string): readonly ListedRow[] {
    return this.#included().flatMap((entry) =>
      rowsOf(entry).filter(({ from, to }) => from === account || to === account),
    );
  }

  balance(contract: string, account: string, of: 'head' | 'solidified'): bigint {
    if (of === 'solidified' || this.#open.size === 0) return this.#balances.at(contract, account);
    const balances = new Balances(this.genesis, this.#balances);
    for (const { transaction } of this.#included()) balances.move(emittedLogs(transaction));
    return balances.at(contract, account);
  }

  /** The holder's solid balance less all open transfers. */
  get spendable(): bigint {
    const { usdt_contract, holder } = this.genesis;
    const waiting = this.open
      .flatMap(({ transaction }) => emittedLogs(transaction))
      .filter(({ contract }) => contract === usdt_contract);
    return (
      this.#balances.at(usdt_contract, holder) -
      waiting.reduce((sum, { event, value }) => (event === 'Transfer' ? sum + value : sum), 0n)
    );
  }

  apply(event: TronEvent): void {
    switch (event.type) {
      case 'genesis':
        throw new Error('a network has one genesis');
      case 'submitted':
        return this.#submit(event.transaction, event.held);
      case 'block':
        return this.#append(event);
      case 'released':
        return this.#change(event.id, { held: false });
      case 'solidified':
        return this.#solidify(event.number, event.at);
      case 'dropped':
        this.#change(event.id, { status: 'dropped' });
        this.#open.delete(event.id);
        return;
      case 'token':
        this.#token = event.rules;
    }
  }

  #submit(transaction: TronTransaction, held: boolean): void {
    const entry = { transaction, held, block: undefined, index: 0, status: 'open' } as const;
    this.#entries.set(transaction.id, entry);
    this.#open.add(transaction.id);
    if (transaction.asset !== 'TRC20') return;
    for (const contract of [transaction.contract, ...transaction.logs.map((log) => log.contract)])
      this.#contracts.add(contract);
  }

  #append({ number, timestamp, solidified, transactions }: BlockMade): void {
    const parent = this.head;
    if (number !== parent.number + 1)
      throw new Error(`block ${number} follows block ${parent.number}`);
    const id = blockId(number, timestamp, parent.id);
    const block = { number, timestamp, id, parent_id: parent.id };
    this.#blocks.push(block);
    for (const [index, transaction] of transactions.entries())
      this.#change(transaction, { block, index });
    this.#solidify(solidified, timestamp);
  }

  #solidify(number: number, since: number): void {
    if (number <= this.solidified.number) return;
    const block = this.#blocks.find((each) => each.number === number);
    if (block === undefined) throw new Error(`there is no block ${number} to solidify`);
    for (const entry of this.#included()) {
      if (entry.held || entry.block.number > number) continue;
      this.#change(entry.transaction.id, { status: 'solidified' });
      this.#open.delete(entry.transaction.id);
      this.#balances.move(emittedLogs(entry.transaction));
      for (const row of rowsOf(entry))
        for (const account of new Set([row.from, row.to]))
          this.#rows.getOrInsertComputed(account, () => []).push(row);
    }
    this.#blocks = this.#blocks.filter((each) => each.number >= number);
    this.#solidified.push({ since, block });
    const expired = this.#solidified.findLastIndex((each) => each.since < since - LAG_MS_MAX);
    if (expired > 0) this.#solidified.splice(0, expired);
  }

  #change(id: string, change: Partial<Entry>): void {
    const entry = this.#entries.get(id);
    if (entry?.status !== 'open') throw new Error(`transaction ${id} is not open`);
    this.#entries.set(id, { ...entry, ...change });
  }

  /** Transactions in a block that is not solid, in chain order. */
  #included(): readonly Included[] {
    return this.open
      .filter(isIncluded)
      .toSorted((one, other) => compare(positionOf(one), positionOf(other)));
  }
}

/**
 * Balances by TRC-20 contract and account. Only the USDT contract conserves its supply: the holder
 * covers a sender's shortfall, so that every account can pay.
 */
class Balances {
  readonly #genesis: Genesis;
  readonly #below: Balances | undefined;
  readonly #amounts = new Map<string, bigint>();

  /** With `below`, an overlay that leaves those balances unchanged. */
  constructor(genesis: Genesis, below?: Balances) {
    this.#genesis = genesis;
    this.#below = below;
  }

  at(contract: string, account: string): bigint {
    return this.#amounts.get(`${contract}:${account}`) ?? this.#below?.at(contract, account) ?? 0n;
  }

  set(contract: string, account: string, amount: bigint): void {
    this.#amounts.set(`${contract}:${account}`, amount);
  }

  /** Applies one transaction's logs as net changes, so that a self-transfer needs no funds. */
  move(logs: readonly TokenLog[]): void {
    for (const contract of new Set(logs.map((log) => log.contract))) {
      const deltas = new Map<string, bigint>();
      const add = (account: string, delta: bigint): unknown =>
        deltas.set(account, (deltas.get(account) ?? 0n) + delta);
      for (const log of logs) {
        if (log.event !== 'Transfer' || log.contract !== contract) continue;
        add(log.from, -log.value);
        add(log.to, log.value);
      }
      for (const [account, delta] of deltas) this.#change(contract, account, delta);
    }
  }

  #change(contract: string, account: string, delta: bigint): void {
    const { usdt_contract, holder } = this.#genesis;
    const after = this.at(contract, account) + delta;
    if (contract !== usdt_contract) return this.set(contract, account, after & AMOUNT_MAX);
    this.set(contract, account, after > 0n ? after : 0n);
    if (after >= 0n) return;
    const rest = this.at(contract, holder) + after;
    if (account === holder || rest < 0n) throw new Error('more USDT was moved than there is');
    this.set(contract, holder, rest);
  }
}

export function isIncluded(entry: Entry): entry is Included {
  return entry.block !== undefined && entry.status !== 'dropped';
}

function positionOf({ block, index }: Included, log = 0): Position {
  return [block.number, index, log];
}

function rowsOf(entry: Included): readonly ListedRow[] {
  const { transaction, block } = entry;
  const { id: transaction_id } = transaction;
  const { timestamp: block_timestamp } = block;
  return listedLogs(transaction).map(({ contract, event, from, to, value }, index) => {
    const position = positionOf(entry, index);
    return { position, block_timestamp, transaction_id, contract, event, from, to, value };
  });
}

/** The block number in 16 hex digits, then 48 digits of a hash, as on TRON. */
function blockId(number: number, timestamp: number, parent_id: string): string {
  const hash = createHash('sha256').update(`${number}:${timestamp}:${parent_id}`).digest('hex');
  return `${number.toString(16).padStart(16, '0')}${hash.slice(16)}`;
}

function existing<Item>(item: Item | undefined): Item {
  if (item === undefined) throw new Error('a network always has a block');
  return item;
}
