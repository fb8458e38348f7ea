/** Chooses the next target and fault. Each one comes once before any repeats. */
import { Deck, type Random } from '../support/random.ts';
import type { Stack } from '../support/stack.ts';
import type { Processes } from './processes.ts';

type How = 'killed' | 'frozen';

interface Blow {
  /** one of them */
  readonly slots: readonly string[];
  readonly hows: readonly How[];
}

const WATCHERS = ['tron-watcher', 'tron-watcher/2'];
const TREASURIES = ['treasury', 'treasury/2'];
const SERVERS = ['kafka', 'postgres', 'redis', 'registry'] as const;
export const BLOWS: readonly Blow[] = [
  { slots: WATCHERS, hows: ['killed'] },
  { slots: WATCHERS, hows: ['frozen'] },
  { slots: TREASURIES, hows: ['killed'] },
  { slots: TREASURIES, hows: ['frozen'] },
  { slots: ['deposit-gateway'], hows: ['killed'] },
  { slots: ['projector-deposits'], hows: ['killed', 'frozen'] },
  { slots: ['projector-watch'], hows: ['killed', 'frozen'] },
  ...SERVERS.map((server): Blow => ({ slots: [server], hows: ['killed'] })),
];
/** They ask the registry when they start. */
const ASKING = ['deposit-gateway', 'tron-watcher/2', 'treasury/2'];
/** Frozen, nobody does their work meanwhile. */
const ALONE: ReadonlySet<string> = new Set(['projector-deposits', 'projector-watch']);

export interface Stroke {
  /** the service or server, and how it was struck */
  readonly what: string;
  /** when recovery began (`performance.now()`): the restart of what was killed */
  readonly since: number;
}

export class Blows {
  /** how often each was struck */
  readonly counts: Record<string, number> = {};
  readonly #stack: Stack;
  readonly #processes: Processes;
  readonly #random: Random;
  readonly #deck: Deck<Blow>;

  constructor(stack: Stack, processes: Processes, random: Random) {
    this.#stack = stack;
    this.#processes = processes;
    this.#random = random;
    this.#deck = new Deck(BLOWS, random);
  }

  /**
   * Strikes. A killed process is ready again; a frozen one that is not alone stays frozen until
   * `Processes.thaw`, others resume after a `moment`.
   */
  async strike(moment: () => Promise<void>): Promise<Stroke> {
    const blow = this.#deck.draw();
    const slot = this.#random.pick(blow.slots);
    const how = this.#random.pick(blow.hows);
    const since = how === 'killed' ? await this.#kill(slot) : await this.#freeze(slot, moment);
    const what = `${slot.split('/')[0]} ${how}`;
    this.counts[what] = (this.counts[what] ?? 0) + 1;
    return { what, since };
  }

  /** Gives the time of its restart; resolves when it is ready. */
  async #kill(slot: string): Promise<number> {
    const server = SERVERS.find((each) => each === slot);
    if (server === undefined) {
      const started = await this.#processes.kill(slot);
      await this.#processes.at(slot).ready();
      return started;
    }
    await this.#stack.servers[server].kill('SIGKILL');
    // a registry is asked by those that start
    const starting = server === 'registry' ? this.#random.pick(ASKING) : undefined;
    if (starting !== undefined) await this.#processes.kill(starting);
    const started = performance.now();
    await this.#stack.servers[server].start();
    if (starting !== undefined) await this.#processes.at(starting).ready();
    return started;
  }

  /** Gives the time of the freeze, or where nobody takes over that of its end. */
  async #freeze(slot: string, moment: () => Promise<void>): Promise<number> {
    await this.#processes.freeze(slot);
    if (!ALONE.has(slot)) return performance.now();
    await moment();
    await this.#processes.thaw();
    return performance.now();
  }
}
