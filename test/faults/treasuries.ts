/** Two treasuries of a fault run: what they say of themselves, and blows at one of them. */
import { until } from '../support/until.ts';
import { figureOf } from './processes.ts';
import type { System } from './system.ts';

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
  readonly #system: System;

  constructor(system: System) {
    this.#system = system;
  }

  /**
   * Gives the time of the restart, or of the freeze (`performance.now()`). A killed one is ready
   * again.
   */
  async strike(what: (typeof STRIKES)[number]): Promise<number> {
    const { processes } = this.#system;
    const holder = await this.#holder();
    const slot = TREASURIES.find((each) => (each === holder) === what.startsWith('holder')) ?? '';
    this.#system.note(what);
    if (what.endsWith('frozen')) {
      await processes.freeze(slot);
      return performance.now();
    }
    const started = await processes.kill(slot);
    await processes.at(slot).ready();
    if (processes.at(slot).log().includes('"msg":"going on from a snapshot"'))
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
    return figureOf(this.#system.processes.at(slot), metric, label);
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
    const response = await fetch(`${this.#system.urlOf(slot)}/status`);
    return Object(await response.json()).status === 'halted';
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
