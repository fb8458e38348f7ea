/** The changes of a block as JSON, for the journal. */
import { recordIn } from '../contract/loaded-row.ts';
import type { LoadedRow, Value } from '../contract/projection.ts';
import type { UndoText } from '../chain/undo-log.ts';
import { RECORD_TABLES, rowFromRecord, type Records, type RecordTable } from './records.ts';
import type { UndoRow } from './unit-of-work.ts';

export interface BlockUndo {
  readonly rows: readonly UndoRow[];
  /** change keys of the block: its revert changes the same lists */
  readonly change_keys: readonly string[];
}

export const UNDO_TEXT: UndoText<BlockUndo> = { encode: encodeUndo, decode: decodeUndo };

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
