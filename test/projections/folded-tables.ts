/**
 * The tables of any projection in memory, to fold events without a server: SQLite makes them of
 * `table.sql` and the unique indexes of `index.sql`, so their constraints hold, and answers each
 * load by its own SELECT, with no row more, and in another order than written without ORDER BY.
 * It keeps a numeric as text, which is exact: a load may add it up, and compare it with 0.
 *
 * SQLite accepts what Postgres refuses or answers otherwise: other comparisons and the max of a
 * numeric compare text, a column may be outside GROUP BY, LIKE ignores case, a bigint equals a
 * text. A load with one of these is tested with Postgres, in `test/servers/projections`.
 */
import { readFileSync } from 'node:fs';
import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementSync,
} from 'node:sqlite';
import type {
  Changes,
  ColumnType,
  Cut,
  Folded,
  Load,
  Loaded,
  LoadedRow,
  Projection,
  Recorded,
  Row,
  Table,
  TableRows,
  Value,
} from '../../projections/contract/projection.ts';
import { TOPICS } from '../../schemas/topics.ts';
import { selectOf } from '../../services/projector/engine/table-reader.ts';
import { plainHash } from '../support/plain-chain.ts';
import { texts, type TableTexts } from '../support/plain-fold.ts';
import { plainRows, rowsIn } from '../support/plain-rows.ts';

export type Named = Readonly<Record<string, Value>>;
export type Changed = Extract<Folded, { readonly changes: unknown }>;

/** Records of one partition of a topic that follow each other, the first at offset `from`. */
export interface Stretch<Event> {
  readonly events: readonly Event[];
  readonly partition: number;
  readonly from: number;
}

/** By default from the beginning of partition 0. */
type Begun<Event> = Pick<Stretch<Event>, 'events'> & Partial<Stretch<Event>>;

/** The part of a projection that needs no server. */
export type Folding<Event extends { readonly type: string }> = Pick<
  Projection<Event>,
  'name' | 'tables' | 'table_sql' | 'index_sql' | 'loads' | 'fold'
>;

/** The DDL of Postgres in the words of SQLite, whose strict tables check types. */
const DDL: readonly (readonly [RegExp, string])[] = [
  [/--.*/g, ''],
  [/\bbytea\b/g, 'blob'],
  [/\b(?:bigint|boolean|timestamptz)\b/g, 'integer'],
  [/\bnumeric\b/g, 'text'],
  [/^\)(?: WITH \(.*\))?;/gm, ') STRICT;'],
];

/** The forms of Postgres in loads; SQLite refuses any other that it does not have. */
const SELECTS: readonly (readonly [RegExp, string])[] = [
  [/= ANY\((\$\d)::bytea\[\]\)/g, 'IN (SELECT unhex(value) FROM json_each($1))'],
  [/= ANY\((\$\d)::\w+\[\]\)/g, 'IN (SELECT value FROM json_each($1))'],
  [/SELECT unnest\(ARRAY\[(.+?), (.+?)\]\) (FROM .+)/g, 'SELECT $1 $3 UNION SELECT $2 $3'],
  [
    /CROSS JOIN LATERAL\s+\((SELECT .+? FROM \w+) WHERE (\w+) = (\S+) OFFSET 0\) (\w+)/g,
    'JOIN ($1) $4 ON $4.$2 = $3',
  ],
];

export class FoldedTables<Event extends { readonly type: string }> {
  readonly #projection: Folding<Event>;
  readonly #db = new DatabaseSync(':memory:', { readBigInts: true });
  readonly #statements = new Map<string, StatementSync>();
  /** by topic and partition, the offset after the last record folded */
  readonly #ends = new Map<string, number>();

