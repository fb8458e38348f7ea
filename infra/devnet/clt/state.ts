/** A chain's constants, and its state after a block: accounts, rides not yet closed, supply. */

export interface Validator {
  readonly address: string;
  readonly reward_recipient: string;
}

export interface Parameters {
  readonly chain_id: number;
  readonly is_testnet: boolean;
  /** base units per transaction; RideAcceptance and the producer's own are free */
  readonly tx_fee: bigint;
  /** base units per block, paid from the reward pool while it lasts */
  readonly block_reward: bigint;
  /** basis points of each payment, deducted from the driver's payout */
  readonly request_referrer_bps: bigint;
  readonly offer_referrer_bps: bigint;
  /** a block is final when this many blocks are above it */
  readonly finality_depth: number;
  readonly block_transactions_max: number;
  readonly mempool_transactions_max: number;
  readonly request_offers_max: number;
  /** of the first blocks; `Chain` has its successors */
  readonly mint_authority: string;
  /** holds the unpaid fares of active trips; nobody has its key */
  readonly escrow: string;
  /** pays the block rewards; nobody has its key */
  readonly reward_pool: string;
  /** in turn, by height */
  readonly validators: readonly Validator[];
}

export const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
export const ZERO_HASH = `0x${'0'.repeat(64)}`;

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

/** A copy of the rows; empty tables without any. */
export function copyRows(rows?: Rows): Rows {
  return {
    accounts: new Map(rows?.accounts),
    requests: new Map(rows?.requests),
    offers: new Map(rows?.offers),
    trips: new Map(rows?.trips),
    supply: new Map(rows?.supply),
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
    changeRows(this.rows, undo);
  }

  /** A copy of the rows from before the blocks of these undos, newest first. */
  rowsBefore(undos: readonly Undo[]): Rows {
    const rows = copyRows(this.rows);
    for (const undo of undos) changeRows(rows, undo);
    return rows;
  }
}

/** Uncommitted changes on top of a state. */
export class StateOverlay implements StateReader {
  readonly #state: State;
  readonly #changes: { readonly [Name in TableName]: Map<string, Tables[Name] | undefined> } =
    copyRows();

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

  /** Applies the changes to the state; returns their undo. The overlay must not be used again. */
  commit(): Undo {
    return changeRows(this.#state.rows, this.#changes);
  }
}

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

/** Sets or removes the rows of all tables; returns their previous values. */
function changeRows(rows: Rows, changes: Undo): Undo {
  return {
    accounts: setRows(rows.accounts, changes.accounts),
    requests: setRows(rows.requests, changes.requests),
    offers: setRows(rows.offers, changes.offers),
    trips: setRows(rows.trips, changes.trips),
    supply: setRows(rows.supply, changes.supply),
  };
}
