/** How the watcher is, for `/ready`: what it does, what failed last, and since when nothing has gone well. */
import type { Fault } from '../runtime/process/errors.ts';

export class Condition {
  readonly #now: () => number;
  readonly #silenceMs: number;
  #step = 'starting';
  #fault: Fault | undefined;
  #wellAt: number | undefined;
  #halted: string | undefined;

  /** `now` in milliseconds of a clock that only goes on; `silenceMs`: how long nothing may go well. */
  constructor(now: () => number, silenceMs: number) {
    this.#now = now;
    this.#silenceMs = silenceMs;
  }

  doing(step: string): void {
    this.#step = step;
  }

  /** Something went well: a request, an append, a pass. */
  well(): void {
    this.#wellAt = this.#now();
  }

  failed(fault: Fault): void {
    this.#fault = fault;
  }

  passed(): void {
    this.well();
    this.#fault = undefined;
  }

  /** Nothing goes on before a person has looked. */
  halted(reason: string): void {
    this.#halted = reason;
  }

  /** What is the matter, and what to do; undefined: nothing is. */
  get matter(): string | undefined {
    if (this.#halted !== undefined) return `halted: ${this.#halted}`;
    const why =
      this.#fault === undefined ? this.#step : `${this.#fault.code}: ${this.#fault.message}`;
    if (this.#wellAt === undefined) return why;
    const silent = this.#now() - this.#wellAt;
    return silent <= this.#silenceMs
      ? undefined
      : `no address was watched for ${Math.round(silent / 1_000)} s: ${why}`;
  }
}
