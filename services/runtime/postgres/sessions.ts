/** Idle connections of a pool: checking one out each time costs more than a small SELECT. */
import type { Connection, Pool, PoolClient, Submittable } from 'pg';
import { assert } from '../process/errors.ts';

export class Sessions {
  readonly #pool: Pool;
  /** a stack: the connection used last is used next */
  #idle: PoolClient[] = [];
  readonly #prepared = new WeakMap<PoolClient, Prepared>();
  readonly #sweep: NodeJS.Timeout;
  #isClosing = false;

  readonly #isEnded: (error: unknown) => boolean;

  /**
   * Idle connections go back to the pool every `idle_ms`, which closes them by its own rules.
   * `isEnded`: the error of a connection that was ended.
   */
  constructor(pool: Pool, idle_ms: number, isEnded: (error: unknown) => boolean) {
    this.#pool = pool;
    this.#isEnded = isEnded;
    this.#sweep = setInterval(() => this.#releaseIdle(), idle_ms).unref();
  }

  /**
   * All rows. Rejects with pg's errors; the connection is closed then. Where it was ended, as by a
   * server that stops, the next one is asked: idle ones may have ended too.
   */
  async rows(statement: Statement): Promise<readonly Cells[]> {
    for (let tries = 1; ; tries++) {
      const client = this.#idle.pop() ?? (await this.#pool.connect());
      try {
        return await this.#rowsOf(client, statement);
      } catch (error) {
        if (tries > this.#pool.options.max || !this.#isEnded(error)) throw error;
      }
    }
  }

  async #rowsOf(client: PoolClient, statement: Statement): Promise<readonly Cells[]> {
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

export type QueryValue = string | number | bigint | boolean | Buffer | null;

/**
 * One row's columns as Postgres writes them: bytea `\x..`, bool `t` or `f`, timestamptz
 * `2026-11-21 07:28:00.5+00`, numbers of any size as digits.
 */
export type Cells = readonly (string | null)[];

/** A SELECT with its bound parameters. */
export interface Statement {
  /** unique to `text`, which each connection prepares once; empty: prepared for this time only */
  readonly name: string;
  readonly text: string;
  readonly values: readonly QueryValue[];
}

const EXECUTE_AND_SYNC = Buffer.from('E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04', 'latin1');

/** The prepared statements of a connection: text by name. */
type Prepared = Map<string, string>;

/**
 * A SELECT for pg's client: prepared once a connection, one write each time, rows as pg has parsed
 * them. Unlike pg's own query it does not ask for a description of the columns, which costs a short
 * list about as much as its rows. Runs once, and calls `callback`, which pg may wrap.
 * Source: https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
class RowsQuery implements Submittable {
  /** pg reads it for its own list of prepared statements */
  readonly name: string;
  readonly text: string;
  callback: (error: Error | null, rows: readonly Cells[]) => void;
  readonly #values: readonly QueryValue[];
  readonly #prepared: Prepared;
  #rows: Cells[] = [];

  constructor(
    { name, text, values }: Statement,
    prepared: Prepared,
    callback: RowsQuery['callback'],
  ) {
    this.name = name;
    this.text = text;
    this.callback = callback;
    this.#values = values;
    this.#prepared = prepared;
  }

  submit(connection: Connection): void {
    const message = bindMessage(this.name, this.#values);
    const known = this.#prepared.get(this.name);
    assert(known === undefined || known === this.text, 'a statement has a name of its own');
    if (known !== undefined) return void connection.stream.write(message);
    connection.stream.cork();
    connection.parse({ name: this.name, text: this.text, types: [] }, true);
    connection.stream.write(message);
    connection.stream.uncork();
  }

  handleDataRow({ fields }: { readonly fields: Cells }): void {
    this.#rows.push(fields);
  }

  handleReadyForQuery(): void {
    if (this.name !== '') this.#prepared.set(this.name, this.text);
    const rows = this.#rows;
    // pg's timer keeps this object: its rows would live on and move to V8's old generation
    this.#rows = [];
    this.callback(null, rows);
  }

  handleError(error: Error): void {
    this.callback(error, []);
  }

  handleCommandComplete(): void {
    // the number of rows is known
  }

  handleEmptyQuery(): void {
    // no rows
  }
}

/** Bind, Execute and Sync. Parameters are text, or binary for buffers; results are text. */
function bindMessage(name: string, values: readonly QueryValue[]): Buffer {
  const texts = values.map((value) =>
    value === null || Buffer.isBuffer(value) ? value : String(value),
  );
  let length = 4 + 1 + Buffer.byteLength(name) + 1 + 2 + 2 * texts.length + 2 + 2;
  for (const text of texts) length += 4 + (text === null ? 0 : Buffer.byteLength(text));
  const message = Buffer.allocUnsafe(1 + length + EXECUTE_AND_SYNC.length);
  let at = message.writeUInt8(0x42, 0);
  at = message.writeInt32BE(length, at);
  at = message.writeUInt8(0, at);
  at += message.write(name, at);
  at = message.writeUInt8(0, at);
  at = message.writeInt16BE(texts.length, at);
  for (const text of texts) at = message.writeInt16BE(Buffer.isBuffer(text) ? 1 : 0, at);
  at = message.writeInt16BE(texts.length, at);
  for (const text of texts) {
    if (text === null) {
      at = message.writeInt32BE(-1, at);
      continue;
    }
    const begin = at + 4;
    const bytes = Buffer.isBuffer(text) ? text.copy(message, begin) : message.write(text, begin);
    message.writeInt32BE(bytes, at);
    at = begin + bytes;
  }
  at = message.writeInt16BE(0, at);
  EXECUTE_AND_SYNC.copy(message, at);
  return message;
}
