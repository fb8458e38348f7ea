/** Chooses the next target and fault. Each one comes once before any repeats. */
import type { Random } from '../support/random.ts';
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
const BLOWS: readonly Blow[] = [
  { slots: WATCHERS, hows: ['killed'] },
  { slots: WATCHERS, hows: ['frozen'] },
  { slots: TREASURIES, hows: ['killed'] },
  { slots: TREASURIES, hows: ['frozen'] },
  { slots: ['deposit-gateway'], hows: ['killed'] },
  { slots: ['projector-deposits'], hows: ['killed', 'frozen'] },
  { slots: ['projector-watch'], hows: ['killed', 'frozen'] },
  { slots: ['kafka'], hows: ['killed'] },
  { slots: ['postgres'], hows: ['killed'] },
];
/** Frozen, nobody does their work meanwhile. */
const ALONE: ReadonlySet<string> = new Set(['projector-deposits', 'projector-watch']);

export class Blows {
  /** how often each was struck */
  readonly counts: Record<string, number> = {};
  readonly #stack: Stack;
  readonly #processes: Processes;
  readonly #random: Random;
  #deck: Blow[] = [];

  constructor(stack: Stack, processes: Processes, random: Random) {
    this.#stack = stack;
    this.#processes = processes;
    this.#random = random;
  }

  /**
   * Strikes, and returns a description. A killed process is running again; a frozen one that is not
   * alone stays frozen until `Processes.thaw`, others resume after a `moment`.
   */
  async strike(moment: () => Promise<void>): Promise<string> {
    if (this.#deck.length === 0) this.#deck = [...BLOWS];
    const [blow] = this.#deck.splice(this.#random.below(this.#deck.length), 1);
    if (blow === undefined) throw new Error('there is nothing to strike');
    const slot = this.#random.pick(blow.slots);
    const how = this.#random.pick(blow.hows);
    await this.#hit(slot, how);
    if (how === 'frozen' && ALONE.has(slot)) {
      await moment();
      await this.#processes.thaw();
    }
    const what = `${slot.split('/')[0]} ${how}`;
    this.counts[what] = (this.counts[what] ?? 0) + 1;
    return what;
  }

  async #hit(slot: string, how: How): Promise<void> {
    if (slot === 'kafka' || slot === 'postgres') {
      await this.#stack.servers[slot].kill('SIGKILL');
      await this.#stack.servers[slot].start();
    } else if (how === 'killed') await this.#processes.kill(slot);
    else await this.#processes.freeze(slot);
  }
}
