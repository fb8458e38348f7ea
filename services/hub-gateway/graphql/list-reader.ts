/**
 * Reads the lists of one operation, in its turn and one after the other: together they have so many
 * rows at most.
 */
import type { Query } from '../../../projections/contract/page.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import type { Clients } from '../../runtime/limits/clients.ts';
import type { Turns } from '../../runtime/limits/turns.ts';

/** After so many rows the event loop has a turn. */
const ROWS_PER_TURN = 100;
/** A row with more fields counts as several: no list has as many without aliases. */
const FIELDS_PER_ROW = 20;

export interface ListSources {
  /** the rows may be a second old */
  readonly shared_reads: Reader;
  readonly turns: Turns;
  /** of all lists together */
  readonly list_rows_max: number;
}

export interface ListSize {
  readonly limit?: number | undefined;
  readonly fields?: number;
}

export interface ListRows {
  readonly rows: readonly Cells[];
  /** whether the list has more rows */
  readonly isTruncated: boolean;
}

export class ListReader {
  readonly #sources: ListSources;
  readonly #clients: () => Clients;
  #rowsLeft: number;
  /** read so far: fields of rows */
  #values = 0;
  #turn: Promise<(values: number) => void> | undefined;
  #reading: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** `clients`: whom the operation serves */
  constructor(sources: ListSources, clients: () => Clients) {
    this.#sources = sources;
    this.#clients = clients;
    this.#rowsLeft = sources.list_rows_max;
  }

  /** `limit`: of the list itself, if it has one; `fields`: of a row. Throws a `Fault`. */
  read(
    query: (limit: number) => Query,
    { limit = Number.POSITIVE_INFINITY, fields = 1 }: ListSize = {},
  ): Promise<ListRows> {
    const read = this.#reading.then(() => this.#read(query, limit, fields));
    this.#reading = read.catch(() => undefined);
    return read;
  }

  /** Ends the turn. Called once the operation has its result. */
  close(): void {
    this.#isClosed = true;
    // a turn that was refused has no end
    void this.#turn?.then(
      (end) => end(this.#values),
      () => undefined,
    );
  }

  async #read(query: (limit: number) => Query, limit: number, fields: number): Promise<ListRows> {
    const { shared_reads: sharedReads, turns } = this.#sources;
    // an operation also ends at its first error
    if (this.#isClosed) return { rows: [], isTruncated: false };
    await (this.#turn ??= turns.take(this.#clients()));
    const rowsPerRow = Math.ceil(fields / FIELDS_PER_ROW);
    const most = Math.floor(this.#rowsLeft / rowsPerRow);
    const rows = await sharedReads.rows(query(Math.min(limit, most + 1)));
    const shown = Math.min(rows.length, most);
    this.#rowsLeft -= shown * rowsPerRow;
    this.#values += shown * fields;
    return { rows: rows.slice(0, most), isTruncated: rows.length > most };
  }
}

/**
 * The rows as objects, those of a long list as promises: graphql-js completes each when it is
 * there, and the event loop has turns in between.
 */
export function toObjects(
  rows: readonly Cells[],
  toObject: (cells: Cells) => object,
): readonly (object | Promise<object>)[] {
  if (rows.length <= ROWS_PER_TURN) return rows.map(toObject);
  let turn: Promise<unknown> = Promise.resolve();
  return rows.map((cells, at) => {
    if (at > 0 && at % ROWS_PER_TURN === 0)
      turn = turn.then(() => new Promise((resolve) => setImmediate(resolve)));
    return turn.then(() => toObject(cells));
  });
}
