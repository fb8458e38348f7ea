/** What the blocks that are not final have changed, so that a reorganisation takes back exactly that: one row a block, gone when the block is final. */
import { countIn, textIn } from '../contract/loaded-row.ts';
import type { Cut, Loaded, LoadedRow, Row, Value } from '../contract/projection.ts';
import type { UndoRow } from './draft.ts';
import { SHAPES, type RecordTable } from './records.ts';
import { JOURNAL } from './rows.ts';

export interface BlockUndo {
  readonly rows: readonly UndoRow[];
  /** the lists that the block changed, which change again when it is taken back */
  readonly areas: readonly string[];
}

interface Pending {
  readonly height: number;
  readonly undo: BlockUndo;
}

export class Journal {
  /** of blocks that this batch put on, not final yet, by rising height */
  #pending: Pending[] = [];
  /** heights whose rows stood before the batch: from this one up to the newest block's */
  readonly #storedFrom: number;
  #storedTo: number;
  readonly #storedUndos: ReadonlyMap<number, string>;
  #from: number | undefined;
  #cutFrom: number | undefined;

  /** `head`: none before the first block; what `journalLoads` loaded. */
  constructor(head: LoadedRow | undefined, loaded: Loaded) {
    this.#from = head === undefined ? undefined : countIn(head, 'journal_from');
    this.#storedFrom = this.#from ?? 0;
    this.#storedTo = head === undefined ? -1 : countIn(head, 'height');
    this.#storedUndos = new Map(
      (loaded['journal'] ?? []).map((row) => [countIn(row, 'height'), textIn(row, 'undo')]),
    );
  }

  /** The lowest height of which there is a row; 0 before the first block. */
  get from(): number {
    return this.#from ?? 0;
  }

  push(height: number, undo: BlockUndo): void {
    this.#from ??= height;
    this.#pending.push({ height, undo });
  }

  /** What the newest block changed, which is this one; it leaves. */
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

  /** Blocks up to this height never leave any more. */
  settle(height: number): void {
    this.#pending = this.#pending.filter((block) => block.height > height);
    this.#from = height + 1;
  }

  cuts(): readonly Cut[] {
    return this.#cutFrom === undefined
      ? []
      : [{ table: JOURNAL, column: 'height', from: this.#cutFrom }];
  }

  /** Keys of the rows of blocks that have become final. */
  settled(): readonly Row[] {
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

interface StoredUndo {
  readonly rows: readonly StoredRow[];
  readonly areas: readonly string[];
}

export function encodeUndo({ rows, areas }: BlockUndo): string {
  const stored: StoredUndo = { rows: rows.map(storedRow), areas };
  return JSON.stringify(stored);
}

export function decodeUndo(text: string): BlockUndo {
  const { rows, areas }: StoredUndo = JSON.parse(text);
  return { rows: rows.map(undoRow), areas };
}

function storedRow<Name extends RecordTable>({
  table,
  hash,
  before,
  exists_after: isThere,
}: UndoRow<Name>): StoredRow {
  const values = before === undefined ? null : SHAPES[table].write(before).map(storedValue);
  return [table, hash.toString('hex'), values, isThere];
}

function undoRow([table, hash, values, isThere]: StoredRow): UndoRow {
  const before = values === null ? undefined : SHAPES[table].read(loadedRow(table, values));
  return { table, hash: Buffer.from(hash, 'hex'), before, exists_after: isThere };
}

function storedValue(value: Value): StoredValue {
  if (Buffer.isBuffer(value)) return value.toString('hex');
  return typeof value === 'bigint' ? value.toString() : value;
}

/** As Postgres would give it. */
function loadedRow(table: RecordTable, values: readonly StoredValue[]): LoadedRow {
  const columns = Object.entries(SHAPES[table].table.columns);
  return Object.fromEntries(
    columns.map(([column, type], at) => {
      const value = values[at] ?? null;
      return [
        column,
        type === 'bytea' && typeof value === 'string' ? Buffer.from(value, 'hex') : value,
      ];
    }),
  );
}
