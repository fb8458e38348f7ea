/** How the treasury is, as /ready says it. */
import type { Fault } from '../runtime/process/errors.ts';

/** For so long the brokers may say nothing of where the logs end. */
const SILENCE_MS = 10_000;

export class Status {
  #phase: 'starting' | 'reading the ledger and the addresses' | 'deciding' | 'stopped' = 'starting';
  #halted: string | undefined;
  /** what is being tried again, by what it is */
  readonly #faults = new Map<string, Fault>();
  #heardAt = performance.now();

  set phase(phase: 'reading the ledger and the addresses' | 'deciding' | 'stopped') {
    this.#phase = phase;
  }

  get isHalted(): boolean {
    return this.#halted !== undefined;
  }

  /** Nothing is decided any more; the first reason counts. */
  halt(reason: string): void {
    this.#halted ??= reason;
  }

  /** The brokers told where a log ends. */
  heard(): void {
    this.#heardAt = performance.now();
  }

  /** What has failed and is being tried again; undefined once it went well. */
  fault(what: string, fault: Fault | undefined): void {
    if (fault === undefined) this.#faults.delete(what);
    else this.#faults.set(what, fault);
  }

  /** What is the matter; undefined when all is well. */
  matter(heldUp: readonly string[]): string | undefined {
    if (this.#halted !== undefined) return `halted: ${this.#halted}`;
    const fault = this.#faults.values().next().value;
    if (fault !== undefined) return `waiting: ${fault.code}`;
    const silence = Math.round(performance.now() - this.#heardAt);
    if (silence > SILENCE_MS)
      return `waiting: the brokers have not told where the logs end for ${silence} ms`;
    if (this.#phase !== 'deciding') return this.#phase;
    return heldUp.length === 0 ? undefined : heldUp.join('; ');
  }
}
