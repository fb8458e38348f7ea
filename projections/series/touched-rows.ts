/** The rows of one table that a batch loads or changes: as stored, and as they are now. */
import { recordIn, rowOf } from '../contract/loaded-row.ts';
import type { ColumnType, LoadedRow, TableRows, Value } from '../contract/projection.ts';

/** A table whose columns are the fields of its records. */
interface RecordTable<Fields> {
  readonly name: string;
  readonly columns: Readonly<Record<keyof Fields, ColumnType>>;
  readonly key: readonly (keyof Fields & string)[];
}

interface Touched<Fields> {
  readonly stored: Fields | undefined;
  now: Fields | undefined;
}

export class TouchedRows<Fields extends Readonly<Record<keyof Fields, Value>>> {
  readonly #table: RecordTable<Fields>;
  readonly #rows = new Map<number | string, Touched<Fields>>();

  constructor(
    table: RecordTable<Fields>,
    keyOf: (fields: Fields) => number | string,
    loaded: readonly LoadedRow[] = [],
  ) {
    this.#table = table;
    for (const row of loaded) {
      const fields = recordIn<Fields>(table, row);
      this.#rows.set(keyOf(fields), { stored: fields, now: fields });
    }
  }

  /** The rows that are there now, loaded or new. */
  *values(): Generator<Fields> {
    for (const { now } of this.#rows.values()) if (now !== undefined) yield now;
  }

  get(key: number | string): Fields | undefined {
    return this.#rows.get(key)?.now;
  }

  /** undefined: removes the row */
  set(key: number | string, now: Fields | undefined): void {
    const row = this.#rows.get(key);
    if (row === undefined) this.#rows.set(key, { stored: undefined, now });
    else row.now = now;
  }

  deletes(): TableRows {
    const table = this.#table;
    const gone = [...this.#rows.values()].flatMap(({ stored, now }) =>
      stored !== undefined && now === undefined ? [stored] : [],
    );
    return { table, rows: gone.map((fields) => table.key.map((column) => fields[column])) };
  }

  upserts(): TableRows {
    const table = this.#table;
    const changed = [...this.#rows.values()].flatMap(({ stored, now }) =>
      now !== undefined && now !== stored ? [now] : [],
    );
    return { table, rows: changed.map((fields) => rowOf(table, fields)) };
  }
}
