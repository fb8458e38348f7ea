/** The rows that a transaction of many batches changes, and writes once, at its end. */
import { randomBytes } from 'node:crypto';
import { BytesIndex } from '../../../projections/bytes-index.ts';
import type {
  Changes,
  KeyedLoad,
  LoadedRow,
  Row,
  Table,
  TableRows,
  Value,
} from '../../../projections/contract/projection.ts';
import { CopyRows } from '../../runtime/postgres/copy-rows.ts';
import type { KnownRows } from './table-reader.ts';

/** of one table; an account takes about 150 bytes */
const DIRTY_ROWS_MAX = 500_000;

/** Rows that a transaction has changed, to write them at its end: the newest state of each. */
export class DirtyRows implements KnownRows {
  readonly #rowsMax: number;
  /** by table name; of tables whose key is one column */
  readonly #tables = new Map<string, DirtyTable>();

  constructor(rowsMax = DIRTY_ROWS_MAX) {
    this.#rowsMax = rowsMax;
  }

  /** Whether `add` can take these changes: upserts alone, by one key column, within the bound. */
  canHold({ cuts, deletes, upserts }: Changes): boolean {
    return (
      cuts.length === 0 &&
      deletes.every(({ rows }) => rows.length === 0) &&
      upserts.every(
        (change) =>
          change.rows.length === 0 ||
          (change.table.key.length === 1 &&
            this.#of(change.table).size + change.rows.length <= this.#rowsMax),
      )
    );
  }

  add(upserts: readonly TableRows[]): void {
    for (const { table, rows } of upserts)
      if (rows.length > 0) for (const row of rows) this.#of(table).set(row);
  }

  find({ table, keys }: KeyedLoad): ReturnType<KnownRows['find']> {
    const rows: LoadedRow[] = [];
    const missing: Value[] = [];
    const dirty = this.#of(table);
    for (const key of keys) {
      const row = dirty.get(key);
      if (row === undefined) missing.push(key);
      else rows.push(row);
    }
    return { rows, missing };
  }

  /** All dirty rows, by table. */
  encoded(): readonly CopyRows[] {
    return [...this.#tables.values()].map((table) => table.encoded());
  }

  #of(table: Table): DirtyTable {
    let dirty = this.#tables.get(table.name);
    if (dirty === undefined) this.#tables.set(table.name, (dirty = new DirtyTable(table)));
    return dirty;
  }
}

/**
 * Values are held by column: half a million rows would keep the garbage collector busy. Keys are
 * copied: their bytes are a slice of a larger buffer, which they would keep alive.
 */
class DirtyTable {
  readonly #table: Table;
  readonly #keyAt: number;
  /**
   * an object with all columns: to copy it and set its properties is twice as fast as to add them
   */
  readonly #template: Readonly<Record<string, Value>>;
  /** seeded: those who choose keys cannot choose collisions */
  readonly #keys = new BytesIndex(randomBytes(4).readInt32LE());
  /** by column, then by position in `#keys`; null for the bytes of a key */
  readonly #columns: readonly Value[][];

  constructor(table: Table) {
    this.#table = table;
    const columns = Object.keys(table.columns);
    this.#keyAt = columns.indexOf(table.key[0] ?? '');
    this.#template = Object.fromEntries(columns.map((column) => [column, null]));
    this.#columns = columns.map(() => []);
  }

  get size(): number {
    return this.#keys.size;
  }

  set(row: Row): void {
    const bytes = bytesOf(row[this.#keyAt] ?? null);
    let position = this.#keys.find(bytes);
    if (position === -1) position = this.#keys.add(bytes);
    let at = 0;
    for (const values of this.#columns) {
      const value = row[at] ?? null;
      values[position] = at === this.#keyAt && Buffer.isBuffer(value) ? null : value;
      at++;
    }
  }

  get(key: Value): LoadedRow | undefined {
    const position = this.#keys.find(bytesOf(key));
    if (position === -1) return undefined;
    const loaded = { ...this.#template };
    let at = 0;
    for (const column in loaded) {
      loaded[column] = at === this.#keyAt ? key : (this.#columns[at]?.[position] ?? null);
      at++;
    }
    return loaded;
  }

  encoded(): CopyRows {
    const encoded = new CopyRows(this.#table);
    for (let position = 0; position < this.size; position++)
      encoded.add(
        this.#columns.map(
          (values, at) => values[position] ?? (at === this.#keyAt ? this.#keys.at(position) : null),
        ),
      );
    return encoded;
  }
}

/** Keys of one column have one type; 1 and 1n are the same key. */
function bytesOf(key: Value): Uint8Array {
  return Buffer.isBuffer(key) ? key : Buffer.from(String(key));
}
