/** So many exports at once in this process. Each has one statement in flight at most, so they never hold more of the pool's connections than there are slots. */
export class ExportSlots {
  readonly max: number;
  #taken = 0;

  constructor(max: number) {
    this.max = max;
  }

  /**
   * The pieces of an export that holds a slot until they have ended, also when none was ever asked for, or until `begin` has failed; undefined when no slot is
   * free.
   */
  async hold<Refused extends object>(
    begin: () => Promise<{ readonly pieces: AsyncGenerator<string>; readonly headers: Readonly<Record<string, string>> } | Refused>,
  ): Promise<{ readonly body: AsyncIterable<string>; readonly headers: Readonly<Record<string, string>> } | Refused | undefined> {
    if (this.#taken >= this.max) return undefined;
    this.#taken++;
    let isHeld = true;
    const release = (): void => {
      if (isHeld) this.#taken--;
      isHeld = false;
    };
    try {
      const begun = await begin();
      if ('pieces' in begun) return { headers: begun.headers, body: ending(begun.pieces, release) };
      release();
      return begun;
    } catch (error) {
      release();
      throw error;
    }
  }
}

function ending(pieces: AsyncGenerator<string>, release: () => void): AsyncIterable<string> {
  const iterator: AsyncIterator<string> = {
    next: () => pieces.next(),
    // behind a statement that is still in flight
    return: async () => {
      try {
        return await pieces.return(undefined);
      } finally {
        release();
      }
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
