/** Time that passes once everything waits: up to the end of the wait that ends next. */
export class SimulatedTime {
  /** Unix milliseconds */
  now: number;
  /** the first to end is the first */
  readonly #waits: { readonly at: number; readonly end: () => void }[] = [];

  constructor(now: number) {
    this.now = now;
  }

  /** Does this at that time, also while something goes on. */
  at(time: number, act: () => void): void {
    const later = this.#waits.findIndex(({ at }) => at > time);
    this.#waits.splice(later < 0 ? this.#waits.length : later, 0, { at: time, end: act });
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.at(this.now + ms, resolve);
    });
  }

  /** Has time pass while this goes on. */
  async passing<Result>(work: Promise<Result>): Promise<Result> {
    let isDone = false;
    void Promise.allSettled([work]).then(() => (isDone = true));
    for (;;) {
      // everything that does not wait is of promises, and done by then
      await new Promise((resolve) => void setImmediate(resolve));
      if (isDone) return work;
      const next = this.#waits.shift();
      if (next === undefined) throw new Error('something waits, and not for the time');
      this.now = Math.max(this.now, next.at);
      next.end();
    }
  }
}
