/** The deposits that wait to be minted, in the order in which they are served: that of the ledger. One whose mint turned out dead stands where it stood before. */

export interface Waiting {
  readonly deposit_id: string;
  /** offset of the event that put it here: its confirmation, or a person's approval */
  readonly place: number;
  /** time of that event, Unix milliseconds */
  readonly since: number;
}

export class MintQueue {
  /** also of those whose mint is under way: they may come back */
  readonly #places = new Map<string, Waiting>();
  #waiting = new Map<string, Waiting>();
  #isSorted = true;

  /** In order. */
  get waiting(): Iterable<Waiting> {
    if (!this.#isSorted) {
      const sorted = [...this.#waiting.values()].toSorted((one, other) => one.place - other.place);
      this.#waiting = new Map(sorted.map((each) => [each.deposit_id, each]));
      this.#isSorted = true;
    }
    return this.#waiting.values();
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** At the end: places only grow. */
  enter(waiting: Waiting): void {
    this.#places.set(waiting.deposit_id, waiting);
    this.#waiting.delete(waiting.deposit_id);
    this.#waiting.set(waiting.deposit_id, waiting);
  }

  /** Its mint is under way. */
  leave(depositId: string): void {
    this.#waiting.delete(depositId);
  }

  /** To where it was. */
  comeBack(depositId: string): void {
    const before = this.#places.get(depositId);
    if (before === undefined) return;
    this.#waiting.set(depositId, before);
    this.#isSorted = false;
  }

  /** For good, or until a person approves it. */
  remove(depositId: string): void {
    this.#places.delete(depositId);
    this.#waiting.delete(depositId);
  }
}
