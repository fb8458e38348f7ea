/**
 * Sends several statements with the rows of their COPYs as one message: Postgres works through it
 * without waiting for this process. Source: PostgreSQL documentation, "Message Flow" (simple query,
 * COPY operations).
 */
import { Query, type ClientBase, type Connection } from 'pg';

export interface Statement {
  readonly text: string;
  /** the stream of a COPY FROM STDIN; in memory until Postgres has taken it */
  readonly pieces?: Iterable<Buffer>;
}

const COPY_DATA = 'd'.charCodeAt(0);
const COPY_DONE = Buffer.from('c\0\0\0\u0004', 'latin1');
const LENGTH_BYTES = 4;

/** Inside the caller's transaction. Throws Postgres' errors; later statements are not run. */
export function copyIn(client: ClientBase, statements: readonly Statement[]): Promise<void> {
  return statements.length === 0 ? Promise.resolve() : client.query(new CopyIn(statements)).done;
}

/** A `Query`, since a client with a pipeline takes no other. */
class CopyIn extends Query {
  readonly #statements: readonly Statement[];
  readonly #outcome = Promise.withResolvers<undefined>();
  readonly done: Promise<void> = this.#outcome.promise;

  constructor(statements: readonly Statement[]) {
    super('');
    this.#statements = statements;
  }

  override submit = (connection: Connection): void => {
    const { stream } = connection;
    stream.cork();
    connection.query(this.#statements.map(({ text }) => text).join(';\n'));
    for (const { pieces } of this.#statements) {
      if (pieces === undefined) continue;
      for (const piece of pieces) {
        const header = Buffer.allocUnsafe(1 + LENGTH_BYTES);
        header.writeUInt8(COPY_DATA, 0);
        header.writeUInt32BE(piece.length + LENGTH_BYTES, 1);
        stream.write(header);
        stream.write(piece);
      }
      stream.write(COPY_DONE);
    }
    stream.uncork();
  };

  // the interface that `pg` calls

  handleError(error: Error): void {
    this.#outcome.reject(error);
  }

  handleReadyForQuery(): void {
    this.#outcome.resolve(undefined);
  }

  /** The rows are sent already. */
  handleCopyInResponse(): void {}

  // answers of the statements are ignored

  handleRowDescription(): void {}

  handleDataRow(): void {}

  handleCommandComplete(): void {}
}
