/** Waiting for notifications of the read model: each names keys that have changed. */

export class Notifications {
  readonly #awaited = new Map<string, PromiseWithResolvers<void>>();

  /** Resolves with the first notification of this key from now on. */
  next(key: string): Promise<void> {
    let awaited = this.#awaited.get(key);
    if (awaited === undefined) {
      awaited = Promise.withResolvers<void>();
      this.#awaited.set(key, awaited);
    }
    return awaited.promise;
  }

  tell(key: string): void {
    this.#awaited.get(key)?.resolve();
    this.#awaited.delete(key);
  }

  tellAll(): void {
    for (const { resolve } of this.#awaited.values()) resolve();
    this.#awaited.clear();
  }

  /** Nobody waits for this key any more. */
  forget(key: string): void {
    this.#awaited.delete(key);
  }
}
