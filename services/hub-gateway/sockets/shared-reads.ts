/**
 * Reads for subscriptions: those that show other fields of the same rows share one read, until the
 * market changes or nobody reads any more.
 */
import { LRUCache } from 'lru-cache';
import type { Cells, Reader, Statement } from '../../runtime/postgres/pool.ts';

/** Each may hold the rows of a whole list. */
const READS_MAX = 8;

export class SharedReads implements Reader {
  readonly #reader: Reader;
  readonly #reads = new LRUCache<string, Promise<readonly Cells[]>>({ max: READS_MAX });

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  rows(statement: Statement): Promise<readonly Cells[]> {
    const key = JSON.stringify([statement.text, statement.values]);
    const known = this.#reads.get(key);
    if (known !== undefined) return known;
    const read = this.#reader.rows(statement);
    this.#reads.set(key, read);
    read.catch(() => {
      if (this.#reads.peek(key) === read) this.#reads.delete(key);
    });
    return read;
  }

  /** The next reads see what is there now. */
  forget(): void {
    this.#reads.clear();
  }
}
