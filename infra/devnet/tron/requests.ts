/** How many requests came, so that whoever asks can be held to a budget. */

const WINDOW_MS = 1_000;

/** Counts what happens within one second: after `t - 1000` and up to `t`. */
export class SlidingSecond {
  #times: number[] = [];

  /** One more at this moment, in ms; how many that makes within the second. */
  add(moment: number): number {
    this.#times.push(moment);
    const stale = this.#times.findIndex((time) => time > moment - WINDOW_MS);
    if (stale > 0) this.#times.splice(0, stale);
    return this.#times.length;
  }
}

export interface RequestFigures {
  readonly total: number;
  readonly by_path: Readonly<Record<string, number>>;
  /** the most that ever came within one second */
  readonly max_in_1s: number;
}

export class RequestCounter {
  #total = 0;
  #byPath = new Map<string, number>();
  #max = 0;
  #second = new SlidingSecond();

  add(path: string, moment: number): void {
    this.#total++;
    this.#byPath.set(path, (this.#byPath.get(path) ?? 0) + 1);
    this.#max = Math.max(this.#max, this.#second.add(moment));
  }

  figures(): RequestFigures {
    return { total: this.#total, by_path: Object.fromEntries(this.#byPath), max_in_1s: this.#max };
  }

  reset(): void {
    this.#total = 0;
    this.#byPath = new Map();
    this.#max = 0;
    this.#second = new SlidingSecond();
  }
}

/** TronGrid's limit: whoever sends more within a second gets nothing for a while. */
export class RateLimit {
  readonly per_second: number;
  readonly suspended_ms: number;
  readonly #second = new SlidingSecond();
  #until = 0;

  /** 0 a second: no limit. */
  constructor(per_second: number, suspended_ms: number) {
    this.per_second = per_second;
    this.suspended_ms = suspended_ms;
  }

  /** Whether this request, at this moment in ms, is answered. */
  allows(moment: number): boolean {
    if (this.per_second === 0) return true;
    if (moment < this.#until) return false;
    if (this.#second.add(moment) <= this.per_second) return true;
    this.#until = moment + this.suspended_ms;
    return false;
  }
}
