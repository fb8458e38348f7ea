/** The changes of each unfinalized block, one row of `journal` each, for exact reverts. */
import { countIn, recordIn, textIn } from '../contract/loaded-row.ts';
import type { Cut, Loaded, LoadedRow, Row, Value } from '../contract/projection.ts';
import {
  JOURNAL,
  RECORD_TABLES,
  rowFromRecord,
  type Records,
  type RecordTable,
} from './records.ts';
import type { UndoRow } from './unit-of-work.ts';

export interface BlockUndo {
  readonly rows: readonly UndoRow[];
  /** change keys of the block: its revert changes the same lists */
  readonly change_keys: readonly string[];
}

interface Pending {
  readonly height: number;
  readonly undo: BlockUndo;
}

export class UndoLog {
  /** unfinalized blocks that this batch appended, ascending */
  #pending: Pending[] = [];
  /** the range of heights that the table holds: as loaded, and less what this batch reverted */
  readonly #storedFrom: number;
  #storedTo: number;
  readonly #storedUndos: ReadonlyMap<number, string>;
  #from: number | undefined;
  #cutFrom: number | undefined;

  /** `head`: undefined before the first block. `loaded['journal']`: the rows of reverted blocks. */
  constructor(head: LoadedRow | undefined, loaded: Loaded) {
    this.#from = head === undefined ? undefined : countIn(head, 'journal_from');
    this.#storedFrom = this.#from ?? 0;
    this.#storedTo = head === undefined ? -1 : countIn(head, 'height');
    this.#storedUndos = new Map(
      (loaded['journal'] ?? []).map((row) => [countIn(row, 'height'), textIn(row, 'undo')]),
    );
  }

  /** The lowest height that has a row; 0 before the first block. */
  get from(): number {
    return this.#from ?? 0;
  }

  push(height: number, undo: BlockUndo): void {
    this.#from ??= height;
    this.#pending.push({ height, undo });
  }

  /** Removes the newest block, at `height`, and returns its changes. */
  pop(height: number): BlockUndo {
    const pending = this.#pending.pop();
    if (pending !== undefined) return pending.undo;
    const undo = this.#storedUndos.get(height);
    if (undo === undefined)
      throw new Error(`block ${height} is on the chain but not in the journal`);
    this.#cutFrom = height;
    this.#storedTo = height - 1;
    return decodeUndo(undo);
  }

  /** Blocks up to this height are final. */
  finalize(height: number): void {
    this.#pending = this.#pending.filter((block) => block.height > height);
    this.#from = height + 1;
  }

  cuts(): readonly Cut[] {
    return this.#cutFrom === undefined
      ? []
      : [{ table: JOURNAL, column: 'height', from: this.#cutFrom }];
  }

  /** Keys of the stored rows whose blocks have become final. */
  finalized(): readonly Row[] {
    const rows: Row[] = [];
    for (let height = this.#storedFrom; height <= this.#storedTo && height < this.from; height++)
      rows.push([height]);
    return rows;
  }

  added(): readonly Row[] {
    return this.#pending.map(({ height, undo }) => [height, encodeUndo(undo)]);
  }
}

type StoredValue = boolean | number | string | null;
type StoredRow = readonly [
  table: RecordTable,
  hash: string,
  before: readonly StoredValue[] | null,
  exists_after: boolean,
];

/** The JSON in column `undo`. */
interface StoredUndo {
  readonly rows: readonly StoredRow[];
  /** the change keys, under the name that stored rows give them */
  readonly areas: readonly string[];
}

function encodeUndo({ rows, change_keys }: BlockUndo): string {
  const stored: StoredUndo = { rows: rows.map(storedRow), areas: change_keys };
  return JSON.stringify(stored);
}

function decodeUndo(text: string): BlockUndo {
  const { rows, areas }: StoredUndo = JSON.parse(text);
  return { rows: rows.map(undoRow), change_keys: areas };
}

function storedRow<Name extends RecordTable>(row: UndoRow<Name>): StoredRow {
  const { table, hash, before, exists_after } = row;
  const values = before === undefined ? null : rowFromRecord(table, before).map(storedValue);
  return [table, hash.toString('hex'), values, exists_after];
}

function undoRow([table, hash, values, exists_after]: StoredRow): UndoRow {
  const before =
    values === null
      ? undefined
      : recordIn<Records[RecordTable]>(RECORD_TABLES[table], loadedRow(table, values));
  return { table, hash: Buffer.from(hash, 'hex'), before, exists_after };
}

function storedValue(value: Value): StoredValue {
  if (Buffer.isBuffer(value)) return value.toString('hex');
  return typeof value === 'bigint' ? value.toString() : value;
}

/** The row as Postgres would return it. */
function loadedRow(table: RecordTable, values: readonly StoredValue[]): LoadedRow {
  const columns = Object.entries(RECORD_TABLES[table].columns);
  return Object.fromEntries(
    columns.map(([column, type], at) => {
      const value = values[at] ?? null;
      const isBytes = type === 'bytea' && typeof value === 'string';
      return [column, isBytes ? Buffer.from(value, 'hex') : value];
    }),
  );
}
