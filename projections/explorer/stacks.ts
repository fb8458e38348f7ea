/** The rows of one batch while it is folded, on top of the stored ones. */
import type { BalanceEffect } from '../../schemas/chain.blocks/events.ts';
import type { Chain } from '../chain/chain.ts';
import { amountIn, bytesIn, countIn, textIn } from '../contract/loaded-row.ts';
import type {
  Changes,
  Cut,
  Loaded,
  LoadedRow,
  Row,
  RowList,
  RowLists,
} from '../contract/projection.ts';
import { Accounts, type Account } from './accounts.ts';
import { feesPaid, producerFees, type Block, type Transaction } from './events.ts';
import {
  ACCOUNTS,
  ACCOUNT_TRANSACTIONS,
  ACTIVITY,
  BLOCKS,
  HEAD,
  TRANSACTIONS,
  TRANSACTION_TYPES,
  VALIDATORS,
} from './rows.ts';

const RIDE = /^Ride/;

/** The number of transactions of one type: as loaded, and now. */
interface Count {
  readonly type: string;
  readonly is_ride_related: boolean;
  readonly loaded: number;
  now: number;
}

function newCount(type: string, loaded: number): Count {
  return { type, is_ride_related: RIDE.test(type), loaded, now: loaded };
}

/** A block of this batch. */
interface Pending {
  readonly block: Block;
  readonly row: Row;
  /** steps that each remove the block's rows from one list, for a revert in the same batch */
  readonly undo: readonly (() => void)[];
}

/** The parties of one transaction. */
interface Parties {
  readonly from: Buffer;
  readonly to: Buffer;
  readonly sender: Account;
  readonly recipient: Account;
}

/** The party at this address, without a look-up: the addresses are mostly the same object. */
function partyAt({ from, to, sender, recipient }: Parties, address: Buffer): Account | undefined {
  if (address === from) return sender;
  return address === to ? recipient : undefined;
}

export class Stacks {
  readonly #pending: Pending[] = [];
  readonly #transactions: RowList;
  readonly #accountTransactions: RowList;
  readonly #activity: RowList;
  readonly #validators: Row[] = [];
  readonly #types = new Map<string, Count>();
  readonly #accounts: Accounts;
  readonly #stored: Stored;
  readonly #loadedValidators: number;
  #cutHeight: number | undefined;
  #cutSeq: number;
  #storedValidators: number;