  constructor(projection: Folding<Event>) {
    this.#projection = projection;
    this.#db.aggregate<string | null>('sum', {
      start: null,
      step: (sum, value) =>
        value === null ? sum : String(BigInt(sum ?? 0) + BigInt(String(value))),
    });
    // rows come in no order but that of an ORDER BY
    this.#db.exec('PRAGMA reverse_unordered_selects = ON');
    this.#db.exec(inSqlite(readFileSync(projection.table_sql, 'utf8'), DDL));
    const indexes = readFileSync(projection.index_sql, 'utf8');
    for (const [unique] of indexes.matchAll(/^CREATE UNIQUE INDEX [^;]+/gm))
      this.#db.exec(unique.replace(/ INCLUDE \(.+\)$/, ''));
  }

  /** Loads, folds and applies a batch; throws when the log is broken. */
  apply(stretch: Begun<Event>): Changed {
    const folded = this.fold(stretch);
    if ('broken' in folded) throw new Error(folded.broken.reason);
    return folded;
  }

  /** The same; a broken log changes nothing. */
  fold({ events, partition = 0, from = 0 }: Begun<Event>): Folded {
    const batch = events.map((event, at): Recorded<Event> => ({
      event,
      partition,
      offset: BigInt(from + at),
      timestamp: 0,
      get value_hash() {
        return plainHash(event);
      },
    }));
    const log = `${topicOf(events[0])} ${partition}`;
    const end = this.#ends.get(log) ?? 0;
    // the projector drops applied records before it loads; here the fold must recognise them
    const parts = end > from ? [batch, batch.slice(end - from)] : [batch];
    const folded = this.#projection.fold(this.#loaded(parts), batch, plainRows);
    if ('broken' in folded) return folded;
    const { applied, replayed, ignored } = folded.outcomes;
    if (applied + replayed + ignored !== batch.length) throw new Error('a record has no outcome');
    this.#write(folded.changes);
    this.#ends.set(log, Math.max(end, from + events.length));
    return folded;
  }

  /** In the order of the key, as a fold writes them: an int8 below 2^53 is a number. */
  rows(name: string): readonly Named[] {
    const { columns, key } = this.#table(name);
    const rows = this.#prepared(
      `SELECT ${quoted(Object.keys(columns))} FROM ${name} ORDER BY ${quoted(key)}`,
    ).all();
    return rows.map((row) =>
      Object.fromEntries(
        Object.entries(columns).map(([column, type]) => [column, written(row[column], type)]),
      ),
    );
  }

  texts(): TableTexts {
    return Object.fromEntries(
      this.#projection.tables.map(({ name }) => [name, texts(this.rows(name))]),
    );
  }

  /** The rows that these batches need, those of several once. */
  #loaded(batches: readonly (readonly Recorded<Event>[])[]): Loaded {
    const loaded: Record<string, readonly LoadedRow[]> = {};
    for (const load of batches.flatMap((batch) => this.#projection.loads(batch))) {
      const rows = this.#answer(load);
      const before = loaded[load.name];
      loaded[load.name] = before === undefined ? rows : united(before, rows);
    }
    return loaded;
  }

  #answer(load: Load): readonly LoadedRow[] {
    const { text, values } = selectOf(load);
    const statement = this.#prepared(inSqlite(text, SELECTS));
    const asked = values.map((value, at) => [`$${at + 1}`, textOf(value)]);
    const columns = statement.columns().map(({ name, table, column }) => {
      const type = table === null ? 'numeric' : this.#table(table).columns[column ?? ''];
      return [name, type ?? 'numeric'] as const;
    });
    return statement
      .all(Object.fromEntries(asked))
      .map((row) =>
        Object.fromEntries(columns.map(([name, type]) => [name, asLoaded(row[name], type)])),
      );
  }

  #write({ cuts, deletes, appends, upserts }: Changes): void {
    this.#db.exec('BEGIN');
    for (const cut of cuts) this.#cut(cut);
    for (const { table, rows } of deletes) {
      const where = table.key.map((column) => `"${column}" = ?`).join(' AND ');
      const statement = this.#prepared(`DELETE FROM ${table.name} WHERE ${where}`);
      for (const row of rows)
        if (statement.run(...bound(table, table.key, row)).changes !== 1n)
          throw new Error(`a row of ${table.name} is deleted that is not there`);
    }
    for (const added of appends) this.#insert({ table: added.table, rows: rowsIn(added) });
    for (const changed of upserts) {
      const { table, rows } = changed;
      const at = table.key.map((column) => Object.keys(table.columns).indexOf(column));
      const keys = rows.map((row) => textOf(at.map((each) => row[each])));
      if (new Set(keys).size < keys.length)
        throw new Error(`${table.name}: one statement cannot change a row twice`);
      const others = Object.keys(table.columns).filter((column) => !table.key.includes(column));
      const set = others.map((column) => `"${column}" = excluded."${column}"`).join(', ');
      const update = set === '' ? 'NOTHING' : `UPDATE SET ${set}`;
      this.#insert(changed, `ON CONFLICT (${quoted(table.key)}) DO ${update}`);
    }
    this.#db.exec('COMMIT');
  }

  #insert({ table, rows }: TableRows, onConflict = ''): void {
    const columns = Object.keys(table.columns);
    const places = columns.map(() => '?').join(', ');
    const statement = this.#prepared(
      `INSERT INTO ${table.name} (${quoted(columns)}) VALUES (${places}) ${onConflict}`,
    );
    for (const row of rows) statement.run(...bound(table, columns, row));
  }

  #cut(cut: Cut): void {
    const text = `DELETE FROM ${cut.table.name} WHERE "${cut.column}" >= ?`;
    if ('from' in cut) this.#prepared(text).run(cut.from);
    else
      for (const [group, from] of cut.groups)
        this.#prepared(`${text} AND "${cut.within}" = ?`).run(
          from,
          ...bound(cut.table, [cut.within], [group]),
        );
  }

  #prepared(text: string): StatementSync {
    const statement = this.#statements.get(text) ?? this.#db.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }

  #table(name: string): Table {
    const table = this.#projection.tables.find((each) => each.name === name);
    if (table === undefined) throw new Error(`${this.#projection.name} has no table ${name}`);
    return table;
  }
}

