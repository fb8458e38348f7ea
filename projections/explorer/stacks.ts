/** The rows of one batch while it is folded: what stands in the tables below, what the batch put on top. */
import type { BlockAppended } from '../../schemas/chain.blocks/events.ts';
import type { Chain } from '../chain/chain.ts';
import { bytesIn, countIn, textIn } from '../loaded-row.ts';
import type { Changes, Cut, Loaded, LoadedRow, Row } from '../projection.ts';
import { feesPaid, producerFees } from './fees.ts';
import { ACCOUNTS, ACCOUNT_TRANSACTIONS, BLOCKS, HEAD, TRANSACTIONS, TRANSACTION_TYPES } from './rows.ts';

const RIDE = /^Ride/;

/** How many rows of one group there are: when the batch began, of those still standing after its reverts, and now. */
interface Count<Key> {
  readonly key: Key;
  readonly loaded: number;
  stored: number;
  now: number;
}

/** One pending block and where its rows begin in the pending lists, so that a revert in the same batch takes off exactly these. */
interface Pending {
  readonly block: BlockAppended;
  readonly row: Row;
  readonly first_transaction: number;
  readonly first_account_transaction: number;
}

export class Stacks {
  readonly #pending: Pending[] = [];
  readonly #transactions: Row[] = [];
  readonly #accountTransactions: Row[] = [];
  readonly #types = new Map<string, Count<string>>();
  readonly #accounts = new Map<string, Count<Buffer>>();
  readonly #stored: ReadonlyMap<number, readonly LoadedRow[]>;
  #cutHeight: number | undefined;
  #cutSeq: number;

  constructor(transactions: number, loaded: Loaded) {
    this.#cutSeq = transactions;
    for (const row of loaded['types'] ?? []) {
      const key = textIn(row, 'function_call_type');
      this.#types.set(key, counted(key, row));
    }
    for (const row of [...(loaded['accounts'] ?? []), ...(loaded['reverted_accounts'] ?? [])]) {
      const key = bytesIn(row, 'address');
      this.#accounts.set(key.toString('latin1'), counted(key, row));
    }
    this.#stored = Map.groupBy(loaded['reverted_transactions'] ?? [], (row) => countIn(row, 'height'));
  }

  /** Puts a block and its transactions on top. */
  push(block: BlockAppended): void {
    const firstSeq = this.#cutSeq + this.#transactions.length;
    this.#pending.push({
      block,
      row: [
        block.height,
        block.hash,
        block.parent_hash,
        block.producer,
        block.reward_recipient,
        block.block_reward,
        producerFees(block),
        block.timestamp,
        block.transactions.length,
        firstSeq,
      ],
      first_transaction: this.#transactions.length,
      first_account_transaction: this.#accountTransactions.length,
    });
    const fees = feesPaid(block);
    let seq = firstSeq;
    for (const transaction of block.transactions) {
      const { from, to, function_call_type: type } = transaction;
      this.#transactions.push([
        seq,
        transaction.hash,
        block.height,
        transaction.index,
        from,
        to,
        transaction.nonce,
        transaction.amount,
        fees.get(transaction.index) ?? 0n,
        type,
        this.#type(type).now++,
        RIDE.test(type),
        block.timestamp,
        transaction.referrer,
        transaction.request_referrer,
        transaction.offer_referrer,
        transaction.request_referrer_fee,
        transaction.offer_referrer_fee,
      ]);
      this.#accountTransactions.push([from, this.#account(from).now++, seq]);
      if (!from.equals(to)) this.#accountTransactions.push([to, this.#account(to).now++, seq]);
      seq++;
    }
  }

  /** Takes the newest block off: one of this batch, or one that stands in the tables. */
  pop(height: number): void {
    const pending = this.#pending.pop();
    if (pending === undefined) return this.#popStored(height);
    this.#transactions.length = pending.first_transaction;
    this.#accountTransactions.length = pending.first_account_transaction;
    for (const { from, to, function_call_type: type } of pending.block.transactions) {
      this.#type(type).now--;
      this.#account(from).now--;
      if (!from.equals(to)) this.#account(to).now--;
    }
  }

  #popStored(height: number): void {
    const rows = this.#stored.get(height);
    if (rows?.[0] === undefined) throw new Error(`block ${height} is on the chain but not in the table of blocks`);
    this.#cutHeight = height;
    this.#cutSeq = countIn(rows[0], 'first_seq');
    for (const row of rows) {
      // a block without transactions comes as one row of nulls
      if (row['from_address'] === null) continue;
      const from = bytesIn(row, 'from_address');
      const to = bytesIn(row, 'to_address');
      takeStored(this.#type(textIn(row, 'function_call_type')));
      takeStored(this.#account(from));
      if (!from.equals(to)) takeStored(this.#account(to));
    }
  }

  changes(chain: Chain): Changes {
    const accounts = [...this.#accounts.values()];
    const cuts: Cut[] = [];
    if (this.#cutHeight !== undefined) {
      cuts.push({ table: BLOCKS, column: 'height', from: this.#cutHeight }, { table: TRANSACTIONS, column: 'seq', from: this.#cutSeq });
      const groups = accounts.filter(({ loaded, stored }) => stored < loaded).map(({ key, stored }) => [key, stored] as const);
      cuts.push({ table: ACCOUNT_TRANSACTIONS, column: 'ordinal', within: 'address', groups });
    }
    const head = headRow(chain, this.#cutSeq + this.#transactions.length);
    return {
      cuts,
      appends: [
        { table: BLOCKS, rows: this.#pending.map(({ row }) => row) },
        { table: TRANSACTIONS, rows: this.#transactions },
        { table: ACCOUNT_TRANSACTIONS, rows: this.#accountTransactions },
      ],
      upserts: [
        { table: HEAD, rows: head === undefined ? [] : [head] },
        { table: TRANSACTION_TYPES, rows: moved(this.#types.values()) },
        { table: ACCOUNTS, rows: moved(accounts) },
      ],
      deletes: [
        { table: TRANSACTION_TYPES, rows: emptied(this.#types.values()) },
        { table: ACCOUNTS, rows: emptied(accounts) },
      ],
    };
  }

  #type(key: string): Count<string> {
    let count = this.#types.get(key);
    if (count === undefined) this.#types.set(key, (count = { key, loaded: 0, stored: 0, now: 0 }));
    return count;
  }

  #account(address: Buffer): Count<Buffer> {
    const key = address.toString('latin1');
    let count = this.#accounts.get(key);
    if (count === undefined) this.#accounts.set(key, (count = { key: address, loaded: 0, stored: 0, now: 0 }));
    return count;
  }
}

function counted<Key>(key: Key, row: LoadedRow): Count<Key> {
  const count = countIn(row, 'transactions');
  return { key, loaded: count, stored: count, now: count };
}

function takeStored(count: Count<unknown>): void {
  count.stored--;
  count.now--;
}

function moved(counts: Iterable<Count<string | Buffer>>): Row[] {
  const rows: Row[] = [];
  for (const { key, loaded, now } of counts) if (now !== loaded && now > 0) rows.push([key, now]);
  return rows;
}

/** The keys of groups that a revert left without any row: as if they had never been seen. */
function emptied(counts: Iterable<Count<string | Buffer>>): Row[] {
  const keys: Row[] = [];
  for (const { key, loaded, now } of counts) if (now === 0 && loaded > 0) keys.push([key]);
  return keys;
}

function headRow(chain: Chain, transactions: number): Row | undefined {
  if (chain.status === 'empty') return undefined;
  return [true, chain.sequence, chain.top.height, chain.top.hash, chain.finalized_height, transactions];
}
