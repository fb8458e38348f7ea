/** The chain's state after a block: accounts, open rides, supply. Closed rides are not kept. */

export interface Account {
  /** base units */
  readonly balance: bigint;
  /** of its next transaction */
  readonly nonce: number;
}

export interface OpenRequest {
  readonly passenger: string;
  readonly fare: bigint;
  readonly referrer: string | null;
  /** hashes of its offers */
  readonly offers: readonly string[];
}

export interface OpenOffer {
  readonly request_hash: string;
  readonly driver: string;
  readonly fare: bigint;
  readonly referrer: string | null;
}

/** Accepted, neither fully paid nor cancelled; escrow holds `fare - paid`. */
export interface ActiveTrip {
  readonly passenger: string;
  readonly driver: string;
  readonly fare: bigint;
  readonly paid: bigint;
  readonly request_referrer: string | null;
  readonly offer_referrer: string | null;
}

/** The row types. Keys: the address; the hash of the creating transaction; `SUPPLY`. */
export interface Tables {
  readonly accounts: Account;
  readonly requests: OpenRequest;
  readonly offers: OpenOffer;
  readonly trips: ActiveTrip;
  readonly supply: bigint;
}
type TableName = keyof Tables;
export type Rows = { readonly [Name in TableName]: Map<string, Tables[Name]> };

/** The previous values of the rows that a block changed; undefined: no row. */
export type Undo = { readonly [Name in TableName]: ReadonlyMap<string, Tables[Name] | undefined> };

export interface StateReader {
  get<Name extends TableName>(table: Name, key: string): Tables[Name] | undefined;
}

/** The new value of a row; undefined removes it. */
export interface Write<Name extends TableName = TableName> {
  readonly table: Name;
  readonly key: string;
  readonly value: Tables[Name] | undefined;
}

export const SUPPLY = 'supply';
const NEW_ACCOUNT: Account = { balance: 0n, nonce: 0 };

export function write<Name extends TableName>(
  table: Name,
  key: string,
  value: Tables[Name] | undefined,
): Write<Name> {
  return { table, key, value };
}

/** An address without a row has balance 0 and nonce 0. */
export function accountAt(state: StateReader, address: string): Account {
  return state.get('accounts', address) ?? NEW_ACCOUNT;
}

export function emptyRows(): Rows {
  return {
    accounts: new Map(),
    requests: new Map(),
    offers: new Map(),
    trips: new Map(),
    supply: new Map(),
  };
}

/** The state after the newest block. Only `StateOverlay.commit` and `revert` change it. */
export class State implements StateReader {
  readonly rows: Rows;

  constructor(rows: Rows) {
    this.rows = rows;
  }

  get<Name extends TableName>(table: Name, key: string): Tables[Name] | undefined {
    return this.rows[table].get(key);
  }

  /** Reverts one block; blocks are reverted newest first. */
  revert(undo: Undo): void {
    restore(this.rows, undo);
  }

  /** A copy of the rows from before the blocks of these undos, newest first. */
  rowsBefore(undos: readonly Undo[]): Rows {
    const rows: Rows = {
      accounts: new Map(this.rows.accounts),
      requests: new Map(this.rows.requests),
      offers: new Map(this.rows.offers),
      trips: new Map(this.rows.trips),
      supply: new Map(this.rows.supply),
    };
    for (const undo of undos) restore(rows, undo);
    return rows;
  }
}

/** Uncommitted changes on top of a state. */
export class StateOverlay implements StateReader {
  readonly #state: State;
  readonly #changes: { readonly [Name in TableName]: Map<string, Tables[Name] | undefined> } = {
    accounts: new Map(),
    requests: new Map(),
    offers: new Map(),
    trips: new Map(),
    supply: new Map(),
  };

  constructor(state: State) {
    this.#state = state;
  }

  get<Name extends TableName>(table: Name, key: string): Tables[Name] | undefined {
    const changes = this.#changes[table];
    return changes.has(key) ? changes.get(key) : this.#state.get(table, key);
  }

  apply<Name extends TableName>({ table, key, value }: Write<Name>): void {
    this.#changes[table].set(key, value);
  }

  /** Adds base units to a balance. A balance below zero is a bug, never a refusal. */
  move(address: string, delta: bigint): void {
    const account = accountAt(this, address);
    const balance = account.balance + delta;
    if (balance < 0n)
      throw new Error(`the balance of ${address} would be ${balance}: a check is missing`);
    this.apply(write('accounts', address, { ...account, balance }));
  }

  /**
   * Applies the changes to the state and returns their undo. The overlay must not be used again.
   */
  commit(): Undo {
    return {
      accounts: setRows(this.#state.rows.accounts, this.#changes.accounts),
      requests: setRows(this.#state.rows.requests, this.#changes.requests),
      offers: setRows(this.#state.rows.offers, this.#changes.offers),
      trips: setRows(this.#state.rows.trips, this.#changes.trips),
      supply: setRows(this.#state.rows.supply, this.#changes.supply),
    };
  }
}

/** Sets or removes each row; returns the previous values. */
function setRows<Row>(
  rows: Map<string, Row>,
  changes: ReadonlyMap<string, Row | undefined>,
): ReadonlyMap<string, Row | undefined> {
  const before = new Map<string, Row | undefined>();
  for (const [key, value] of changes) {
    before.set(key, rows.get(key));
    if (value === undefined) rows.delete(key);
    else rows.set(key, value);
  }
  return before;
}

function restore(rows: Rows, undo: Undo): void {
  setRows(rows.accounts, undo.accounts);
  setRows(rows.requests, undo.requests);
  setRows(rows.offers, undo.offers);
  setRows(rows.trips, undo.trips);
  setRows(rows.supply, undo.supply);
}
