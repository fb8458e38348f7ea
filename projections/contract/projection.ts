/** What every projection fulfils: a pure fold of a batch of events into changes of its tables. The projector does all the waiting and writing. */

export type ColumnType = 'bool' | 'bytea' | 'int4' | 'int8' | 'numeric' | 'text' | 'timestamptz';

/** A value of a row: bytea Buffer, int4 and int8 number or bigint, numeric bigint, timestamptz Unix milliseconds. */
export type Value = Buffer | bigint | boolean | number | string | null;
export type Row = readonly Value[];

export interface Table {
  readonly name: string;
  /** in the order of the rows' values */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** the columns that name a row */
  readonly key: readonly string[];
}

/** One event with its place in the log. */
export interface Recorded<Event> {
  readonly event: Event;
  readonly partition: number;
  readonly offset: bigint;
  /** Unix milliseconds, of the record */
  readonly timestamp: number;
}

/** What a fold has to know of what stands in the tables. The rows reach it under `name`; int8 and numeric arrive as text, or as the fold itself wrote them. */
export type Load = KeyedLoad | SelectLoad;

/** Whole rows by their keys, of a table whose key is one column. Those written last need not be asked for again. */
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

/** Changes are made in this order: cuts, then deletes, appends, upserts. */
export interface Changes {
  /** what a revert takes off the top */
  readonly cuts: readonly Cut[];
  /** rows that are gone: the values of their key columns alone */
  readonly deletes: readonly TableRows[];
  /** rows that are new by construction */
  readonly appends: readonly (TableRows | RowList)[];
  /** rows that replace the one with the same key; at most one a key */
  readonly upserts: readonly TableRows[];
}

/** The rows whose `column` is at least `from` go: of the whole table, or of each group its own. */
export type Cut = WholeCut | GroupCut;

export interface WholeCut {
  readonly table: Table;
  readonly column: string;
  readonly from: bigint | number;
}

export interface GroupCut {
  readonly table: Table;
  readonly column: string;
  /** the column that names the groups */
  readonly within: string;
  /** one entry a group */
  readonly groups: readonly (readonly [group: Value, from: bigint | number])[];
}

export interface TableRows {
  readonly table: Table;
  readonly rows: readonly Row[];
}

/** Rows that a fold adds one by one, for tables that get many: the writer may encode them at once. */
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
      /** what changed, for those who wait for news: keys, never rows */
      readonly announced: readonly string[];
    }
  /** the log cannot be right: the projector halts at this record, changes nothing and says why */
  | { readonly broken: { readonly at: number; readonly reason: string } };

/** Names of fields, by the name of their Avro record. */
export type Unread = Readonly<Record<string, readonly string[]>>;

export interface Projection<Event extends { readonly type: string } = never> {
  readonly name: string;
  /** raised when the same log gives other rows: the tables are then rebuilt from offset 0 */
  readonly version: number;
  /** names of the topics it folds */
  readonly topics: readonly string[];
  /**
   * Under which name a person may have it pass over a record that it cannot apply. Only where no money hangs on the rows; without it such a record halts it for good.
   */
  readonly skips?: string;
  /** whether a decoded record is one of the events that it folds: any other halts the projector */
  readonly isEvent: (event: { readonly type: string }) => event is Event;
  /** fields that the fold has no use for, by the record of their schema: skipped, not decoded */
  readonly unread?: Unread;
  readonly tables: readonly Table[];
  /**
   * Name of a table with one row, where several topics or partitions change the same rows. The
   * projector locks that row before it loads anything, so that only one batch at a time is folded.
   */
  readonly lock_table?: string;
  /** DDL of the tables, names without schema */
  readonly table_sql: URL;
  /** DDL of what makes reads fast; apart, because a load without it is three times as fast. No statement needs another: two at a time are run, in this order */
  readonly index_sql: URL;
  /** the rows that folding this batch, or any beginning of it, needs; more do no harm */
  loads(batch: readonly Recorded<Event>[]): readonly Load[];
  fold(loaded: Loaded, batch: readonly Recorded<Event>[], newRows: RowLists): Folded;
  /** how many records a fold may take at once, where each costs it much time; as many as there are when not given */
  readonly records_max?: number;
  /**
   * How many leading records of the batch no later record can undo; all of them when there is no such method. While tables are loaded without indexes, only so
   * many are applied and the rest waits for what comes next, since undoing stored rows would mean reading whole tables. Only speed depends on the answer.
   */
  settled?(batch: readonly Recorded<Event>[]): number;
}
