/** The accounts that one batch touches: as loaded, and as they are now. */
import { AddressMap } from '../bytes-index.ts';
import { amountIn, bytesIn, countIn } from '../contract/loaded-row.ts';
import type { GroupCut, LoadedRow, Row, Table } from '../contract/projection.ts';

/** The columns of `accounts` other than the address. */
interface Totals {
  readonly balance: bigint;
  readonly nonce: number;
  readonly transactions: number;
  readonly activities: number;
  readonly unsigned_debits: number;
  readonly blocks_produced: number;
}

export const ACCOUNT_COLUMNS =
  'address, balance, nonce, transactions, activities, unsigned_debits, blocks_produced';

const NEW_ACCOUNT: Totals = {
  balance: 0n,
  nonce: 0,
  transactions: 0,
  activities: 0,
  unsigned_debits: 0,
  blocks_produced: 0,
};

export class Account {
  readonly address: Buffer;
  readonly loaded: Totals;
  balance: bigint;
  nonce: number;
  transactions: number;
  activities: number;
  unsigned_debits: number;
  blocks_produced: number;
  /** rows of `account_transactions` and `activity` from before the batch that no revert removed */
  stored_transactions: number;
  stored_activities: number;

  constructor(address: Buffer, loaded: Totals) {
    this.address = address;
    this.loaded = loaded;
    this.balance = loaded.balance;
    this.nonce = loaded.nonce;
    this.transactions = loaded.transactions;
    this.activities = loaded.activities;
    this.unsigned_debits = loaded.unsigned_debits;
    this.blocks_produced = loaded.blocks_produced;
    this.stored_transactions = loaded.transactions;
    this.stored_activities = loaded.activities;
  }

  get has_changed(): boolean {
    const { loaded } = this;
    return (
      this.transactions !== loaded.transactions ||
      this.activities !== loaded.activities ||
      this.blocks_produced !== loaded.blocks_produced ||
      this.balance !== loaded.balance ||
      this.nonce !== loaded.nonce ||
      this.unsigned_debits !== loaded.unsigned_debits
    );
  }
}

/** An account without any of these has no row. */
function exists({ transactions, activities, blocks_produced: blocksProduced }: Totals): boolean {
  return transactions + activities + blocksProduced > 0;
}

export class Accounts {
  readonly #accounts = new AddressMap<Account>();

  constructor(loaded: Iterable<LoadedRow>) {
    for (const row of loaded) {
      const address = bytesIn(row, 'address');
      if (this.#accounts.get(address) !== undefined) continue;
      const totals: Totals = {
        balance: amountIn(row, 'balance'),
        nonce: countIn(row, 'nonce'),
        transactions: countIn(row, 'transactions'),
        activities: countIn(row, 'activities'),
        unsigned_debits: countIn(row, 'unsigned_debits'),
        blocks_produced: countIn(row, 'blocks_produced'),
      };
      this.#accounts.add(address, new Account(address, totals));
    }
  }

  /** The account at an address; a new one when no row was loaded. */
  at(address: Buffer): Account {
    const known = this.#accounts.get(address);
    if (known !== undefined) return known;
    const account = new Account(address, NEW_ACCOUNT);
    this.#accounts.add(address, account);
    return account;
  }

  /** Rows of the accounts that changed. */
  changed(): Row[] {
    return this.#accounts.values
      .filter((account) => account.has_changed && exists(account))
      .map((account) => [
        account.address,
        account.balance,
        account.nonce,
        account.transactions,
        account.activities,
        account.unsigned_debits,
        account.blocks_produced,
      ]);
  }

  /** Keys of the accounts whose every block was reverted. */
  deleted(): Row[] {
    return this.#accounts.values
      .filter((account) => exists(account.loaded) && !exists(account))
      .map(({ address }) => [address]);
  }

  /** The rows that reverts remove from the top of each account's lists. */
  cuts(accountTransactions: Table, activity: Table): GroupCut[] {
    const accounts = this.#accounts.values;
    const cut = { column: 'ordinal', within: 'address' } as const;
    return [
      {
        ...cut,
        table: accountTransactions,
        groups: accounts
          .filter(
            ({ loaded, stored_transactions: storedTransactions }) =>
              storedTransactions < loaded.transactions,
          )
          .map(({ address, stored_transactions: storedTransactions }) => [
            address,
            storedTransactions,
          ]),
      },
      {
        ...cut,
        table: activity,
        groups: accounts
          .filter(
            ({ loaded, stored_activities: storedActivities }) =>
              storedActivities < loaded.activities,
          )
          .map(({ address, stored_activities: storedActivities }) => [address, storedActivities]),
      },
    ];
  }
}
