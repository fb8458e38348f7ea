/**
 * So many operations read lists at once, each for another client. The others wait, and clients take
 * turns: one that sends many operations waits for its own. After a turn with many rows a client
 * rests: the operations of all others come before its own, so beside them it has a twentieth of the
 * processor time at most. Rows count and not time, which a slow Postgres or another process takes.
 */
import { performance } from 'node:perf_hooks';
import type { Clients } from '../../runtime/http/clients.ts';
import { Refused } from './errors.ts';

/** A turn with fewer rows needs no rest. */
const MANY_ROWS = 1_000;
/** Nineteen times as long as a row takes to be read and to become text, about 10 µs. */
const REST_MS_PER_ROW = 0.19;

interface Waiter {
  /** the lane it waits in, or had its turn in */
  lane: Lane;
  readonly begin: () => void;
}

interface Lane {
  readonly client: string;
  readonly waiting: Waiter[];
  hasTurn: boolean;
  /** ms of a monotonic clock */
  restsUntil: number;
}

export class Turns {
  readonly #max: number;
  readonly #waitingMax: number;
  readonly #now: () => number;
  /** of the clients that wait, have a turn, or rest; the first is next */
  readonly #lanes = new Map<string, Lane>();
  #taken = 0;

  /**
   * `waitingMax`: operations that wait in the lane of a client; `now`: ms of a monotonic clock
   */
  constructor(
    max: number,
    waitingMax = Number.POSITIVE_INFINITY,
    now = (): number => performance.now(),
  ) {
    this.#max = max;
    this.#waitingMax = waitingMax;
    this.#now = now;
  }

  /**
   * Resolves to the function that ends the turn, given the rows that were read. An operation for
   * several clients waits in the shortest of their lanes, and moves to that of a client that joins
   * with a shorter one. Throws a refusal when too many wait there, or once all clients have left.
   */
  async take(clients: Clients): Promise<(rows: number) => void> {
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
    let hasEnded = false;
    return (rows) => {
      if (!hasEnded) this.#end(waiter.lane, rows);
      hasEnded = true;
    };
  }

  #laneOf(client: string): Lane {
    return this.#lanes.get(client) ?? { client, waiting: [], hasTurn: false, restsUntil: 0 };
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
    if (place === -1 || lengthOf(to) >= place + Number(from.hasTurn)) return;
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
    while (this.#taken < this.#max) {
      const lane = this.#nextLane();
      const waiter = lane?.waiting.shift();
      if (lane === undefined || waiter === undefined) return;
      this.#taken++;
      lane.hasTurn = true;
      // its next turn is after those of all others
      this.#lanes.delete(lane.client);
      this.#lanes.set(lane.client, lane);
      waiter.begin();
    }
  }

  /** The first that waits; one that rests when no other does. */
  #nextLane(): Lane | undefined {
    const now = this.#now();
    let resting: Lane | undefined;
    for (const lane of this.#lanes.values()) {
      if (lane.hasTurn || lane.waiting.length === 0) continue;
      if (lane.restsUntil <= now) return lane;
      resting ??= lane;
    }
    return resting;
  }

  #end(lane: Lane, rows: number): void {
    this.#taken--;
    lane.hasTurn = false;
    if (rows > MANY_ROWS) lane.restsUntil = this.#now() + rows * REST_MS_PER_ROW;
    this.#forgetIdle(lane);
    this.#beginTurns();
  }

  /** One that rests is remembered until its rest is over. */
  #forgetIdle(lane: Lane): void {
    if (lengthOf(lane) > 0) return;
    const rest = lane.restsUntil - this.#now();
    if (rest > 0) setTimeout(() => this.#forgetIdle(lane), rest + 1).unref();
    else if (this.#lanes.get(lane.client) === lane) this.#lanes.delete(lane.client);
  }
}

const TOO_MANY = 'too many operations of yours wait: send more when they are answered';
const ABANDONED = 'nobody waits for this operation any more';

function lengthOf({ waiting, hasTurn }: Lane): number {
  return waiting.length + Number(hasTurn);
}
