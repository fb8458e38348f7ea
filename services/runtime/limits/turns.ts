/**
 * A limited number of operations reads at once, each for another client. The others wait, and
 * clients take turns: one that sends many operations waits for its own. After a turn with many
 * values a client rests, so it has a twentieth of the processor time at most. It rests also when
 * nobody waits for a turn: others need the event loop for what needs no turn. All accounts of an
 * address rest together, a third as long each. Values count and not time, which a slow Postgres or
 * another process takes.
 */
import { ACCOUNTS_PER_ADDRESS, addressOf, type Clients } from './clients.ts';
import { LimitReached, ON, type Limit } from './limits.ts';

/** A turn with fewer values needs no rest. */
const MANY_VALUES = 4_000;
/** Nineteen times as long as a value takes to be read and to become text, about 2.5 µs. */
const REST_MS_PER_VALUE = 0.0475;
/** The rest that accounts of an address may owe together and still take turns. */
const OWED_MS_MAX = 10_000;

interface Waiter {
  /** the lane it waits in, or had its turn in */
  lane: Lane;
  readonly begin: () => void;
}

interface Lane {
  readonly client: string;
  readonly waiting: Waiter[];
  /** has its turn, or rests after it */
  isBusy: boolean;
}

export class Turns {
  readonly #max: number;
  readonly #waitingMax: number;
  readonly #limit: Limit;
  /** of the clients that wait, have a turn, or rest; the first is next */
  readonly #lanes = new Map<string, Lane>();
  /** of an address with accounts, when the rests of all of them are over */
  readonly #restedAt = new Map<string, number>();
  #taken = 0;

  /** `waitingMax`: operations that wait in the lane of a client. */
  constructor(max: number, waitingMax = Number.POSITIVE_INFINITY, limit: Limit = ON) {
    this.#max = max;
    this.#waitingMax = waitingMax;
    this.#limit = limit;
  }

  /** How many operations wait. */
  get waiting(): number {
    return this.#lanes.values().reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  /**
   * Resolves to the function that ends the turn, given how many values were read. An operation for
   * several clients waits in the shortest of their lanes, and moves to that of a client that joins
   * with a shorter one. Throws a refusal when too many wait there, or once all clients have left.
   */
  async take(clients: Clients): Promise<(values: number) => void> {
    if (!this.#limit.is_on) return NOTHING_TO_END;
    const lane = this.#shortestLane(clients);
    if (lane === undefined) throw new LimitReached(ABANDONED);
    if (lane.waiting.length >= this.#waitingMax) {
      this.#limit.refused();
      throw new LimitReached(TOO_MANY);
    }
    const { promise: begun, resolve: begin, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { lane, begin };
    this.#enqueue(waiter, lane);
    clients.watch({
      joined: (client) => this.#join(waiter, client),
      abandoned: () => this.#remove(waiter) && reject(new LimitReached(ABANDONED)),
    });
    this.#beginTurns();
    await begun;
    let hasEnded = false;
    return (values) => {
      if (!hasEnded) this.#end(waiter.lane, values);
      hasEnded = true;
    };
  }

  #laneOf(client: string): Lane {
    return this.#lanes.get(client) ?? { client, waiting: [], isBusy: false };
  }

  /** Undefined without clients: they have left. */
  #shortestLane(clients: Iterable<string>): Lane | undefined {
    let shortest: Lane | undefined;
    for (const client of clients) {
      const lane = this.#laneOf(client);
      if (shortest === undefined || lengthOf(lane) < lengthOf(shortest)) shortest = lane;
      if (lengthOf(lane) === 0) break;
    }
    return shortest;
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
      const isHeld = lane.isBusy || this.#owedMs(addressOf(client)) > OWED_MS_MAX;
      const waiter = isHeld ? undefined : lane.waiting.shift();
      if (waiter === undefined) continue;
      this.#taken++;
      lane.isBusy = true;
      // its next turn is after those of all others
      this.#lanes.delete(client);
      this.#lanes.set(client, lane);
      waiter.begin();
    }
  }

  #end(lane: Lane, values: number): void {
    this.#taken--;
    const rested = (): void => {
      lane.isBusy = false;
      this.#forgetIdle(lane);
      this.#beginTurns();
    };
    if (values <= MANY_VALUES) return rested();
    const rest = values * REST_MS_PER_VALUE;
    setTimeout(rested, rest).unref();
    this.#owe(lane.client, rest / ACCOUNTS_PER_ADDRESS);
    this.#beginTurns();
  }

  /** `address`: of an account. */
  #owedMs(address: string | undefined): number {
    if (address === undefined) return 0;
    return (this.#restedAt.get(address) ?? 0) - performance.now();
  }

  /** What an account owes, all accounts of its address do. */
  #owe(client: string, ms: number): void {
    const address = addressOf(client);
    if (address === undefined) return;
    const owed = Math.max(0, this.#owedMs(address)) + ms;
    const at = performance.now() + owed;
    this.#restedAt.set(address, at);
    if (owed > OWED_MS_MAX) setTimeout(() => this.#beginTurns(), owed - OWED_MS_MAX + 1).unref();
    setTimeout(() => {
      if (this.#restedAt.get(address) === at) this.#restedAt.delete(address);
    }, owed).unref();
  }

  #forgetIdle(lane: Lane): void {
    if (lengthOf(lane) === 0) this.#lanes.delete(lane.client);
  }
}

const NOTHING_TO_END = (): void => undefined;
const TOO_MANY = 'too many operations of yours wait: send more when they are answered';
const ABANDONED = 'nobody waits for this operation any more';

function lengthOf({ waiting, isBusy }: Lane): number {
  return waiting.length + Number(isBusy);
}
