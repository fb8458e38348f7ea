/** The clients that an operation is for. They come and go while it waits. */

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
