/** So many exports at once in this process. Each has one statement in flight at most, so they never hold more of the pool's connections than there are slots. */
export class ExportSlots {
  readonly max: number;
  readonly #clientMax: number;
  #taken = 0;
  readonly #takenBy = new Map<string, number>();

  constructor(max: number) {
    this.max = max;
    this.#clientMax = Math.max(1, Math.floor(max / 2));
  }

  /**
   * The pieces of an export that holds a slot until they have ended, also when none was ever asked for, or until `begin` has failed; undefined when no slot is
   * free, or the client has half of all there are.
   */
  async hold<Refused extends object>(
    client: string,
    begin: () => Promise<
      | {
          readonly pieces: AsyncGenerator<string>;
          readonly headers: Readonly<Record<string, string>>;
        }
      | Refused
    >,
  ): Promise<
    | { readonly body: AsyncIterable<string>; readonly headers: Readonly<Record<string, string>> }
    | Refused
    | undefined
  > {
    const release = this.#take(client);
    if (release === undefined) return undefined;
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

  /** What gives the slot back, once. */
  #take(client: string): (() => void) | undefined {
    const own = this.#takenBy.get(client) ?? 0;
    if (this.#taken >= this.max || own >= this.#clientMax) return undefined;
    this.#taken++;
    this.#takenBy.set(client, own + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#taken--;
      const left = (this.#takenBy.get(client) ?? 1) - 1;
      if (left > 0) this.#takenBy.set(client, left);
      else this.#takenBy.delete(client);
    };
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
