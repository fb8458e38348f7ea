/**
 * Reads of lists: operations that show other fields of the same rows share one read, until the
 * market changes.
 */
import { LRUCache } from 'lru-cache';
import type { Cells, Reader, Statement } from '../../runtime/postgres/pool.ts';
import type { ReadVersion } from '../../runtime/read-version.ts';

/** Each may hold the rows of a whole list. */
const READS_MAX = 8;

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
    const version = this.#version.known ?? (await this.#version.current());
    if (version !== this.#readVersion) this.#reads.clear();
    this.#readVersion = version;
    const key = JSON.stringify([statement.text, statement.values]);
    const known = this.#reads.get(key);
    if (known !== undefined) return await known;
    const read = this.#reader.rows(statement);
    this.#reads.set(key, read);
    read.catch(() => {
      if (this.#reads.peek(key) === read) this.#reads.delete(key);
    });
    return await read;
  }
}