  constructor(
    head: { readonly transactions: number; readonly validators: number },
    loaded: Loaded,
    newRows: RowLists,
  ) {
    this.#transactions = newRows(TRANSACTIONS);
    this.#accountTransactions = newRows(ACCOUNT_TRANSACTIONS);
    this.#activity = newRows(ACTIVITY);
    this.#cutSeq = head.transactions;
    this.#loadedValidators = head.validators;
    this.#storedValidators = head.validators;
    for (const row of [...(loaded['types'] ?? []), ...(loaded['reverted_types'] ?? [])]) {
      const type = textIn(row, 'function_call_type');
      const count = countIn(row, 'transactions');
      this.#types.set(type, newCount(type, count));
    }
    this.#accounts = new Accounts([
      ...(loaded['accounts'] ?? []),
      ...(loaded['reverted_accounts'] ?? []),
    ]);
    this.#stored = {
      blocks: new Map(
        (loaded['reverted_blocks'] ?? []).map((row) => [countIn(row, 'height'), row]),
      ),
      transactions: byHeight(loaded['reverted_transactions']),
      activity: byHeight(loaded['reverted_activity']),
    };
  }

  /** Adds a block with its transactions and balance effects. */
  push(block: Block): void {
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
        // an event counts only at this offset
        block.sequence,
      ],
      undo: [this.#transactions, this.#accountTransactions, this.#activity].map((list) =>
        list.savepoint(),
      ),
    });
    const producer = this.#accounts.at(block.producer);
    if (producer.blocks_produced++ === 0)
      this.#validators.push([this.#storedValidators + this.#validators.length, producer.address]);
    const fees = feesPaid(block);
    const parties = block.transactions.map((transaction, position) =>
      this.#pushTransaction(block, transaction, firstSeq + position, fees.get(position) ?? 0n),
    );
    for (const effect of block.balance_effects) this.#pushEffect(block, effect, parties, firstSeq);
  }

  #pushTransaction(block: Block, transaction: Transaction, seq: number, fee: bigint): Parties {
    const { from, to, function_call_type: functionCallType } = transaction;
    const ofType = this.#type(functionCallType);
    this.#transactions.add([
      seq,
      transaction.hash,
      block.height,
      transaction.index,
      from,
      to,
      transaction.nonce,
      transaction.amount,
      fee,
      functionCallType,
      ofType.now++,
      ofType.is_ride_related,
      block.timestamp,
      transaction.referrer,
      transaction.request_referrer,
      transaction.offer_referrer,
      transaction.request_referrer_fee,
      transaction.offer_referrer_fee,
    ]);
    const sender = this.#accounts.at(from);
    const recipient = this.#accounts.at(to);
    sender.nonce = transaction.nonce + 1;
    this.#accountTransactions.add([from, sender.transactions++, seq]);
    if (recipient !== sender) this.#accountTransactions.add([to, recipient.transactions++, seq]);
    return { from, to, sender, recipient };
  }

  #pushEffect(
    block: Block,
    effect: BalanceEffect,
    allParties: readonly Parties[],
    firstSeq: number,
  ): void {
    const { address, kind, delta, tx_index: txIndex, counterparty } = effect;
    if (delta === 0n) return;
    const parties = txIndex === null ? undefined : allParties[txIndex];
    const account = (parties && partyAt(parties, address)) ?? this.#accounts.at(address);
    account.balance += delta;
    if (delta < 0n && parties?.sender !== account) account.unsigned_debits++;
    const seq = txIndex === null ? null : firstSeq + txIndex;
    this.#activity.add([
      address,
      account.activities++,
      kind,
      delta,
      account.balance,
      block.height,
      seq,
      counterparty,
    ]);
  }

  /** Removes the newest block, which this batch added or the tables hold. */
  pop(height: number): void {
    const pending = this.#pending.pop();
    if (pending === undefined) return this.#popStored(height);
    const { transactions, balance_effects: balanceEffects, producer } = pending.block;
    const senders = transactions.map(({ from }) => this.#accounts.at(from));
    for (const { address, delta, tx_index: txIndex } of balanceEffects) {
      if (delta === 0n) continue;
      const account = this.#accounts.at(address);
      account.balance -= delta;
      account.activities--;
      if (delta < 0n && (txIndex === null || senders[txIndex] !== account))
        account.unsigned_debits--;
    }
    for (const {
      from,
      to,
      nonce,
      function_call_type: functionCallType,
    } of transactions.toReversed()) {
      this.#type(functionCallType).now--;
      const sender = this.#accounts.at(from);
      const recipient = this.#accounts.at(to);
      sender.nonce = nonce;
      sender.transactions--;
      if (recipient !== sender) recipient.transactions--;
    }
    for (const undo of pending.undo) undo();
    this.#unproduce(producer);
  }

  #popStored(height: number): void {
    const block = this.#stored.blocks.get(height);
    if (block === undefined)
      throw new Error(`block ${height} is on the chain but not in the table of blocks`);
    this.#cutHeight = height;
    this.#cutSeq = countIn(block, 'first_seq');
    for (const row of this.#stored.activity.get(height) ?? []) {
      const account = this.#accounts.at(bytesIn(row, 'address'));
      const activities = countIn(row, 'activities');
      account.balance -= amountIn(row, 'delta');
      account.activities -= activities;
      account.stored_activities -= activities;
      account.unsigned_debits -= countIn(row, 'unsigned_debits');
    }
    for (const row of this.#stored.transactions.get(height)?.toReversed() ?? []) {
      this.#type(textIn(row, 'function_call_type')).now--;
      const sender = this.#accounts.at(bytesIn(row, 'from_address'));
      const recipient = this.#accounts.at(bytesIn(row, 'to_address'));
      sender.nonce = countIn(row, 'nonce');
      for (const account of new Set([sender, recipient])) {
        account.transactions--;
        account.stored_transactions--;
      }
    }
    this.#unproduce(bytesIn(block, 'producer'));
  }

  /** A validator without blocks is the newest one: it is removed. */
  #unproduce(producer: Buffer): void {
    if (--this.#accounts.at(producer).blocks_produced > 0) return;
    if (this.#validators.pop() === undefined) this.#storedValidators--;
  }

  changes(chain: Chain): Changes {
    const cuts: Cut[] = [];
    if (this.#cutHeight !== undefined) {
      cuts.push(
        { table: BLOCKS, column: 'height', from: this.#cutHeight },
        { table: TRANSACTIONS, column: 'seq', from: this.#cutSeq },
      );
      cuts.push(...this.#accounts.cuts(ACCOUNT_TRANSACTIONS, ACTIVITY));
      if (this.#storedValidators < this.#loadedValidators)
        cuts.push({ table: VALIDATORS, column: 'ordinal', from: this.#storedValidators });
    }
    const types = [...this.#types.values()].filter(({ loaded, now }) => now !== loaded);
    return {
      cuts,
      deletes: [
        {
          table: TRANSACTION_TYPES,
          rows: types.filter(({ now }) => now === 0).map(({ type }) => [type]),
        },
        { table: ACCOUNTS, rows: this.#accounts.deleted() },
      ],
      appends: [
        { table: BLOCKS, rows: this.#pending.map(({ row }) => row) },
        this.#transactions,
        this.#accountTransactions,
        this.#activity,
        { table: VALIDATORS, rows: this.#validators },
      ],
      upserts: [
        { table: HEAD, rows: this.#head(chain) },
        {
          table: TRANSACTION_TYPES,
          rows: types.filter(({ now }) => now > 0).map(({ type, now }) => [type, now]),
        },
        { table: ACCOUNTS, rows: this.#accounts.changed() },
      ],
    };
  }

  #type(type: string): Count {
    let count = this.#types.get(type);
    if (count === undefined) this.#types.set(type, (count = newCount(type, 0)));
    return count;
  }

  #head(chain: Chain): Row[] {
    if (chain.status === 'empty') return [];
    const { sequence, top, finalized_height: finalizedHeight } = chain;
    const transactions = this.#cutSeq + this.#transactions.length;
    return [
      [
        true,
        sequence,
        top.height,
        top.hash,
        finalizedHeight,
        transactions,
        this.#storedValidators + this.#validators.length,
      ],
    ];
  }
}

/** The stored rows of the blocks that the batch reverts, by height. */
interface Stored {
  readonly blocks: ReadonlyMap<number, LoadedRow>;
  readonly transactions: ReadonlyMap<number, readonly LoadedRow[]>;
  readonly activity: ReadonlyMap<number, readonly LoadedRow[]>;
}

function byHeight(rows: readonly LoadedRow[] = []): ReadonlyMap<number, readonly LoadedRow[]> {
  return Map.groupBy(rows, (row) => countIn(row, 'height'));
}
