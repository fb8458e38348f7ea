/** Which state of the index answers are made from, as a number that grows with every change that is known of. */
import { indexedPosition } from '../../projections/explorer/queries/chain.ts';
import type { Reader } from '../runtime/postgres/pool.ts';

/** Notifications may be lost, with Redis or on the way: so often Postgres itself is asked, while anybody wants to know. */
const ASK_MS = 1_000;

export class IndexVersion {
  readonly #reader: Reader;
  readonly #now: () => number;
  #version = 0;
  #position: string | undefined;
  #asked = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;

  /** `now` in ms of a clock that never goes back. */
  constructor(reader: Reader, now: () => number) {
    this.#reader = reader;
    this.#now = now;
  }

  /** A notification came, or notifications may have been missed. */
  moved(): void {
    this.#version++;
  }

  /** What is read after this is of this version or a newer one; a change that nobody told of shows after a second. Throws a fault when Postgres had to be asked. */
  async current(): Promise<number> {
    if (this.#asking !== undefined || this.#now() - this.#asked >= ASK_MS)
      await (this.#asking ??= this.#ask());
    return this.#version;
  }

  async #ask(): Promise<void> {
    const asked = this.#now();
    try {
      const [cells] = await this.#reader.rows(indexedPosition());
      const position = String(cells);
      if (position !== this.#position) this.#version++;
      this.#position = position;
      this.#asked = asked;
    } finally {
      this.#asking = undefined;
    }
  }
}
