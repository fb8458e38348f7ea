/** How fast something goes at present: over the last half minute, or since the count before the last when that was longer ago. */
const WINDOW_MS = 30_000;

export class Rate {
  readonly #now: () => number;
  #counts: { readonly at: number; readonly count: number }[] = [];

  /** `now` in milliseconds, of a clock that only goes on */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  count(count: number): void {
    const at = this.#now();
    this.#counts.push({ at, count });
    const within = this.#counts.findIndex((each) => each.at >= at - WINDOW_MS);
    this.#counts = this.#counts.slice(Math.max(0, Math.min(within, this.#counts.length - 2)));
  }

  /** Undefined before the second count. */
  get perSecond(): number | undefined {
    const [first, ...others] = this.#counts;
    if (first === undefined || others.length === 0) return undefined;
    const sum = others.reduce((so, { count }) => so + count, 0);
    const seconds = (this.#now() - first.at) / 1_000;
    return seconds > 0 && sum > 0 ? sum / seconds : undefined;
  }
}
