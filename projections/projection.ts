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

/** A bound SELECT, its tables named without schema. Its rows reach the fold under `name`; int8 and numeric arrive as text. */
export interface Load {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

export type LoadedRow = Readonly<Record<string, unknown>>;
export type Loaded = Readonly<Record<string, readonly LoadedRow[]>>;

/** Changes are made in this order: cuts, then deletes, appends, upserts. */
export interface Changes {
  /** delete the rows whose `column` is at least `from`; with `within`, only those of that group */
  readonly cuts: readonly Cut[];
  /** rows that are gone: the values of their key columns alone */
  readonly deletes: readonly TableRows[];
  /** rows that are new by construction */
  readonly appends: readonly TableRows[];
  /** rows that replace the one with the same key; at most one a key */
  readonly upserts: readonly TableRows[];
}

export interface Cut {
  readonly table: Table;
  readonly column: string;
  readonly from: bigint | number;
  readonly within?: { readonly column: string; readonly value: Value };
}

export interface TableRows {
  readonly table: Table;
  readonly rows: readonly Row[];
}

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

export interface Projection<Event = never> {
  readonly name: string;
  /** raised when the same log gives other rows: the tables are then rebuilt from offset 0 */
  readonly version: number;
  /** names of the topics it folds */
  readonly topics: readonly string[];
  readonly tables: readonly Table[];
  /** DDL of the tables, names without schema */
  readonly table_sql: URL;
  /** DDL of what makes reads fast; apart, because a load without it is three times as fast */
  readonly index_sql: URL;
  /** the rows that folding this batch needs */
  loads(batch: readonly Recorded<Event>[]): readonly Load[];
  fold(loaded: Loaded, batch: readonly Recorded<Event>[]): Folded;
}
