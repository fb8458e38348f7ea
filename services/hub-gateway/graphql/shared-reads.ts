/**
 * Reads of lists: operations that show other fields of the same rows share one read, until the
 * hub knows that the market has changed: at most a second later, when a notification is lost.
 */
import { LRUCache } from 'lru-cache';
import type { Cells, Reader, Statement } from '../../runtime/postgres/pool.ts';
import type { ReadVersion } from '../../runtime/read-version.ts';

const READS_MAX = 8;
/**
 * The longest list by default and the row that shows that it has more. A longer list is shared only
 * while it is read.
 */
const ROWS_KEPT_MAX = 10_001;

export class SharedReads implements Reader {
  readonly #reader: Reader;
  readonly #version: Pick<ReadVersion, 'known' | 'current'>;
  readonly #reads = new LRUCache<string, Promise<readonly Cells[]>>({ max: READS_MAX });
  /** the version that the reads belong to */
  #readVersion = 0;

  /** `version`: of the market */
  constructor(reader: Reader, version: Pick<ReadVersion, 'known' | 'current'>) {
    this.#reader = reader;
    this.#version = version;
  }

  async rows(statement: Statement): Promise<readonly Cells[]> {
    const version = this.#version.known;
    if (version === undefined) {
      // such rows are not shared, and do not wait until the version is looked up
      this.#version.current().catch(() => undefined);
      return await this.#reader.rows(statement);
    }
    if (version !== this.#readVersion) this.#reads.clear();
    this.#readVersion = version;
    const key = JSON.stringify([statement.text, statement.values]);
    const known = this.#reads.get(key);
    if (known !== undefined) return await known;
    const read = this.#reader.rows(statement);
    this.#reads.set(key, read);
    const forget = (): void => {
      if (this.#reads.peek(key) === read) this.#reads.delete(key);
    };
    try {
      const rows = await read;
      if (rows.length > ROWS_KEPT_MAX) forget();
      return rows;
    } catch (error) {
      forget();
      throw error;
    }
  }
}
