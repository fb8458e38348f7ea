/**
 * So many operations read lists at once, each for another client. The others wait, and clients take
 * turns: one that sends many operations waits for its own. After a long turn a client rests, so it
 * has a twentieth of the event loop's time at most, also when no other waits. Time in which the
 * event loop is idle, such as that of a slow Postgres, does not count.
 */
import { performance } from 'node:perf_hooks';
import { Refused } from './errors.ts';

/** A shorter turn needs no rest. */
const LONG_MS = 10;
const RESTS_PER_TURN = 19;

interface Watcher {
  readonly joined: (client: string) => void;
  /** nobody is left */
  readonly abandoned: () => void;
}

/** The clients that an operation is for. They come and go while it waits. */
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

interface Waiter {
  /** the lane it waits in, or had its turn in */
  lane: Lane;
  readonly begin: () => void;
}

interface Lane {
  readonly client: string;
  readonly waiting: Waiter[];
  /** has a turn, or rests after it */
  isBusy: boolean;
}

export class Turns {
  readonly #max: number;
  readonly #waitingMax: number;
  readonly #busyMs: () => number;
  /** of the clients that wait, have a turn, or rest; the first is next */
  readonly #lanes = new Map<string, Lane>();
  #taken = 0;

  /**
   * `waitingMax`: operations that wait in the lane of a client; `busyMs`: how long the event loop
   * has been busy so far
   */
  constructor(max: number, waitingMax = Number.POSITIVE_INFINITY, busyMs = loopBusyMs) {
    this.#max = max;
    this.#waitingMax = waitingMax;
    this.#busyMs = busyMs;
  }

  /**
   * Resolves to the function that ends the turn. An operation for several clients waits in the
   * shortest of their lanes, and moves to that of a client that joins with a shorter one. Throws a
   * refusal when too many wait there, or once all clients have left.
   */
  async take(clients: Clients): Promise<() => void> {
    const lane = this.#shortestLane(clients);
    if (lane.waiting.length >= this.#waitingMax) throw new Refused('RATE_LIMITED', TOO_MANY);
    const { promise: begun, resolve: begin, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { lane, begin };
    this.#enqueue(waiter, lane);
    clients.watch({
      joined: (client) => this.#join(waiter, client),
      abandoned: () => this.#remove(waiter) && reject(new Refused('RATE_LIMITED', ABANDONED)),
    });
    this.#beginTurns();
    await begun;
    const before = this.#busyMs();
    let hasEnded = false;
    return () => {
      if (!hasEnded) this.#end(waiter.lane, this.#busyMs() - before);
      hasEnded = true;
    };
  }

  #laneOf(client: string): Lane {
    return this.#lanes.get(client) ?? { client, waiting: [], isBusy: false };
  }

  #shortestLane(clients: Iterable<string>): Lane {
    let shortest: Lane | undefined;
    for (const client of clients) {
      const lane = this.#laneOf(client);
      if (shortest === undefined || lengthOf(lane) < lengthOf(shortest)) shortest = lane;
      if (lengthOf(lane) === 0) break;
    }
    return shortest ?? this.#laneOf('');
  }

  #enqueue(waiter: Waiter, lane: Lane): void {
    waiter.lane = lane;
    lane.waiting.push(waiter);
    this.#lanes.set(lane.client, lane);
  }

  #join(waiter: Waiter, client: string): void {
    const { lane: from } = waiter;
    const place = from.waiting.indexOf(waiter);
    const to = this.#laneOf(client);
    if (place === -1 || lengthOf(to) >= place + Number(from.isBusy)) return;
    this.#remove(waiter);
    this.#enqueue(waiter, to);
    this.#beginTurns();
  }

  /** False when it waits no more. */
  #remove(waiter: Waiter): boolean {
    const { lane } = waiter;
    const place = lane.waiting.indexOf(waiter);
    if (place === -1) return false;
    lane.waiting.splice(place, 1);
    this.#forgetIdle(lane);
    return true;
  }

  #beginTurns(): void {
    for (const [client, lane] of this.#lanes) {
      if (this.#taken >= this.#max) return;
      const waiter = lane.isBusy ? undefined : lane.waiting.shift();
      if (waiter === undefined) continue;
      this.#taken++;
      lane.isBusy = true;
      // its next turn is after those of all others
      this.#lanes.delete(client);
      this.#lanes.set(client, lane);
      waiter.begin();
    }
  }

  #end(lane: Lane, busyMs: number): void {
    this.#taken--;
    const rested = (): void => {
      lane.isBusy = false;
      this.#forgetIdle(lane);
      this.#beginTurns();
    };
    if (busyMs <= LONG_MS) return rested();
    setTimeout(rested, busyMs * RESTS_PER_TURN).unref();
    this.#beginTurns();
  }

  #forgetIdle(lane: Lane): void {
    if (lengthOf(lane) === 0) this.#lanes.delete(lane.client);
  }
}

function loopBusyMs(): number {
  return performance.eventLoopUtilization().active;
}

const TOO_MANY = 'too many operations of yours wait: send more when they are answered';
const ABANDONED = 'nobody waits for this operation any more';

function lengthOf({ waiting, isBusy }: Lane): number {
  return waiting.length + Number(isBusy);
}
