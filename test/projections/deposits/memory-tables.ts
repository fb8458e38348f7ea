/**
 * The tables of a projection as plain maps, for its fold without a database: answers loads, applies
 * changes and checks the constraints of Postgres.
 */
import type {
  Changes,
  Load,
  LoadedRow,
  Projection,
  Recorded,
  Value,
} from '../../../projections/contract/projection.ts';
import { plainHash } from '../../support/plain-chain.ts';
import { texts, type TableTexts } from '../../support/plain-fold.ts';
import { plainRows, rowsIn } from '../../support/plain-rows.ts';
import { keyOf, named, rowKey } from '../table-maps.ts';

export type Named = Readonly<Record<string, Value>>;
/** By the load's name, its rows; `wanted` are the texts of its first value. */
export type Answers = Readonly<
  Record<
    string,
    (rows: (table: string) => readonly Named[], wanted: ReadonlySet<string>) => readonly Named[]
  >
>;

/** Where a stretch of a topic stands. */
export interface Stretch<Event> {
  readonly events: readonly Event[];
  readonly partition: number;
  readonly from: number;
}

export class MemoryTables<Event extends { readonly type: string }> {
  readonly #projection: Projection<Event>;
  readonly #answers: Answers;
  readonly #tables: ReadonlyMap<string, Map<string, Named>>;

  constructor(projection: Projection<Event>, answers: Answers) {
    this.#projection = projection;
    this.#answers = answers;
    this.#tables = new Map(
      projection.tables.map((table) => [table.name, new Map<string, Named>()]),
    );
  }

  /** Loads, folds and applies one batch; returns the number of records with an effect. */
  apply({ events, partition, from }: Stretch<Event>): number {
    const batch = events.map((event, at): Recorded<Event> => ({
      event,
      partition,
      offset: BigInt(from + at),
      timestamp: 0,
      value_hash: plainHash(event),
    }));
    const loaded = Object.fromEntries(
      this.#projection.loads(batch).map((load) => [load.name, this.#answer(load)]),
    );
    const folded = this.#projection.fold(loaded, batch, plainRows);
    if ('broken' in folded) throw new Error(folded.broken.reason);
    const { applied, replayed, ignored } = folded.outcomes;
    if (applied + replayed + ignored !== batch.length) throw new Error('a record has no outcome');
    this.#change(folded.changes);
    return applied;
  }

  texts(): TableTexts {
    return Object.fromEntries(
      [...this.#tables].map(([name, rows]) => [name, texts([...rows.values()])]),
    );
  }

  rows(table: string): readonly Named[] {
    return [...this.#of(table).values()];
  }

  #answer(load: Load): readonly LoadedRow[] {
    const { name } = load;
    const answer = this.#answers[name];
    if (answer === undefined)
      throw new Error(
        `${this.#projection.name} asks for ${name}, which these tables cannot answer`,
      );
    const keys: unknown = 'text' in load ? load.values[0] : load.keys;
    const wanted = new Set((Array.isArray(keys) ? keys : []).map(keyOf));
    return answer((table) => this.rows(table), wanted).map((row) =>
      Object.fromEntries(Object.entries(row).map(([column, value]) => [column, asLoaded(value)])),
    );
  }

  #change({ cuts, deletes, appends, upserts }: Changes): void {
    if (cuts.length > 0) throw new Error('nothing of this is ever cut');
    for (const { table, rows } of deletes) {
      for (const row of rows) {
        if (!this.#of(table.name).delete(rowKey(table, table.key, row)))
          throw new Error(`a row of ${table.name} is deleted that is not there`);
      }
    }
    for (const added of appends) {
      const { table } = added;
      for (const row of rowsIn(added)) {
        const key = rowKey(table, Object.keys(table.columns), row);
        if (this.#of(table.name).has(key))
          throw new Error(`a row of ${table.name} is appended that is there already: ${key}`);
        this.#of(table.name).set(key, named(table, row));
      }
    }
    for (const { table, rows } of upserts) {
      const keys = rows.map((row) => rowKey(table, Object.keys(table.columns), row));
      if (new Set(keys).size < keys.length)
        throw new Error(`${table.name}: one statement cannot change a row twice`);
      for (const [at, row] of rows.entries())
        this.#of(table.name).set(keys[at] ?? '', named(table, row));
    }
  }

  #of(table: string): Map<string, Named> {
    const rows = this.#tables.get(table);
    if (rows === undefined) throw new Error(`${this.#projection.name} has no table ${table}`);
    return rows;
  }
}

function asLoaded(value: Value): Value {
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
}

/** Rows whose `column` is wanted. */
export function within(
  rows: readonly Named[],
  column: string,
  wanted: ReadonlySet<string>,
): readonly Named[] {
  return rows.filter((row) => wanted.has(keyOf(row[column])));
}
