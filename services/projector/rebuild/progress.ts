/** How far a rebuild is, told at each step and about once a second while one lasts. */
import { Rate } from '../engine/rate.ts';
import type { Ends } from './replay.ts';

const TELL_EVERY_MS = 1_000;

export interface RebuildStep {
  readonly step: 'loading' | 'indexing' | 'catching_up' | 'switching' | 'comparing';
  /** what of it is done now, such as `index 3 of 9 (blocks_hash)` */
  readonly what?: string;
  /** records of the log folded so far by this call */
  readonly records: number;
  /** of those that were in the log when the step began, how many are left */
  readonly records_behind: bigint;
  readonly records_per_second: number | undefined;
  readonly seconds_left: number | undefined;
}

export class RebuildProgress {
  readonly #tell: (step: RebuildStep) => void;
  readonly #rate = new Rate();
  readonly #timer: NodeJS.Timeout;
  #step: RebuildStep['step'] | undefined;
  #what: string | undefined;
  #records = 0;
  #ends: Ends = new Map();
  #applied: Ends = new Map();

  constructor(tell: (step: RebuildStep) => void = () => undefined) {
    this.#tell = tell;
    this.#timer = setInterval(() => this.#now(), TELL_EVERY_MS);
  }

  get records(): number {
    return this.#records;
  }

  /** Whose positions count. */
  watch({ applied }: { readonly applied: Ends }): void {
    this.#applied = applied;
  }

  begin(step: RebuildStep['step'], ends: Ends = new Map()): void {
    this.#step = step;
    this.#what = undefined;
    this.#ends = ends;
    this.#now();
  }

  say(what: string): void {
    this.#what = what;
    this.#now();
  }

  count(records: number): void {
    this.#records += records;
    this.#rate.count(records);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #now(): void {
    if (this.#step === undefined) return;
    const behind = [...this.#ends].reduce((sum, [key, end]) => {
      const left = end - (this.#applied.get(key) ?? 0n);
      return left > 0n ? sum + left : sum;
    }, 0n);
    const rate = this.#rate.perSecond;
    this.#tell({
      step: this.#step,
      ...(this.#what === undefined ? {} : { what: this.#what }),
      records: this.#records,
      records_behind: behind,
      records_per_second: rate === undefined ? undefined : Math.round(rate),
      seconds_left: rate === undefined ? undefined : Math.ceil(Number(behind) / rate),
    });
  }
}
