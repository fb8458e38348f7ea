/**
 * The names under which requests count, and the clients that an operation is for, which come and go
 * while it waits.
 */

/** How many times the limit of one account all accounts of an address have together. */
export const ACCOUNTS_PER_ADDRESS = 3;

/** Names an account at its address, or a client without one, as those who take turns. */
export function turnOf(client: string, account?: string): string {
  return account === undefined ? client : `${client} ${account}`;
}

/** The address of an account that takes turns; undefined for a client without one. */
export function addressOf(turn: string): string | undefined {
  const [address, account] = turn.split(' ');
  return account === undefined ? undefined : address;
}

interface Watcher {
  readonly joined: (client: string) => void;
  /** nobody is left */
  readonly abandoned: () => void;
}

export class Clients {
  /** how many times each waits for it */
  readonly #all = new Map<string, number>();
  #watcher: Watcher | undefined;

  constructor(clients: Iterable<string>) {
    for (const client of clients) this.add(client);
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#all.keys();
  }

  /** How many different ones there are. */
  get size(): number {
    return this.#all.size;
  }

  add(client: string): void {
    const times = this.#all.get(client) ?? 0;
    this.#all.set(client, times + 1);
    if (times === 0) this.#watcher?.joined(client);
  }

  /** Tells that a client which waited has left. */
  delete(client: string): void {
    const times = this.#all.get(client) ?? 0;
    if (times > 1) this.#all.set(client, times - 1);
    else if (this.#all.delete(client) && this.#all.size === 0) this.#watcher?.abandoned();
  }

  /** Tells what happens from now on. */
  watch(watcher: Watcher): void {
    this.#watcher = watcher;
  }
}
