/** Who a request counts for, and the clients that an operation is for. They come and go while it waits. */

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
  readonly #all: Set<string>;
  #watcher: Watcher | undefined;

  constructor(clients: Iterable<string>) {
    this.#all = new Set(clients);
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#all.values();
  }

  add(client: string): void {
    if (this.#all.has(client)) return;
    this.#all.add(client);
    this.#watcher?.joined(client);
  }

  delete(client: string): void {
    if (this.#all.delete(client) && this.#all.size === 0) this.#watcher?.abandoned();
  }

  /** Tells what happens from now on. */
  watch(watcher: Watcher): void {
    this.#watcher = watcher;
  }
}
