/**
 * So many operations read lists at once, and the clients of the others wait in turn: one that sends
 * many operations waits for its own, and the others do not wait for it.
 */
export class Turns {
  readonly #max: number;
  /** of each client that waits, in the order of its turns */
  readonly #lanes = new Map<string, (() => void)[]>();
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Resolves to the function that ends the turn. An operation for several clients waits in the
   * shortest of their lanes.
   */
  async take(clients: Iterable<string>): Promise<() => void> {
    if (this.#taken < this.#max) this.#taken++;
    else await new Promise<void>((resolve) => this.#laneOf(clients).push(resolve));
    let hasEnded = false;
    return () => {
      if (!hasEnded) this.#next();
      hasEnded = true;
    };
  }

  #laneOf(clients: Iterable<string>): (() => void)[] {
    let shortest: readonly [client: string, lane: (() => void)[]] | undefined;
    for (const client of clients) {
      const lane = this.#lanes.get(client) ?? [];
      if (shortest === undefined || lane.length < shortest[1].length) shortest = [client, lane];
      if (lane.length === 0) break;
    }
    const [client, lane] = shortest ?? ['', this.#lanes.get('') ?? []];
    this.#lanes.set(client, lane);
    return lane;
  }

  #next(): void {
    const [first] = this.#lanes;
    if (first === undefined) {
      this.#taken--;
      return;
    }
    const [client, lane] = first;
    this.#lanes.delete(client);
    const begin = lane.shift();
    // its next turn is after those of all others
    if (lane.length > 0) this.#lanes.set(client, lane);
    begin?.();
  }
}
