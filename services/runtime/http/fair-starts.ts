/**
 * When requests start. A request starts at once while the turn of the event loop is short. After
 * that each client waits in a lane of its own, and starts one request per turn: so one that sends
 * many at once delays the others by one of its requests, and not by all.
 */

/** How long requests start at once in a turn of the event loop. */
const TURN_MS = 2;
const STARTS_PER_TURN = 8;

export class FairStarts {
  /** of the clients that wait; the first is next */
  readonly #lanes = new Map<string, (() => void)[]>();
  /** of the first start in this turn; undefined: nothing started */
  #turnAt: number | undefined;

  /** Undefined when the request may start, or a promise for the time when it may. */
  next(client: string): Promise<void> | undefined {
    const now = performance.now();
    if (this.#turnAt === undefined) this.#beginTurn(now);
    if (this.#lanes.size === 0 && now - (this.#turnAt ?? now) < TURN_MS) return undefined;
    const lane = this.#lanes.get(client) ?? [];
    this.#lanes.set(client, lane);
    return new Promise((resolve) => lane.push(resolve));
  }

  #beginTurn(now: number): void {
    this.#turnAt = now;
    setImmediate(() => this.#endTurn());
  }

  #endTurn(): void {
    this.#turnAt = undefined;
    if (this.#lanes.size === 0) return;
    this.#beginTurn(performance.now());
    for (const [client, lane] of this.#lanes.entries().take(STARTS_PER_TURN).toArray()) {
      this.#lanes.delete(client);
      lane.shift()?.();
      // its next turn is after those of all others
      if (lane.length > 0) this.#lanes.set(client, lane);
    }
  }
}

/** Acts in the order in which they are given; those that are `paced` as requests of this client. */
export class OrderedStarts {
  readonly #starts: Pick<FairStarts, 'next'>;
  readonly #client: string;
  /** the first has its turn */
  readonly #waiting: { readonly act: () => void; readonly isPaced: boolean }[] = [];

  constructor(starts: Pick<FairStarts, 'next'>, client: string) {
    this.#starts = starts;
    this.#client = client;
  }

  /** How many have not begun, and the one that runs. */
  get waiting(): number {
    return this.#waiting.length;
  }

  paced(act: () => void): void {
    const isFirst = this.#waiting.length === 0;
    const turn = isFirst ? this.#starts.next(this.#client) : undefined;
    if (isFirst && turn === undefined) return act();
    this.#waiting.push({ act, isPaced: true });
    if (turn !== undefined) void this.#run(turn);
  }

  /** At once when nothing waits before it. */
  unpaced(act: () => void): void {
    if (this.#waiting.length === 0) act();
    else this.#waiting.push({ act, isPaced: false });
  }

  async #run(first: Promise<void>): Promise<void> {
    await first;
    for (let one = this.#waiting[0]; one !== undefined; one = this.#waiting[0]) {
      one.act();
      this.#waiting.shift();
      if (this.#waiting[0]?.isPaced === true) await this.#starts.next(this.#client);
    }
  }
}
