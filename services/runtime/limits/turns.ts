/**
 * A limited number of operations reads at once, each for another client. The others wait, and
 * clients take turns: one that sends many operations waits for its own. After a turn with many
 * values a client rests, so it has a twentieth of the processor time at most. It rests also when
 * nobody waits for a turn: others need the event loop for what needs no turn. All accounts of an
 * address have one turn at a time, and rest together, a third as long each. Values count and not
 * time, which a slow Postgres or another process takes.
 */
import { ACCOUNTS_PER_ADDRESS, addressOf, type Clients } from './clients.ts';
import { LimitReached, ON, type Limit } from './limits.ts';

/** A client that has read fewer values needs no rest. */
const MANY_VALUES = 4_000;
/** Nineteen times as long as a value takes to be read and to become text, about 2.5 µs. */
const REST_MS_PER_VALUE = 0.0475;
/** The cost of an operation itself, in values. It counts only where short turns add up. */
const VALUES_OF_TURN = 300;
const SHORT_REST_MS = MANY_VALUES * REST_MS_PER_VALUE;
/** The rest that accounts of an address may owe together and still take turns. */
const OWED_MS_MAX = 1_000;
/** A timer may fire this many ms early, since it counts whole ms. */
const EARLY_MS = 2;

interface Waiter {
  /** the lane it waits in, or had its turn in */
  lane: Lane;
  readonly begin: () => void;
}

interface Lane {
  readonly client: string;
  readonly waiting: Waiter[];
  /** has its turn, or rests after it */
  is_busy: boolean;
  /** the rest that is too short to be taken, ms */
  owed_ms: number;
}

export interface TurnsOptions {
  /** operations that wait in the lane of a client; default: any number */
  readonly waiting_max?: number;
  /** how long one waits; default: any time */
  readonly wait_ms_max?: number;
  /** adds up short turns as well, of what a client begins once and the hub repeats */
  readonly adds_up?: boolean;
  readonly limit?: Limit;
}

/** All accounts of an address. */
interface Shared {
  has_turn: boolean;
  /** owes more rest than it may */
  is_resting: boolean;
  /** how many of them have operations that wait */
  accounts: number;
  /** when all their rests are over, ms of a monotonic clock */
  rested_at: number;
}

export class Turns {
  readonly #max: number;
  readonly #waitingMax: number;
  readonly #waitMsMax: number | undefined;
  readonly #addsUp: boolean;
  readonly #limit: Limit;
  /** of the clients that wait, have a turn, or rest; the first is next */
  readonly #lanes = new Map<string, Lane>();
  /** of the accounts of each address together */
  readonly #ofAddress = new Map<string, Shared>();
  #taken = 0;

  constructor(max: number, options: TurnsOptions = {}) {
    this.#max = max;
    this.#waitingMax = options.waiting_max ?? Number.POSITIVE_INFINITY;
    this.#waitMsMax = options.wait_ms_max;
    this.#addsUp = options.adds_up ?? false;
    this.#limit = options.limit ?? ON;
  }

  /** How many operations wait. */
  get waiting(): number {
    return this.#lanes.values().reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  /**
   * Resolves to the function that ends the turn, given how many values were read. An operation for
   * several clients waits in the shortest of their lanes, and moves to that of a client that joins
   * with a shorter one. Throws a refusal when too many wait there, when it has waited for too long,
   * and once all clients have left.
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
    const giveUp = (): void => {
      if (!this.#remove(waiter)) return;
      this.#limit.refused();
      reject(new LimitReached(TOO_LONG));
    };
    const ms = this.#waitMsMax;
    const late = ms === undefined ? undefined : setTimeout(giveUp, ms).unref();
    this.#beginTurns();
    try {
      await begun;
    } finally {
      clearTimeout(late);
    }
    let hasEnded = false;
    return (values) => {
      if (!hasEnded) this.#end(waiter.lane, values);
      hasEnded = true;
    };
  }

  #laneOf(client: string): Lane {
    return this.#lanes.get(client) ?? { client, waiting: [], is_busy: false, owed_ms: 0 };
  }

