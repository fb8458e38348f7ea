/** Makes a block each interval, while switched on. */

/** What a block is made on. */
export interface BlockMaker {
  /** `now` in Unix milliseconds */
  produce(now: number): unknown;
}

export class Producer {
  readonly #chain: BlockMaker;
  readonly #interval_ms: number;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;

  constructor(chain: BlockMaker, interval_ms: number, now: () => number) {
    this.#chain = chain;
    this.#interval_ms = interval_ms;
    this.#now = now;
  }

  get enabled(): boolean {
    return this.#timer !== undefined;
  }

  enable(enabled: boolean): void {
    clearInterval(this.#timer);
    this.#timer = enabled
      ? setInterval(() => this.#chain.produce(this.#now()), this.#interval_ms)
      : undefined;
  }
}
