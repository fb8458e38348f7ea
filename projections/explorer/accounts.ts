/** The accounts that one batch touches: as they were loaded, what still stands of their lists after the batch's reverts, and as they are now. */
import { amountIn, bytesIn, countIn } from '../contract/loaded-row.ts';
import type { GroupCut, LoadedRow, Row, Table } from '../contract/projection.ts';
import { AddressMap } from './address-map.ts';

/** What a row of `accounts` says besides its address. */
interface Figures {
  readonly balance: bigint;
  readonly nonce: number;
  readonly transactions: number;
  readonly activities: number;
  readonly unsigned_debits: number;
  readonly blocks_produced: number;
}

/** The columns that an account is loaded by. */
export const ACCOUNT_COLUMNS =
  'address, balance, nonce, transactions, activities, unsigned_debits, blocks_produced';

const UNSEEN: Figures = {
  balance: 0n,
  nonce: 0,
  transactions: 0,
  activities: 0,
  unsigned_debits: 0,
  blocks_produced: 0,
};

export class Account {
  readonly address: Buffer;
  /** as the batch found it */
  readonly #loaded: Figures;
  balance: bigint;
  nonce: number;
  transactions: number;
  activities: number;
  unsigned_debits: number;
  blocks_produced: number;
  /** how many rows of `account_transactions` and `activity` that stood before the batch do so still */
  stored_transactions: number;
  stored_activities: number;

  constructor(address: Buffer, loaded: Figures) {
    this.address = address;
    this.#loaded = loaded;
    this.balance = loaded.balance;
    this.nonce = loaded.nonce;
    this.transactions = loaded.transactions;
    this.activities = loaded.activities;
    this.unsigned_debits = loaded.unsigned_debits;
    this.blocks_produced = loaded.blocks_produced;
    this.stored_transactions = loaded.transactions;
    this.stored_activities = loaded.activities;
  }

  get was_seen(): boolean {
    return isSeen(this.#loaded);
  }

  get has_moved(): boolean {
    const was = this.#loaded;
    return (
      this.transactions !== was.transactions ||
      this.activities !== was.activities ||
      this.blocks_produced !== was.blocks_produced ||
      this.balance !== was.balance ||
      this.nonce !== was.nonce ||
      this.unsigned_debits !== was.unsigned_debits
    );
  }

  get lost_transactions(): boolean {
    return this.stored_transactions < this.#loaded.transactions;
  }

  get lost_activities(): boolean {
    return this.stored_activities < this.#loaded.activities;
  }
}

function isSeen({ transactions, activities, blocks_produced: blocks }: Figures): boolean {
  return transactions + activities + blocks > 0;
}

export class Accounts {
  readonly #accounts = new AddressMap<Account>();

  constructor(loaded: Iterable<LoadedRow>) {
    for (const row of loaded) {
      const address = bytesIn(row, 'address');
      if (this.#accounts.get(address) === undefined)
        this.#accounts.add(address, new Account(address, figuresOf(row)));
    }
  }

  /** The account at an address; one that the batch did not find is new. */
  at(address: Buffer): Account {
    const known = this.#accounts.get(address);
    if (known !== undefined) return known;
    const account = new Account(address, UNSEEN);
    this.#accounts.add(address, account);
    return account;
  }

  /** Rows of those that are there and moved. */
  moved(): Row[] {
    const rows: Row[] = [];
    for (const account of this.#accounts.values) {
      if (!account.has_moved || !isSeen(account)) continue;
      const {
        address,
        balance,
        nonce,
        transactions,
        activities,
        unsigned_debits: debits,
        blocks_produced: blocks,
      } = account;
      rows.push([address, balance, nonce, transactions, activities, debits, blocks]);
    }
    return rows;
  }

  /** Keys of those that a revert left with nothing: as if they had never been seen. */
  gone(): Row[] {
    const keys: Row[] = [];
    for (const account of this.#accounts.values)
      if (account.was_seen && !isSeen(account)) keys.push([account.address]);
    return keys;
  }

  /** What reverts take off the top of the accounts' own lists. */
  cuts(transactions: Table, activity: Table): GroupCut[] {
    const accounts = this.#accounts.values;
    const shorter = accounts.filter(({ lost_transactions: lost }) => lost);
    const quieter = accounts.filter(({ lost_activities: lost }) => lost);
    const groups = { column: 'ordinal', within: 'address' } as const;
    return [
      {
        ...groups,
        table: transactions,
        groups: shorter.map(({ address, stored_transactions: from }) => [address, from]),
      },
      {
        ...groups,
        table: activity,
        groups: quieter.map(({ address, stored_activities: from }) => [address, from]),
      },
    ];
  }
}

function figuresOf(row: LoadedRow): Figures {
  return {
    balance: amountIn(row, 'balance'),
    nonce: countIn(row, 'nonce'),
    transactions: countIn(row, 'transactions'),
    activities: countIn(row, 'activities'),
    unsigned_debits: countIn(row, 'unsigned_debits'),
    blocks_produced: countIn(row, 'blocks_produced'),
  };
}