export function topicOf(event: { readonly type: string } | undefined): string {
  return (
    TOPICS.find(({ events }) => events.some(({ type }) => type === event?.type))?.name ?? 'none'
  );
}

function inSqlite(text: string, forms: typeof SELECTS): string {
  return forms.reduce((sql, [form, replacement]) => sql.replaceAll(form, replacement), text);
}

function quoted(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(', ');
}

/** `columns` says what the row's values are. */
function bound(table: Table, columns: readonly string[], row: Row): SQLInputValue[] {
  if (row.length !== columns.length)
    throw new Error(
      `a row of ${table.name} has ${row.length} values for ${columns.length} columns`,
    );
  return row.map((value, at) => {
    if (typeof value === 'boolean') return Number(value);
    if (typeof value === 'string' && value.includes('\0'))
      throw new Error(`${table.name}: Postgres takes no text with U+0000`);
    return table.columns[columns[at] ?? ''] === 'numeric' && value !== null ? String(value) : value;
  });
}

function united(some: readonly LoadedRow[], others: readonly LoadedRow[]): readonly LoadedRow[] {
  const known = new Set(some.map((row) => textOf(Object.values(row))));
  return [...some, ...others.filter((row) => !known.has(textOf(Object.values(row))))];
}

function textOf(value: unknown): string {
  return JSON.stringify(plain(value));
}

/** Bytes as hex and bigints as text. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => plain(each));
  if (Buffer.isBuffer(value)) return value.toString('hex');
  return typeof value === 'bigint' ? String(value) : value;
}

/** A value as pg gives it. */
function asLoaded(value: SQLOutputValue | undefined, type: ColumnType): unknown {
  const found = written(value, type);
  if (found === null) return null;
  if (type === 'timestamptz') return new Date(Number(found));
  return type === 'int8' || type === 'numeric' ? String(found) : found;
}

function written(value: SQLOutputValue | undefined, type: ColumnType): Value {
  if (value === null || value === undefined) return null;
  if (typeof value === 'object') return Buffer.from(value);
  if (type === 'bool') return value === 1n;
  if (type === 'text') return String(value);
  const count = Number(value);
  return type === 'numeric' || !Number.isSafeInteger(count) ? BigInt(value) : count;
}
