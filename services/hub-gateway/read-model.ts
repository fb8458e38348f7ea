/** Which state of a read model answers are made from, and news of its changes: from notifications, from Redis' return, and from Postgres itself, since any notification may be lost. */
import type { Query } from '../../projections/contract/page.ts';
import type { Reader } from '../runtime/postgres/pool.ts';

/** So often Postgres is asked, while anybody wants to know. */
export const ASK_MS = 1_000;

export interface ReadModelOptions {
  readonly reader: Reader;
  /** one row, another one after each change */
  readonly position: Query;
  /** ms of a clock that never goes back */
  readonly now: () => number;
  /** told of each change that is known of: which keys it touched, undefined when it may be any */
  readonly onMoved: (keys: readonly string[] | undefined) => void;
}

export class ReadModel {
  readonly #options: ReadModelOptions;
  #version = 0;
  #position: string | undefined;
  #asked = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;

  constructor(options: ReadModelOptions) {
    this.#options = options;
  }

  /** A notification came; undefined: notifications may have been missed. */
  moved(keys: readonly string[] | undefined): void {
    this.#version++;
    this.#options.onMoved(keys);
  }

  /** The version, when Postgres need not be asked for it. */
  get known(): number | undefined {
    return this.#asking === undefined && this.#options.now() - this.#asked < ASK_MS
      ? this.#version
      : undefined;
  }

  /** What is read after this is of this version or a newer one; a change that nobody told of shows after a second. Throws a fault when Postgres had to be asked. */
  async current(): Promise<number> {
    if (this.known === undefined) await (this.#asking ??= this.#ask());
    return this.#version;
  }

  async #ask(): Promise<void> {
    const { reader, position: query, now } = this.#options;
    const asked = now();
    try {
      const [cells] = await reader.rows(query);
      const position = String(cells);
      const isFirst = this.#position === undefined;
      const hasMoved = position !== this.#position;
      this.#position = position;
      this.#asked = asked;
      if (hasMoved && !isFirst) this.moved(undefined);
    } finally {
      this.#asking = undefined;
    }
  }
}

/** The keys that a notification names; undefined when it names none, so that any may have changed. */
export function keysOf(notification: unknown): readonly string[] | undefined {
  if (
    typeof notification !== 'object' ||
    notification === null ||
    !('keys' in notification) ||
    !Array.isArray(notification.keys) ||
    notification.keys.length === 0
  )
    return undefined;
  return notification.keys.filter((key: unknown) => typeof key === 'string');
}
