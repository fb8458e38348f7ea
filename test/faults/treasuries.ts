/** Two treasuries of a fault run: what they say of themselves, and blows at one of them. */
import { until } from '../support/until.ts';
import { figureOf, type Processes } from './processes.ts';

export const TREASURIES = ['treasury', 'treasury/2'];
/** Who is struck, by the lease, and how. */
export const STRIKES = [
  'holder killed',
  'holder frozen',
  'standby killed',
  'standby frozen',
] as const;

export class Treasuries {
  /** killed ones that went on from a snapshot */
  from_snapshots = 0;
  readonly #processes: Processes;

  constructor(processes: Processes) {
    this.#processes = processes;
  }

  /**
   * Gives the time of the restart, or of the freeze (`performance.now()`). A killed one is ready
   * again.
   */
  async strike(what: (typeof STRIKES)[number]): Promise<number> {
    const holder = await this.#holder();
    const slot = TREASURIES.find((each) => (each === holder) === what.startsWith('holder')) ?? '';
    if (what.endsWith('frozen')) {
      await this.#processes.freeze(slot);
      return performance.now();
    }
    const started = await this.#processes.kill(slot);
    await this.#processes.at(slot).ready();
    if (this.#processes.at(slot).log().includes('"msg":"going on from a snapshot"'))
      this.from_snapshots++;
    return started;
  }

  /** The one with the lease; after a thaw both may say for a moment that they have it. */
  async #holder(): Promise<string> {
    let held: readonly number[] = [];
    await until(
      async () => (held = await this.each((slot) => this.figure(slot, 'lease_held'))),
      'one treasury to hold the lease',
      (seen) => seen.filter((each) => each === 1).length === 1,
    );
    return TREASURIES[held.indexOf(1)] ?? '';
  }

  figure(slot: string, metric: string, label?: string): Promise<number> {
    return figureOf(this.#processes.at(slot), metric, label);
  }

  each<Told>(ask: (slot: string) => Promise<Told>): Promise<readonly Told[]> {
    return Promise.all(TREASURIES.map(ask));
  }

  /** Waits until it holds at both. */
  everywhere(what: string, holds: (slot: string) => Promise<boolean>): Promise<void> {
    return until(
      () => this.each(holds),
      `${what}, at ${TREASURIES.join(' and ')}`,
      (seen) => !seen.includes(false),
    );
  }

  async isHalted(slot: string): Promise<boolean> {
    const response = await fetch(`${this.#processes.at(slot).url}/status`);
    return Object(await response.json()).status === 'halted';
  }

  /** As the one says who answers. */
  async credited(): Promise<number> {
    const asked = TREASURIES.filter((slot) => !this.#processes.isFrozen(slot));
    // one that was killed just now does not answer
    const told = await Promise.all(asked.map((slot) => this.#creditedBy(slot).catch(() => 0)));
    return Math.max(0, ...told);
  }

  /** Resolves when both have credited so many, and no mint is on its way. */
  allCredited(made: () => number): Promise<void> {
    return this.everywhere(
      'everything that was paid to be credited',
      async (slot) =>
        (await this.#creditedBy(slot)) === made() &&
        (await this.figure(slot, 'treasury_mints_in_flight')) === 0,
    );
  }

  #creditedBy(slot: string): Promise<number> {
    return this.figure(slot, 'treasury_mints_total', 'MintCredited');
  }

  /** Waits for so many more reserve runs of both together, of one status where it is named. */
  async moreRuns(count: number, status?: string): Promise<void> {
    const runs = async (): Promise<number> => {
      const each = await this.each((slot) => this.figure(slot, 'reserve_runs_total', status));
      return each.reduce((sum, made) => sum + made, 0);
    };
    const before = await runs();
    await until(
      () => runs(),
      `${count} more runs`,
      (seen) => seen >= before + count,
    );
  }
}
