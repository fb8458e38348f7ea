/** The progress of a rebuild, reported at each step and about once a second during it. */
import { Rate, recordsBehind, type Offsets } from '../engine/progress.ts';

const REPORT_MS = 1_000;

export interface RebuildStep {
  readonly step: 'loading' | 'indexing' | 'catching_up' | 'switching' | 'comparing';
  /** the current part of the step, such as `index 3 of 9 (blocks_hash)` */
  readonly what?: string;
  /** records folded by this call */
  readonly records: number;
  /** of the records that were in the log when the step began */
  readonly records_behind: bigint;
  readonly records_per_second: number | undefined;
  readonly seconds_left: number | undefined;
}

export class RebuildProgress {
  readonly #report: (step: RebuildStep) => void;
  readonly #rate = new Rate();
  readonly #timer: NodeJS.Timeout;
  #step: RebuildStep['step'] | undefined;
  #what: string | undefined;
  #records = 0;
  #ends: Offsets = new Map();
  #applied: Offsets = new Map();

  constructor(report: (step: RebuildStep) => void = () => undefined) {
    this.#report = report;
    this.#timer = setInterval(() => this.#now(), REPORT_MS);
  }

  get records(): number {
    return this.#records;
  }

  /** The offsets that count as applied. */
  watch({ applied }: { readonly applied: Offsets }): void {
    this.#applied = applied;
  }

  begin(step: RebuildStep['step'], ends: Offsets = new Map()): void {
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
    const behind = recordsBehind(this.#ends, this.#applied);
    this.#report({
      step: this.#step,
      ...(this.#what === undefined ? {} : { what: this.#what }),
      records: this.#records,
      records_behind: behind,
      ...this.#rate.estimate(behind),
    });
  }
}
