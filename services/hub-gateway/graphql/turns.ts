/**
 * So many operations read lists at once, each for another client. The others wait, and clients take
 * turns: one that sends many operations waits for its own. After a long turn a client rests, so it
 * has a twentieth of the time at most, also when no other waits.
 */

/** A shorter turn needs no rest. */
const LONG_MS = 10;
const RESTS_PER_TURN = 19;

interface Lane {
  readonly waiting: (() => void)[];
  /** has a turn, or rests after it */
  isBusy: boolean;
}

export class Turns {
  readonly #max: number;
  /** of the clients that wait, have a turn, or rest; the first is next */
  readonly #lanes = new Map<string, Lane>();
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Resolves to the function that ends the turn. An operation for several clients waits in the
   * shortest of their lanes.
   */
  async take(clients: Iterable<string>): Promise<() => void> {
    const [client, lane] = this.#laneOf(clients);
    this.#lanes.set(client, lane);
    const begun = new Promise<void>((resolve) => lane.waiting.push(resolve));
    this.#beginTurns();
    await begun;
    const at = performance.now();
    let hasEnded = false;
    return () => {
      if (!hasEnded) this.#end(client, lane, performance.now() - at);
      hasEnded = true;
    };
  }

  #laneOf(clients: Iterable<string>): readonly [client: string, lane: Lane] {
    let shortest: readonly [client: string, lane: Lane] | undefined;
    for (const client of clients) {
      const lane = this.#lanes.get(client) ?? { waiting: [], isBusy: false };
      if (shortest === undefined || lengthOf(lane) < lengthOf(shortest[1]))
        shortest = [client, lane];
      if (lengthOf(lane) === 0) break;
    }
    return shortest ?? ['', this.#lanes.get('') ?? { waiting: [], isBusy: false }];
  }

  #beginTurns(): void {
    for (const [client, lane] of this.#lanes) {
      if (this.#taken >= this.#max) return;
      const begin = lane.isBusy ? undefined : lane.waiting.shift();
      if (begin === undefined) continue;
      this.#taken++;
      lane.isBusy = true;
      // its next turn is after those of all others
      this.#lanes.delete(client);
      this.#lanes.set(client, lane);
      begin();
    }
  }

  #end(client: string, lane: Lane, ms: number): void {
    this.#taken--;
    const rested = (): void => {
      lane.isBusy = false;
      if (lane.waiting.length === 0) this.#lanes.delete(client);
      this.#beginTurns();
    };
    if (ms <= LONG_MS) return rested();
    setTimeout(rested, ms * RESTS_PER_TURN).unref();
    this.#beginTurns();
  }
}

function lengthOf({ waiting, isBusy }: Lane): number {
  return waiting.length + Number(isBusy);
}
