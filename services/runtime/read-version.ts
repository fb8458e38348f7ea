/**
 * The version of a read model: a number that grows with every change of it that is known. It moves
 * with change notifications, when Redis is back, and when Postgres shows another position, since
 * any notification may be lost.
 */
import type { Query } from '../../projections/contract/page.ts';
import type { Reader } from './postgres/pool.ts';

/** Shortest time between queries for the version, which are made on demand only. */
export const VERSION_CHECK_MS = 1_000;

export interface ReadVersionOptions {
  readonly reader: Reader;
  /** at most one row, another one after each change */
  readonly position: Query;
  /** ms of a monotonic clock */
  readonly now: () => number;
  /** called for each known change, with the keys that it touched, undefined: any */
  readonly onChange?: (keys: readonly string[] | undefined, traceparent?: string) => void;
}

export class ReadVersion {
  readonly #options: ReadVersionOptions;
  #version = 0;
  #position: string | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #check: Promise<void> | undefined;

  constructor(options: ReadVersionOptions) {
    this.#options = options;
  }

  /**
   * Moves to the next version. Without keys any row may have changed. `traceparent`: of the
   * notification, if it is traced.
   */
  changed(keys?: readonly string[], traceparent?: string): void {
    this.#version++;
    this.#options.onChange?.(keys, traceparent);
  }

  /** The version; undefined when it must be read from Postgres. */
  get known(): number | undefined {
    return this.#check === undefined && this.#options.now() - this.#checkedAt < VERSION_CHECK_MS
      ? this.#version
      : undefined;
  }

  /**
   * The version, at most a second old when notifications are lost: rows read after this belong to
   * it or to a newer one. Throws a fault when it must be read and Postgres does not answer.
   */
  async current(): Promise<number> {
    if (this.known === undefined) await (this.#check ??= this.#checkPosition());
    return this.#version;
  }

  async #checkPosition(): Promise<void> {
    const { reader, position: query, now } = this.#options;
    const startedAt = now();
    try {
      const [cells] = await reader.rows(query);
      const position = String(cells);
      const hasMoved = this.#position !== undefined && position !== this.#position;
      this.#position = position;
      this.#checkedAt = startedAt;
      if (hasMoved) this.changed();
    } finally {
      this.#check = undefined;
    }
  }
}

/** The keys that a change notification names; undefined: none, so any row may have changed. */
export function changedKeys(message: string): readonly string[] | undefined {
  let notification: unknown;
  try {
    notification = JSON.parse(message);
  } catch {
    return undefined;
  }
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

/** The trace that a change notification carries. */
export function traceparentIn(message: string): string | undefined {
  return /"traceparent":"([^"]*)"/.exec(message)?.[1];
}
