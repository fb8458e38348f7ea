/** Lets so many through at once and so many wait; whoever comes then is turned away, so that costly questions never hold up all others. */
export class Turnstile {
  readonly #atOnce: number;
  readonly #waitingMax: number;
  #inside = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number, waitingMax: number) {
    this.#atOnce = atOnce;
    this.#waitingMax = waitingMax;
  }

  /** What the work gives; undefined, and it is not done, when too many are waiting already. */
  async pass<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    if (this.#inside >= this.#atOnce) {
      if (this.#waiting.length >= this.#waitingMax) return undefined;
      // whoever leaves hands on its place
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    } else this.#inside++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#inside--;
      else next();
    }
  }
}
