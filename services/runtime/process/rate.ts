/** How fast long work goes, and how long it still takes. */

const RATE_WINDOW_MS = 10_000;
/** Work that has just begun is slower than it will be. */
const SETTLED_S = 2;

/** A rate over the last ten seconds, or since the count before the last if that is longer. */
export class Rate {
  readonly #now: () => number;
  #counts: { readonly at: number; readonly count: number }[] = [];

  /** `now`: a monotonic clock, ms */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  count(count: number): void {
    const at = this.#now();
    this.#counts.push({ at, count });
    const within = this.#counts.findIndex((each) => each.at >= at - RATE_WINDOW_MS);
    this.#counts = this.#counts.slice(Math.max(0, Math.min(within, this.#counts.length - 2)));
  }

  /** Undefined before the second count, and in the first 2 s. */
  get per_second(): number | undefined {
    const [first, ...others] = this.#counts;
    if (first === undefined || others.length === 0) return undefined;
    const sum = others.reduce((so, { count }) => so + count, 0);
    const seconds = (this.#now() - first.at) / 1_000;
    return seconds >= SETTLED_S && sum > 0 ? sum / seconds : undefined;
  }

  /** The rate, and the time until `behind` records are read; both undefined without a rate. */
  estimate(behind: bigint): {
    readonly records_per_second: number | undefined;
    readonly seconds_left: number | undefined;
  } {
    const rate = this.per_second;
    return {
      records_per_second: rate === undefined ? undefined : Math.round(rate),
      seconds_left: rate === undefined ? undefined : Math.ceil(Number(behind) / rate),
    };
  }
}
