/** The ride market's tables as plain maps, so that its fold can be tried without a database: answers its loads, takes its changes, checks what Postgres would. */
import type { Changes, Cut, Folded, Load, LoadedRow, Recorded, Row, Table, Value } from '../../../projections/projection.ts';
import { rideMarket } from '../../../projections/ride_market/ride_market.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { texts, type TableTexts } from '../../support/plain-fold.ts';
import { rowsIn } from '../copied-rows.ts';

type Named = Readonly<Record<string, Value>>;

export class MemoryTables {
  readonly #tables = new Map(rideMarket.tables.map((table) => [table.name, new Map<string, Named>()]));

  /** Loads, folds and changes one batch, which stands in the log from offset `from` on, as the projector does. */
  apply(events: readonly ChainEvent[], from = 0): Folded {
    const batch = events.map((event, at): Recorded<ChainEvent> => ({ event, partition: 0, offset: BigInt(from + at), timestamp: 0 }));
    // what was applied before is never loaded for: the projector drops it, and here the fold must see it for itself
    const applied = this.rows('head')[0]?.['sequence'] ?? -1;
    const fresh = batch.filter(({ offset }) => offset > BigInt(String(applied)));
    const loaded = Object.fromEntries(rideMarket.loads(fresh).map((load) => [load.name, this.#answer(load)]));
    const folded = rideMarket.fold(loaded, batch);
    if (!('broken' in folded)) this.#change(folded.changes);
    return folded;
  }

  rows(table: string): readonly Named[] {
    return [...(this.#tables.get(table) ?? new Map<string, Named>()).values()];
  }

  texts(): TableTexts {
    return Object.fromEntries([...this.#tables].map(([name, rows]) => [name, texts([...rows.values()])]));
  }

  /** As pg gives them: int8 and numeric as text. */
  #answer(load: Load): readonly LoadedRow[] {
    const asked: unknown = 'text' in load ? load.values[0] : load.keys;
    const wanted = new Set((Array.isArray(asked) ? asked : []).map(keyOf));
    return this.#found(load, wanted).map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, asLoaded(value)])));
  }

  #found(load: Load, wanted: ReadonlySet<string>): readonly Named[] {
    if ('table' in load) return this.#where(load.table.name, load.table.key[0] ?? '', wanted);
    switch (load.name) {
      case 'requests_of_offers':
        return this.#where(
          'open_requests',
          'hash',
          new Set(this.#where('offers', 'hash', wanted).map((offer) => keyOf(offer['request_hash']))),
        );
      case 'journal':
        return this.#where('journal', 'height', wanted);
      default:
        throw new Error(`the ride market asks for ${load.name}, which these tables cannot answer`);
    }
  }

  #where(table: string, column: string, wanted: ReadonlySet<string>): readonly Named[] {
    return this.rows(table).filter((row) => wanted.has(keyOf(row[column])));
  }

  #change({ cuts, deletes, appends, upserts }: Changes): void {
    for (const cut of cuts) this.#cut(cut);
    for (const { table, rows } of deletes) {
      for (const row of rows) {
        if (!this.#of(table).delete(rowKey(table, table.key, row))) throw new Error(`a row of ${table.name} is deleted that is not there`);
      }
    }
    for (const added of appends) {
      const { table } = added;
      for (const row of rowsIn(added)) {
        const key = rowKey(table, Object.keys(table.columns), row);
        if (this.#of(table).has(key)) throw new Error(`a row of ${table.name} is appended that is there already: ${key}`);
        this.#of(table).set(key, named(table, row));
      }
    }
    for (const { table, rows } of upserts) {
      const keys = rows.map((row) => rowKey(table, Object.keys(table.columns), row));
      if (new Set(keys).size < keys.length) throw new Error(`${table.name}: one statement cannot change a row twice`);
      for (const [at, row] of rows.entries()) this.#of(table).set(keys[at] ?? '', named(table, row));
    }
  }

  #cut(cut: Cut): void {
    if (!('from' in cut)) throw new Error('nothing here is cut by groups');
    const rows = this.#of(cut.table);
    for (const [key, row] of rows) if (BigInt(String(row[cut.column])) >= BigInt(cut.from)) rows.delete(key);
  }

  #of(table: Table): Map<string, Named> {
    const rows = this.#tables.get(table.name);
    if (rows === undefined) throw new Error(`the ride market has no table ${table.name}`);
    return rows;
  }
}

function named(table: Table, row: Row): Named {
  const columns = Object.keys(table.columns);
  if (row.length !== columns.length) throw new Error(`a row of ${table.name} has ${row.length} values for ${columns.length} columns`);
  return Object.fromEntries(columns.map((column, at) => [column, row[at] ?? null]));
}

/** `columns` says what the row's values are. */
function rowKey(table: Table, columns: readonly string[], row: Row): string {
  return table.key.map((column) => keyOf(row[columns.indexOf(column)])).join(' ');
}

function keyOf(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('hex') : String(value);
}

function asLoaded(value: Value): Value {
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
}
