/** What the chain knows after a block: accounts, the rides that are still open, the supply. Closed rides are forgotten: no rule asks for them again. */

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
  /** hashes of the offers made for it */
  readonly offers: readonly string[];
}

export interface OpenOffer {
  readonly request_hash: string;
  readonly driver: string;
  readonly fare: bigint;
  readonly referrer: string | null;
}

/** Accepted, neither fully paid nor cancelled; `fare - paid` is in escrow. */
export interface ActiveTrip {
  readonly passenger: string;
  readonly driver: string;
  readonly fare: bigint;
  readonly paid: bigint;
  readonly request_referrer: string | null;
  readonly offer_referrer: string | null;
}

/** accounts by address; requests, offers and trips by the hash of the transaction that made them; one supply, under `SUPPLY`. */
export interface Tables {
  readonly accounts: Account;
  readonly requests: OpenRequest;
  readonly offers: OpenOffer;
  readonly trips: ActiveTrip;
  readonly supply: bigint;
}
export type TableName = keyof Tables;
export type Rows = { readonly [Name in TableName]: Map<string, Tables[Name]> };

/** Prior values of the rows that a block changed; undefined where there was none. */
export type Undo = { readonly [Name in TableName]: ReadonlyMap<string, Tables[Name] | undefined> };

export interface View {
  get<Name extends TableName>(table: Name, key: string): Tables[Name] | undefined;
}

/** One row as it shall be; undefined removes it. Made by `write`, which ties the value to its table. */
export interface Write<Name extends TableName = TableName> {
  readonly table: Name;
  readonly key: string;
  readonly value: Tables[Name] | undefined;
}

export const SUPPLY = 'supply';
const NEVER_SEEN: Account = { balance: 0n, nonce: 0 };

export function write<Name extends TableName>(
  table: Name,
  key: string,
  value: Tables[Name] | undefined,
): Write<Name> {
  return { table, key, value };
}

/** An address never seen has nothing and starts at nonce 0. */
export function accountOf(view: View, address: string): Account {
  return view.get('accounts', address) ?? NEVER_SEEN;
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

/** The state after the newest block. Changes only by a draft's commit and by its undo. */
export class State implements View {
  readonly rows: Rows;

  constructor(rows: Rows) {
    this.rows = rows;
  }

  get<Name extends TableName>(table: Name, key: string): Tables[Name] | undefined {
    return this.rows[table].get(key);
  }

  /** Takes back one block; undos are taken back newest first. */
  revert(undo: Undo): void {
    restore(this.rows, undo);
  }

  /** A copy of the rows as they were before the blocks of these undos, given newest first. */
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

/** Changes on top of a state that is left as it is until `commit`. */
export class Draft implements View {
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

  /** Base units onto or off a balance. A balance below zero is a bug of the rules, never a refusal. */
  move(address: string, delta: bigint): void {
    const account = accountOf(this, address);
    const balance = account.balance + delta;
    if (balance < 0n)
      throw new Error(`the balance of ${address} would be ${balance}: a rule let it through`);
    this.apply(write('accounts', address, { ...account, balance }));
  }

  /** Makes the changes part of the state and returns what takes them back. The draft is used up. */
  commit(): Undo {
    return {
      accounts: place(this.#state.rows.accounts, this.#changes.accounts),
      requests: place(this.#state.rows.requests, this.#changes.requests),
      offers: place(this.#state.rows.offers, this.#changes.offers),
      trips: place(this.#state.rows.trips, this.#changes.trips),
      supply: place(this.#state.rows.supply, this.#changes.supply),
    };
  }
}

/** Sets or removes each row; returns what was there. */
function place<Row>(
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
  place(rows.accounts, undo.accounts);
  place(rows.requests, undo.requests);
  place(rows.offers, undo.offers);
  place(rows.trips, undo.trips);
  place(rows.supply, undo.supply);
}
