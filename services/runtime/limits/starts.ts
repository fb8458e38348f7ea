/**
 * Decides when requests, sockets and operations on sockets start. A request starts at once while
 * the turn of the event loop is short. After that each client waits in a lane of its own, and in
 * each turn eight clients start one request each: so a client that sends many at once delays the
 * others by one of its requests, and not by all.
 */
import { ON, type Limit } from './limits.ts';

/** How long requests start at once in a turn of the event loop. */
const TURN_MS = 2;
const STARTS_PER_TURN = 8;

export class Starts {
  readonly #limit: Limit;
  /** of the clients that wait; the first is next */
  readonly #lanes = new Map<string, (() => void)[]>();
  /** of the first start in this turn; undefined: nothing started */
  #turnAt: number | undefined;

  constructor(limit: Limit = ON) {
    this.#limit = limit;
  }

  /** Undefined when the request may start, or a promise for the time when it may. */
  next(client: string): Promise<void> | undefined {
    if (!this.#limit.is_on) return undefined;
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

/** Acts of one socket in their order, of which those that are `paced` start as requests do. */
export class OrderedStarts {
  /** undefined: it may start */
  readonly #next: () => Promise<void> | undefined;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(next: () => Promise<void> | undefined) {
    this.#next = next;
  }

  /** How many have not begun. */
  get waiting(): number {
    return this.#waiting;
  }

  paced(act: () => void): void {
    if (this.#waiting > 0) return this.#wait(act, this.#next);
    const turn = this.#next();
    return turn === undefined ? act() : this.#wait(act, () => turn);
  }

  /** At once when nothing waits before it. */
  unpaced(act: () => void): void {
    if (this.#waiting === 0) act();
    else this.#wait(act, () => undefined);
  }

  #wait(act: () => void, turn: () => Promise<void> | undefined): void {
    this.#waiting++;
    this.#last = this.#actAfter(this.#last, turn, act);
  }

  async #actAfter(
    before: Promise<void>,
    turn: () => Promise<void> | undefined,
    act: () => void,
  ): Promise<void> {
    await before;
    await turn();
    this.#waiting--;
    act();
  }
}