  /** Undefined without clients: they have left. */
  #shortestLane(clients: Iterable<string>): Lane | undefined {
    let shortest: Lane | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const client of clients) {
      const lane = this.#laneOf(client);
      const length = this.#lengthOf(lane);
      if (length < least) [shortest, least] = [lane, length];
      if (least === 0) break;
    }
    return shortest;
  }

  /** How many turns come before a new operation: of each other account of its address one. */
  #lengthOf(lane: Lane): number {
    const address = addressOf(lane.client);
    if (address === undefined) return lengthOf(lane);
    const {
      accounts,
      has_turn: hasTurn,
      is_resting: isResting,
    } = this.#ofAddress.get(address) ?? NONE;
    const others = accounts - Number(lane.waiting.length > 0);
    return lane.waiting.length + others + Number(lane.is_busy || hasTurn || isResting);
  }

  #enqueue(waiter: Waiter, lane: Lane): void {
    waiter.lane = lane;
    lane.waiting.push(waiter);
    this.#lanes.set(lane.client, lane);
    const address = addressOf(lane.client);
    if (address !== undefined && lane.waiting.length === 1) this.#sharedBy(address).accounts++;
  }

  #join(waiter: Waiter, client: string): void {
    const { lane: from } = waiter;
    const place = from.waiting.indexOf(waiter);
    const to = this.#laneOf(client);
    const before = this.#lengthOf(from) - from.waiting.length + place;
    if (place === -1 || this.#lengthOf(to) >= before) return;
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
    this.#leftLane(lane);
    this.#forgetIdle(lane);
    return true;
  }

  /** Call it after an operation was taken from the lane. */
  #leftLane({ client, waiting }: Lane): void {
    const address = addressOf(client);
    if (address === undefined || waiting.length > 0) return;
    this.#sharedBy(address).accounts--;
    this.#forgetIdleAddress(address);
  }

  #beginTurns(): void {
    for (const [client, lane] of this.#lanes) {
      if (this.#taken >= this.#max) return;
      const address = addressOf(client);
      const isHeld = lane.is_busy || (address !== undefined && this.#isHeld(address));
      const waiter = isHeld ? undefined : lane.waiting.shift();
      if (waiter === undefined) continue;
      this.#taken++;
      if (address !== undefined) this.#sharedBy(address).has_turn = true;
      this.#leftLane(lane);
      lane.is_busy = true;
      // its next turn is after those of all others
      this.#lanes.delete(client);
      this.#lanes.set(client, lane);
      waiter.begin();
    }
  }

  #end(lane: Lane, values: number): void {
    this.#taken--;
    const costly = this.#addsUp ? values + VALUES_OF_TURN : values > MANY_VALUES ? values : 0;
    const rest = costly * REST_MS_PER_VALUE;
    const address = addressOf(lane.client);
    if (address !== undefined) this.#endShared(address, rest / ACCOUNTS_PER_ADDRESS);
    const rested = (): void => {
      lane.is_busy = false;
      this.#forgetIdle(lane);
      this.#beginTurns();
    };
    lane.owed_ms += rest;
    if (lane.owed_ms <= SHORT_REST_MS) return rested();
    setTimeout(rested, lane.owed_ms).unref();
    lane.owed_ms = 0;
    this.#beginTurns();
  }

  #sharedBy(address: string): Shared {
    const shared = this.#ofAddress.get(address) ?? { ...NONE };
    this.#ofAddress.set(address, shared);
    return shared;
  }

  #isHeld(address: string): boolean {
    const { has_turn: hasTurn, is_resting: isResting } = this.#ofAddress.get(address) ?? NONE;
    return hasTurn || isResting;
  }

  #endShared(address: string, rest: number): void {
    const shared = this.#sharedBy(address);
    const now = performance.now();
    shared.has_turn = false;
    shared.rested_at = Math.max(now, shared.rested_at) + rest;
    const owed = shared.rested_at - now;
    if (owed === 0) return this.#forgetIdleAddress(address);
    setTimeout(() => this.#forgetIdleAddress(address), owed + EARLY_MS).unref();
    if (owed <= OWED_MS_MAX) return undefined;
    shared.is_resting = true;
    const rested = (): void => {
      shared.is_resting = false;
      this.#beginTurns();
    };
    return void setTimeout(rested, owed - OWED_MS_MAX).unref();
  }

  #forgetIdleAddress(address: string): void {
    const { has_turn: hasTurn, accounts, rested_at: restedAt } = this.#sharedBy(address);
    const isIdle = !hasTurn && accounts === 0 && restedAt <= performance.now();
    if (isIdle) this.#ofAddress.delete(address);
  }

  #forgetIdle(lane: Lane): void {
    if (lengthOf(lane) === 0) this.#lanes.delete(lane.client);
  }
}

const NONE: Shared = { has_turn: false, is_resting: false, accounts: 0, rested_at: 0 };
const NOTHING_TO_END = (): void => undefined;
const TOO_MANY = 'too many operations of yours wait: send more when they are answered';
const TOO_LONG =
  'the operation waited too long for its turn: ask for fewer rows, or try again later';
const ABANDONED = 'nobody waits for this operation any more';

function lengthOf({ waiting, is_busy: isBusy }: Lane): number {
  return waiting.length + Number(isBusy);
}
