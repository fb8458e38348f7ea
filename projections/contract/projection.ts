/** The contract of a projection: a pure fold of events into changes of its tables, without I/O. */

export type ColumnType = 'bool' | 'bytea' | 'int4' | 'int8' | 'numeric' | 'text' | 'timestamptz';

/** bytea Buffer, int4 and int8 number or bigint, numeric bigint, timestamptz Unix milliseconds. */
export type Value = Buffer | bigint | boolean | number | string | null;
export type Row = readonly Value[];

export interface Table {
  readonly name: string;
  /** in the order of the rows' values */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** names of the key columns */
  readonly key: readonly string[];
}

/** One event with its position in the log. */
export interface Recorded<Event> {
  readonly event: Event;
  readonly partition: number;
  readonly offset: bigint;
  /** Unix milliseconds, of the record */
  readonly timestamp: number;
  /** SHA-256 of the record's value, of events with `previous` */
  readonly value_hash?: Buffer;
}

/** Rows that a fold gets under `name`. int8 and numeric are text, or as the fold wrote them. */
export type Load = KeyedLoad | SelectLoad;

/** Whole rows by their keys, of a table with one key column. */
export interface KeyedLoad {
  readonly name: string;
  readonly table: Table;
  readonly keys: readonly Value[];
}

/** A bound SELECT, its tables named without schema. */
export interface SelectLoad {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

export type LoadedRow = Readonly<Record<string, unknown>>;
export type Loaded = Readonly<Record<string, readonly LoadedRow[]>>;

/** Written in this order: cuts, deletes, appends, upserts. */
export interface Changes {
  /** rows that a revert removes */
  readonly cuts: readonly Cut[];
  /** rows to delete, by the values of their key columns */
  readonly deletes: readonly TableRows[];
  /** rows that are new by construction */
  readonly appends: readonly (TableRows | RowList)[];
  /** rows that replace the one with the same key; at most one a key */
  readonly upserts: readonly TableRows[];
}

/** Deletes the rows whose `column` is at least `from`, of the whole table or by group. */
export type Cut =
  { readonly table: Table; readonly column: string; readonly from: bigint | number } | GroupCut;

export interface GroupCut {
  readonly table: Table;
  readonly column: string;
  /** the column of the group */
  readonly within: string;
  /** one entry a group */
  readonly groups: readonly (readonly [group: Value, from: bigint | number])[];
}

export interface TableRows {
  readonly table: Table;
  readonly rows: readonly Row[];
}

/** Rows that a fold adds one by one, for tables that get many: the writer may encode at once. */
export interface RowList {
  readonly table: Table;
  /** number of rows */
  readonly length: number;
  /** Throws a `TypeError` for a value that its column cannot hold; the list is then unusable. */
  add(row: Row): void;
  /** Returns a function that removes all rows added since. Use the newest savepoint first. */
  savepoint(): () => void;
}

/** Begins an empty list of rows of a table. */
export type RowLists = (table: Table) => RowList;

export interface Outcomes {
  readonly applied: number;
  readonly replayed: number;
  readonly ignored: number;
}

export type Folded =
  | {
      readonly changes: Changes;
      readonly outcomes: Outcomes;
      /** change keys, for the change notification */
      readonly announced: readonly string[];
    }
  /** the log cannot be right: the projector applies what comes before this record and halts */
  | { readonly broken: { readonly at: number; readonly reason: string } };

/** Names of fields, by their Avro record. */
export type Unread = Readonly<Record<string, readonly string[]>>;

export interface Projection<Event extends { readonly type: string } = never> {
  readonly name: string;
  /** raised when the same log gives other rows, which rebuilds the tables from offset 0 */
  readonly version: number;
  /** names of the topics it folds */
  readonly topics: readonly string[];
  /** whether a decoded record is an event of this projection; any other halts the projector */
  readonly isEvent: (event: { readonly type: string }) => event is Event;
  /** fields that the fold does not need: not decoded */
  readonly unread?: Unread;
  readonly tables: readonly Table[];
  /**
   * Name of a table with one row, where several topics or partitions change the same rows. The
   * projector locks that row before it loads anything, so that only one batch at a time is folded.
   */
  readonly lock_table?: string;
  /** DDL of the tables, names without schema */
  readonly table_sql: URL;
  /** DDL of the indexes for reads, independent statements; a load is faster without them */
  readonly index_sql: URL;
  /** the rows that folding this batch, or any prefix of it, needs; further rows do no harm */
  loads(batch: readonly Recorded<Event>[]): readonly Load[];
  fold(loaded: Loaded, batch: readonly Recorded<Event>[], newRows: RowLists): Folded;
  /** records of a batch, where a record takes long to fold; no limit when not given */
  readonly records_max?: number;
  /**
   * The number of leading records that no later record can undo; all when not given. Only these are
   * applied while tables without indexes are loaded: to undo stored rows means to scan whole
   * tables. The answer changes the speed, never the rows.
   */
  settled?(batch: readonly Recorded<Event>[]): number;
}
