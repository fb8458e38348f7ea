/** Wakes those who wait for something to change. */
export class News {
  readonly #signal: AbortSignal;
  #next = Promise.withResolvers<undefined>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.tell(), { once: true });
  }

  /** Resolves at the next `tell`, and when the signal is aborted. Take it before looking at what may change. */
  get next(): Promise<undefined> {
    return this.#next.promise;
  }

  tell(): void {
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers();
    resolve(undefined);
  }

  /** Resolves once it holds, asked at all news; or when the signal is aborted. */
  async until(holds: () => boolean): Promise<void> {
    while (!this.#signal.aborted) {
      const { next } = this;
      if (holds()) return;
      await next;
    }
  }
}
