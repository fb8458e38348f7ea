/**
 * Limits the exports of this process. An export has at most one statement in flight, so exports
 * hold at most as many connections of the pool as there are slots.
 */
export interface Started {
  readonly pieces: AsyncGenerator<string>;
  readonly headers: Readonly<Record<string, string>>;
}

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
   * Starts an export in a slot, which is free again when `start` fails or is refused. Undefined
   * when all slots are taken, or half of them by this client. The body gives the slot back when it
   * has ended, also when nothing was ever read from it.
   */
  async hold<Refused extends object>(
    client: string,
    start: () => Promise<Started | Refused>,
  ): Promise<(Omit<Started, 'pieces'> & { body: AsyncIterable<string> }) | Refused | undefined> {
    const release = this.#take(client);
    if (release === undefined) return undefined;
    try {
      const started = await start();
      if ('pieces' in started)
        return { headers: started.headers, body: ending(started.pieces, release) };
      release();
      return started;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** The function that gives the slot back; only its first call counts. */
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
    // waits for a statement that is in flight
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
