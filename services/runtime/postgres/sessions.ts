/** Connections of a pool kept at hand between questions: to ask the pool for one and give it back each time costs more than many a question does. */
import type { Pool, PoolClient } from 'pg';
import { RowsQuery, type Cells, type Prepared, type Question } from './rows-query.ts';

export class Sessions {
  readonly #pool: Pool;
  /** the one used last comes last, and is the first to be used again */
  #idle: PoolClient[] = [];
  /** the statements that each knows by name */
  readonly #prepared = new WeakMap<PoolClient, Prepared>();
  readonly #sweeper: NodeJS.Timeout;
  #isClosing = false;

  /** `idle_ms`: how long one is kept from the pool at most while nobody asks, for the pool to close it by its own rules. */
  constructor(pool: Pool, idle_ms: number) {
    this.#pool = pool;
    this.#sweeper = setInterval(() => this.#releaseIdle(), idle_ms).unref();
  }

  /** All rows. Rejects with pg's errors, and closes the connection then. */
  async rows(question: Question): Promise<readonly Cells[]> {
    const client = this.#idle.pop() ?? (await this.#pool.connect());
    const prepared = this.#preparedOn(client);
    try {
      const rows = await new Promise<readonly Cells[]>((resolve, reject) => {
        const answered = (error: Error | null, all: readonly Cells[]): void =>
          error === null ? resolve(all) : reject(error);
        client.query(new RowsQuery(question, prepared, answered));
      });
      this.#giveBack(client);
      return rows;
    } catch (error) {
      client.release(error instanceof Error ? error : true);
      throw error;
    }
  }

  /** When what is being asked is answered. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#sweeper);
    this.#releaseIdle();
    await this.#pool.end();
  }

  #giveBack(client: PoolClient): void {
    // whoever waits for a connection waits at the pool
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

  /** One that breaks while somebody asks on it tells so there. */
  #dropBroken(client: PoolClient, error: Error): void {
    if (!this.#idle.includes(client)) return;
    this.#idle = this.#idle.filter((each) => each !== client);
    client.release(error);
  }
}
