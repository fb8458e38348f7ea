/**
 * The limit of reads that take long: scans, which read rows that they then drop, and exports. Each
 * scan has one statement in flight, and all exports of a process have one together. After a
 * statement they rest as long as it took. So they leave connections of the pool and half of the
 * processor time of a core to all other queries.
 */
import { randomUUID } from 'node:crypto';
import type { SharedCounts } from '../shared-counts.ts';
import { Clients } from './clients.ts';
import { LimitReached, ON, type Limit } from './limits.ts';
import { Turns } from './turns.ts';

export interface Started {
  readonly pieces: AsyncGenerator<string>;
  readonly headers: Readonly<Record<string, string>>;
}

/** A statement may have waited for a server that was away. */
const REST_MS_MAX = 1_000;
/** The slots that are taken, each with the time (ms) at which it is free unless it is renewed. */
const KEY = 'limits:exports';
/** After so long the slots of a killed process are free. */
const HELD_MS = 30_000;
const RENEW_MS = 10_000;

const NOTHING_TO_FREE = (): void => undefined;

/** ARGV: how many may be taken, how many by this client, how long, the client, a name. */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local taken = redis.call('ZRANGE', KEYS[1], 0, -1)
local own = 0
for _, slot in ipairs(taken) do
  if string.sub(slot, 1, #ARGV[4] + 1) == ARGV[4] .. ' ' then own = own + 1 end
end
if #taken >= tonumber(ARGV[1]) or own >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[4] .. ' ' .. ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`;
/** ARGV: how long, the slot; one that Redis does not know was taken while Redis was away. */
const RENEW = `
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], time[1] * 1000 + ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[1])`;
const FREE = `redis.call('ZREM', KEYS[1], ARGV[1])`;

/** The exports of all instances together; those of this process while Redis is away. */
export class ExportSlots {
  readonly max: number;
  readonly #clientMax: number;
  readonly #counts: Pick<SharedCounts, 'run'> | undefined;
  readonly #limit: Limit;
  /** to read a piece */
  readonly #turns: Turns;
  /** of this process, each with its client */
  readonly #taken = new Map<string, string>();

  /** Without `counts` only this process counts. */
  constructor(max: number, counts?: Pick<SharedCounts, 'run'>, limit: Limit = ON) {
    this.max = max;
    this.#clientMax = Math.max(1, Math.floor(max / 2));
    this.#counts = counts;
    this.#limit = limit;
    this.#turns = new Turns(1, { limit });
  }

  /**
   * Starts an export in a slot, which is free again when `start` fails or is refused. Undefined
   * when all slots are taken, or half of them by this client. The exports of a process read their
   * pieces one after the other, and rest after each. The body gives the slot back when it has
   * ended, also when nothing was ever read from it.
   */
  async hold<Refused extends object>(
    client: string,
    start: () => Promise<Started | Refused>,
  ): Promise<(Omit<Started, 'pieces'> & { body: AsyncIterable<string> }) | Refused | undefined> {
    const release = this.#limit.is_on ? await this.#take(client) : NOTHING_TO_FREE;
    if (release === undefined) {
      this.#limit.refused();
      return undefined;
    }
    try {
      const started = await start();
      if ('pieces' in started)
        return {
          headers: started.headers,
          body: ending(this.#inTurns(client, started.pieces), release),
        };
      release();
      return started;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** The function that gives the slot back; only its first call counts. */
  async #take(client: string): Promise<(() => void) | undefined> {
    const own = this.#taken.values().filter((each) => each === client);
    if (this.#taken.size >= this.max || [...own].length >= this.#clientMax) return undefined;
    const name = randomUUID();
    const slot = `${client} ${name}`;
    this.#taken.set(slot, client);
    const values = [this.max, this.#clientMax, HELD_MS, client, name];
    if ((await this.#counts?.run(TAKE, [KEY], values)) === 0) {
      this.#taken.delete(slot);
      return undefined;
    }
    const renewing = setInterval(
      () => void this.#counts?.run(RENEW, [KEY], [HELD_MS, slot]),
      RENEW_MS,
    );
    return () => {
      clearInterval(renewing);
      if (this.#taken.delete(slot)) void this.#counts?.run(FREE, [KEY], [slot]);
    };
  }

  async *#inTurns(client: string, pieces: AsyncGenerator<string>): AsyncGenerator<string> {
    for (;;) {
      const end = await this.#turns.take(new Clients([client]));
      const piece = await thenRest(() => pieces.next(), end);
      if (piece.done === true) return;
      yield piece.value;
    }
  }
}

function ending(pieces: AsyncGenerator<string>, release: () => void): AsyncIterable<string> {
  const iterator: AsyncIterator<string> = {
    next: () => pieces.next(),
    // waits for a statement that is in flight
    return: async () => {
      try {
        return await pieces.return(undefined);
      } finally {
        release();
      }
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** Scans at once, each of another client, and those of one client that wait for it. */
const SCANS_AT_ONCE = 2;
const SCANS_WAITING_MAX = 8;

export class Scans {
  readonly #turns: Turns;

  constructor(limit: Limit = ON) {
    this.#turns = new Turns(SCANS_AT_ONCE, { waiting_max: SCANS_WAITING_MAX, limit });
  }

  /** The result of the scan; undefined without it: too many of theirs wait, or all have left. */
  async run<Result>(clients: Clients, scan: () => Promise<Result>): Promise<Result | undefined> {
    let end;
    try {
      end = await this.#turns.take(clients);
    } catch (error) {
      if (error instanceof LimitReached) return undefined;
      throw error;
    }
    return await thenRest(scan, end);
  }
}

/** Ends the turn of a read when it has rested. */
async function thenRest<Result>(
  read: () => Promise<Result>,
  end: (values: number) => void,
): Promise<Result> {
  const begun = performance.now();
  try {
    return await read();
  } finally {
    setTimeout(end, Math.min(performance.now() - begun, REST_MS_MAX), 0).unref();
  }
}
