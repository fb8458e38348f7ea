/** The explorer's tables as plain maps, so that its fold can be tried without a database: answers its loads, takes its changes, checks what Postgres would. */
import { explorer } from '../../../projections/explorer/explorer.ts';
import type { Changes, Cut, Folded, Load, LoadedRow, Recorded, Row, Table, Value } from '../../../projections/projection.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { texts, type TableTexts } from '../../support/plain-fold.ts';

type Named = Record<string, Value>;

export class MemoryTables {
  readonly #tables = new Map(explorer.tables.map((table) => [table.name, new Map<string, Named>()]));

  /** Loads, folds and changes one batch, which stands in the log from offset `from` on, as the projector does. */
  apply(events: readonly ChainEvent[], from = 0): Folded {
    const batch = events.map((event, at): Recorded<ChainEvent> => ({ event, partition: 0, offset: BigInt(from + at), timestamp: 0 }));
    const loaded = Object.fromEntries(explorer.loads(batch).map((load) => [load.name, this.#answer(load)]));
    const folded = explorer.fold(loaded, batch);
    if (!('broken' in folded)) this.#change(folded.changes);
    return folded;
  }

  texts(): TableTexts {
    return Object.fromEntries([...this.#tables].map(([name, rows]) => [name, texts([...rows.values()])]));
  }

  #rows(table: string): Named[] {
    return [...(this.#tables.get(table) ?? new Map<string, Named>()).values()];
  }

  /** int8 comes as text, as pg gives it. */
  #answer({ name, values }: Load): LoadedRow[] {
    const wanted = new Set((Array.isArray(values[0]) ? values[0] : []).map(keyOf));
    switch (name) {
      case 'head':
      case 'types':
        return this.#rows(name === 'head' ? 'head' : 'transaction_types').map(asLoaded);
      case 'accounts':
        return this.#accounts(wanted);
      case 'reverted_transactions':
        return this.#blocks(wanted).flatMap((block) => {
          const transactions = this.#transactions([block]);
          const { height, first_seq } = block;
          const none = { from_address: null, to_address: null, function_call_type: null };
          return (transactions.length === 0 ? [none] : transactions).map((row) =>
            asLoaded({ ...row, height: height ?? null, first_seq: first_seq ?? null }),
          );
        });
      case 'reverted_accounts': {
        const touched = this.#transactions(this.#blocks(wanted)).flatMap(({ from_address, to_address }) => [
          keyOf(from_address),
          keyOf(to_address),
        ]);
        return this.#accounts(new Set(touched));
      }
      default:
        throw new Error(`the explorer asks for ${name}, which these tables cannot answer`);
    }
  }

  #accounts(wanted: ReadonlySet<string>): LoadedRow[] {
    return this.#rows('accounts')
      .filter(({ address }) => wanted.has(keyOf(address)))
      .map(asLoaded);
  }

  #blocks(wanted: ReadonlySet<string>): Named[] {
    return this.#rows('blocks').filter(({ height }) => wanted.has(keyOf(height)));
  }

  #transactions(blocks: readonly Named[]): Named[] {
    const heights = new Set(blocks.map(({ height }) => keyOf(height)));
    return this.#rows('transactions').filter(({ block_height }) => heights.has(keyOf(block_height)));
  }

  #change({ cuts, deletes, appends, upserts }: Changes): void {
    for (const cut of cuts) this.#cut(cut);
    for (const { table, rows } of deletes) {
      for (const row of rows)
        if (!this.#of(table).delete(rowKey(table, table.key, row))) throw new Error(`a row of ${table.name} is deleted that is not there`);
    }
    for (const { table, rows } of appends) {
      for (const row of rows) {
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
    const groups = 'from' in cut ? undefined : new Map(cut.groups.map(([group, from]) => [keyOf(group), BigInt(from)]));
    const rows = this.#of(cut.table);
    for (const [key, row] of rows) {
      const from = 'from' in cut ? BigInt(cut.from) : groups?.get(keyOf(row[cut.within]));
      if (from !== undefined && BigInt(String(row[cut.column])) >= from) rows.delete(key);
    }
  }

  #of(table: Table): Map<string, Named> {
    const rows = this.#tables.get(table.name);
    if (rows === undefined) throw new Error(`the explorer has no table ${table.name}`);
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

function asLoaded(row: Named): LoadedRow {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, typeof value === 'number' ? String(value) : value]));
}
