/**
 * The balances and activity counts of the generated chain's accounts: the counts that the
 * explorer's tables must have, kept independently of them. Accounts are numbers, so a hundred
 * million moves are cheap. A block can be undone until it is final.
 */

/** The effects of one block, newest last. */
interface Done {
  readonly producer: number;
  readonly senders: number[];
  readonly parties: number[];
  readonly moved: number[];
  readonly deltas: number[];
  readonly types: number[];
  supply: bigint;
}

export class Ledger {
  readonly accounts: number;
  readonly #balances: Float64Array;
  readonly #nonces: Float64Array;
  readonly #transactions: Float64Array;
  readonly #activities: Float64Array;
  readonly #produced: Float64Array;
  readonly #ofType: Float64Array;
  readonly #revertible: Done[] = [];
  #now: Done;
  #blocks = 0;
  #supply = 0n;

  constructor(accounts: number, types: number) {
    this.accounts = accounts;
    this.#balances = new Float64Array(accounts);
    this.#nonces = new Float64Array(accounts);
    this.#transactions = new Float64Array(accounts);
    this.#activities = new Float64Array(accounts);
    this.#produced = new Float64Array(accounts);
    this.#ofType = new Float64Array(types);
    this.#now = nothing(-1);
  }

  /** A block begins: what follows is its. */
  begin(producer: number): void {
    this.#now = nothing(producer);
    this.#revertible.push(this.#now);
    this.#blocks++;
    add(this.#produced, producer, 1);
  }

  /** A transaction from one account to another; gives the nonce. */
  sign(from: number, to: number, type: number): number {
    const nonce = at(this.#nonces, from);
    this.#now.senders.push(from);
    this.#now.types.push(type);
    add(this.#nonces, from, 1);
    add(this.#ofType, type, 1);
    this.#takesPart(from);
    if (to !== from) this.#takesPart(to);
    return nonce;
  }

  #takesPart(account: number): void {
    this.#now.parties.push(account);
    add(this.#transactions, account, 1);
  }

  /** One balance effect: never zero, never more than the account has. */
  move(account: number, delta: number): void {
    const balance = at(this.#balances, account) + delta;
    if (delta === 0 || !(balance >= 0 && balance <= Number.MAX_SAFE_INTEGER))
      throw new Error(`account ${account} cannot be moved by ${delta} to ${balance}`);
    this.#balances[account] = balance;
    this.#now.moved.push(account);
    this.#now.deltas.push(delta);
    add(this.#activities, account, 1);
  }

  /** An effect that no number holds; the account's balance is not known from then on. */
  moveUncounted(account: number): void {
    this.#now.moved.push(account);
    this.#now.deltas.push(0);
    add(this.#activities, account, 1);
  }

  /** Minted above zero, burned below. */
  changeSupply(delta: bigint): void {
    this.#now.supply += delta;
    this.#supply += delta;
  }

  /** The newest block was never there. */
  undo(): void {
    const done = this.#revertible.pop();
    if (done === undefined) throw new Error('the newest block is final');
    this.#blocks--;
    this.#supply -= done.supply;
    add(this.#produced, done.producer, -1);
    for (const account of done.senders) add(this.#nonces, account, -1);
    for (const account of done.parties) add(this.#transactions, account, -1);
    for (const type of done.types) add(this.#ofType, type, -1);
    for (const [index, account] of done.moved.entries()) {
      add(this.#balances, account, -(done.deltas[index] ?? 0));
      add(this.#activities, account, -1);
    }
  }

  /** All but the newest `revertible` blocks are final. */
  finalize(revertible: number): void {
    this.#revertible.splice(0, Math.max(0, this.#revertible.length - revertible));
  }

  balance(account: number): number {
    return at(this.#balances, account);
  }

  get blocks(): number {
    return this.#blocks;
  }

  /** minted less burned */
  get supply(): bigint {
    return this.#supply;
  }

  get transactions(): number {
    return total(this.#ofType);
  }

  /** by type */
  get of_type(): readonly number[] {
    return [...this.#ofType];
  }

  get account_transactions(): number {
    return total(this.#transactions);
  }

  get activities(): number {
    return total(this.#activities);
  }

  get producers(): number {
    return this.#produced.reduce((count, blocks) => (blocks > 0 ? count + 1 : count), 0);
  }

  transactionsOf(account: number): number {
    return at(this.#transactions, account);
  }

  activitiesOf(account: number): number {
    return at(this.#activities, account);
  }

  /** Whether anything is known of the account. */
  isSeen(account: number): boolean {
    return (
      at(this.#transactions, account) +
        at(this.#activities, account) +
        at(this.#produced, account) >
      0
    );
  }
}

function nothing(producer: number): Done {
  return { producer, senders: [], parties: [], moved: [], deltas: [], types: [], supply: 0n };
}

function at(values: Float64Array, index: number): number {
  const value = values[index];
  if (value === undefined) throw new Error(`there is no account or type ${index}`);
  return value;
}

function add(values: Float64Array, index: number, delta: number): void {
  values[index] = at(values, index) + delta;
}

function total(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0);
}
