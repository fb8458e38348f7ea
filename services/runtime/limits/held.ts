/**
 * How much of something each client holds, and at most may: connections or sockets.
 */
import { ON, type Limit } from './limits.ts';

/** Open connections of one address, sockets apart. */
export const CONNECTIONS_PER_CLIENT_MAX = 1_000;
/** Requests of one connection that have no answer yet: browsers and proxies send one at a time. */
export const PIPELINED_MAX = 16;

export class Held {
  readonly #max: number;
  readonly #limit: Limit;
  readonly #amounts = new Map<string, number>();

  /** `max`: of one client, in the unit that `take` is given. */
  constructor(max: number, limit: Limit = ON) {
    this.#max = limit.is_on ? max : Number.POSITIVE_INFINITY;
    this.#limit = limit;
  }

  /**
   * The function that gives it back, to be called once; undefined when the client would hold too
   * much. A client that holds nothing may take any amount.
   */
  take(client: string, amount = 1): (() => void) | undefined {
    const before = this.#amounts.get(client) ?? 0;
    if (before > 0 && before + amount > this.#max) {
      this.#limit.refused();
      return undefined;
    }
    return this.#hold(client, amount);
  }

  /** The client may take no more for some ms. */
  bar(client: string, ms: number): void {
    this.#limit.refused();
    setTimeout(this.#hold(client, this.#max), ms).unref();
  }

  #hold(client: string, amount: number): () => void {
    this.#amounts.set(client, (this.#amounts.get(client) ?? 0) + amount);
    return () => {
      const left = (this.#amounts.get(client) ?? 0) - amount;
      if (left > 0) this.#amounts.set(client, left);
      else this.#amounts.delete(client);
    };
  }
}
