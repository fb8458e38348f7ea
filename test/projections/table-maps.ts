/**
 * A projection's tables as plain maps, for its fold without a database: applies changes and checks
 * the constraints of Postgres.
 */
import type {
  Changes,
  Cut,
  Projection,
  Row,
  Table,
  Value,
} from '../../projections/contract/projection.ts';
import { texts, type TableTexts } from '../support/plain-fold.ts';
import { rowsIn } from '../support/plain-rows.ts';

export type Named = Record<string, Value>;

export class TableMaps {
  readonly #name: string;
  readonly #tables: ReadonlyMap<string, Map<string, Named>>;

  constructor({ name, tables }: Pick<Projection, 'name' | 'tables'>) {
    this.#name = name;
    this.#tables = new Map(tables.map((table) => [table.name, new Map<string, Named>()]));
  }

  rows(table: string): readonly Named[] {
    return [...(this.#tables.get(table) ?? new Map<string, Named>()).values()];
  }

  where(table: string, column: string, wanted: ReadonlySet<string>): readonly Named[] {
    return this.rows(table).filter((row) => wanted.has(keyOf(row[column])));
  }

  texts(): TableTexts {
    return Object.fromEntries(
      [...this.#tables].map(([name, rows]) => [name, texts([...rows.values()])]),
    );
  }

  change({ cuts, deletes, appends, upserts }: Changes): void {
    for (const cut of cuts) this.#cut(cut);
    for (const { table, rows } of deletes) {
      for (const row of rows)
        if (!this.#of(table).delete(rowKey(table, table.key, row)))
          throw new Error(`a row of ${table.name} is deleted that is not there`);
    }
    for (const added of appends) {
      const { table } = added;
      for (const row of rowsIn(added)) {
        const key = rowKey(table, Object.keys(table.columns), row);
        if (this.#of(table).has(key))
          throw new Error(`a row of ${table.name} is appended that is there already: ${key}`);
        this.#of(table).set(key, named(table, row));
      }
    }
    for (const { table, rows } of upserts) {
      const keys = rows.map((row) => rowKey(table, Object.keys(table.columns), row));
      if (new Set(keys).size < keys.length)
        throw new Error(`${table.name}: one statement cannot change a row twice`);
      for (const [at, row] of rows.entries())
        this.#of(table).set(keys[at] ?? '', named(table, row));
    }
  }

  #cut(cut: Cut): void {
    const groups =
      'from' in cut
        ? undefined
        : new Map(cut.groups.map(([group, from]) => [keyOf(group), BigInt(from)]));
    const rows = this.#of(cut.table);
    for (const [key, row] of rows) {
      const from = 'from' in cut ? BigInt(cut.from) : groups?.get(keyOf(row[cut.within]));
      if (from !== undefined && BigInt(String(row[cut.column])) >= from) rows.delete(key);
    }
  }

  #of(table: Table): Map<string, Named> {
    const rows = this.#tables.get(table.name);
    if (rows === undefined) throw new Error(`${this.#name} has no table ${table.name}`);
    return rows;
  }
}

export function named(table: Table, row: Row): Named {
  const columns = Object.keys(table.columns);
  if (row.length !== columns.length)
    throw new Error(
      `a row of ${table.name} has ${row.length} values for ${columns.length} columns`,
    );
  return Object.fromEntries(columns.map((column, at) => [column, row[at] ?? null]));
}

/** `columns` says what the row's values are. */
export function rowKey(table: Table, columns: readonly string[], row: Row): string {
  return table.key.map((column) => keyOf(row[columns.indexOf(column)])).join(' ');
}

export function keyOf(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('hex') : String(value);
}
