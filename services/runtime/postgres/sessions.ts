/** Idle connections of a pool: checking one out each time costs more than a small SELECT. */
import type { Pool, PoolClient } from 'pg';
import { RowsQuery, type Cells, type Prepared, type Statement } from './rows-query.ts';

export class Sessions {
  readonly #pool: Pool;
  /** a stack: the connection used last is used next */
  #idle: PoolClient[] = [];
  readonly #prepared = new WeakMap<PoolClient, Prepared>();
  readonly #sweep: NodeJS.Timeout;
  #isClosing = false;

  /** Idle connections go back to the pool every `idle_ms`, which closes them by its own rules. */
  constructor(pool: Pool, idle_ms: number) {
    this.#pool = pool;
    this.#sweep = setInterval(() => this.#releaseIdle(), idle_ms).unref();
  }

  /** All rows. Rejects with pg's errors; the connection is closed then. */
  async rows(statement: Statement): Promise<readonly Cells[]> {
    const client = this.#idle.pop() ?? (await this.#pool.connect());
    const prepared = this.#preparedOn(client);
    try {
      const rows = await new Promise<readonly Cells[]>((resolve, reject) => {
        const done = (error: Error | null, all: readonly Cells[]): void =>
          error === null ? resolve(all) : reject(error);
        client.query(new RowsQuery(statement, prepared, done));
      });
      this.#release(client);
      return rows;
    } catch (error) {
      client.release(error instanceof Error ? error : true);
      throw error;
    }
  }

  /** Waits for statements in flight. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#sweep);
    this.#releaseIdle();
    await this.#pool.end();
  }

  #release(client: PoolClient): void {
    // requests that wait for a connection wait at the pool
    if (this.#isClosing || this.#pool.waitingCount > 0) client.release();
    else this.#idle.push(client);
  }

  #releaseIdle(): void {
    for (const client of this.#idle.splice(0)) client.release();
  }

  #preparedOn(client: PoolClient): Prepared {
    const known = this.#prepared.get(client);
    if (known !== undefined) return known;
    const prepared = new Map<string, string>();
    this.#prepared.set(client, prepared);
    client.on('error', (error) => this.#dropBroken(client, error));
    return prepared;
  }

  /** A connection in use reports its error to its statement. */
  #dropBroken(client: PoolClient, error: Error): void {
    if (!this.#idle.includes(client)) return;
    this.#idle = this.#idle.filter((each) => each !== client);
    client.release(error);
  }
}
