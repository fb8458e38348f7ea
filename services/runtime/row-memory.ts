/** The rows that this process wrote last or is about to write, so that the next batch need not ask for them: they are good as long as the checkpoint stands where it left it. */
import type { Changes, KeyedLoad, LoadedRow, Projection, Row, Table, TableRows, Value } from '../../projections/projection.ts';
import { TOPICS } from '../../schemas/topics.ts';

/** Of each table there are two generations at most: what was not needed for so many rows is forgotten. */
const GENERATION_ROWS_MAX = 200_000;

/** Only where the tables change with one partition alone: with the checkpoint of another they would have changed unseen. */
export function memoryFor({ topics }: Pick<Projection, 'topics'>): RowMemory | undefined {
  const isOfOnePartition = topics.length === 1 && TOPICS.every(({ name, partitions }) => name !== topics[0] || partitions === 1);
  return isOfOnePartition ? new RowMemory() : undefined;
}

export class RowMemory {
  readonly #generationMax: number;
  #position: bigint | undefined;
  #build: string | undefined;
  #cleared = 0;
  /** by name */
  readonly #tables = new Map<string, TableMemory>();

  constructor(generationRowsMax = GENERATION_ROWS_MAX) {
    this.#generationMax = generationRowsMax;
  }

  /** The tables are those of this offset and build: with any other offset than that of the last `remember`, or other tables, nothing that is remembered holds. */
  at(position: bigint, build: string): void {
    if (position === this.#position && build === this.#build) return;
    this.#build = build;
    this.clear();
  }

  /** What is remembered of the rows wanted, and the keys of those that have to be asked for. */
  recall({ table, keys }: KeyedLoad): { readonly rows: readonly LoadedRow[]; readonly missing: readonly Value[] } {
    const rows: LoadedRow[] = [];
    const missing: Value[] = [];
    const memory = this.#of(table);
    for (const key of keys) {
      const row = memory.find(key);
      if (row === undefined) missing.push(key);
      else rows.push(loadedRow(table, row));
    }
    return { rows, missing };
  }

  /** The tables are those of `position` from now on, by these changes alone. */
  remember(changes: Changes, position: bigint): void {
    this.#remember(changes, position, false);
  }

  /** As `remember`, of changes that it `holds`; but what they upsert need not be written before it is released: gives what has to be written now. */
  hold(changes: Changes, position: bigint): Changes {
    this.#remember(changes, position, true);
    return { ...changes, upserts: [] };
  }

  /** The newest of each row that is held: they are to be written now. */
  release(): readonly TableRows[] {
    return [...this.#tables.values()].map((memory) => ({ table: memory.table, rows: memory.release() }));
  }

  /** Whether all that these changes upsert is known once they are remembered, and they take nothing away. */
  holds({ cuts, deletes, upserts }: Changes): boolean {
    const isRoom = ({ table, rows }: TableRows): boolean => this.#of(table).held + rows.length <= this.#generationMax;
    const isHeld = (each: TableRows): boolean => each.rows.length === 0 || (isByOneKey(each) && isRoom(each));
    return cuts.length === 0 && deletes.every(({ rows }) => rows.length === 0) && upserts.every(isHeld);
  }

  /** How often everything was forgotten. */
  get times_cleared(): number {
    return this.#cleared;
  }

  /** Nothing that is remembered holds. */
  clear(): void {
    this.#cleared++;
    this.#position = undefined;
    this.#tables.clear();
  }

  #remember({ cuts, deletes, upserts }: Changes, position: bigint, isHeld: boolean): void {
    // what a cut took cannot be told from here
    if (cuts.length > 0) this.clear();
    this.#position = position;
    for (const { table, rows } of deletes.filter(isByOneKey)) for (const [key = null] of rows) this.#of(table).forget(key);
    for (const { table, rows } of upserts.filter(isByOneKey)) {
      const memory = this.#of(table);
      const at = Object.keys(table.columns).indexOf(table.key[0] ?? '');
      for (const row of rows) memory.keep(row[at] ?? null, row, isHeld);
    }
  }

  #of(table: Table): TableMemory {
    let memory = this.#tables.get(table.name);
    if (memory === undefined) this.#tables.set(table.name, (memory = new TableMemory(table, this.#generationMax)));
    return memory;
  }
}

interface Remembered {
  row: Row;
  /** not written yet */
  is_held: boolean;
}

/** While no more rows are held than a generation has, none of them is forgotten. */
class TableMemory {
  readonly table: Table;
  readonly #generationMax: number;
  #young = new Map<string, Remembered>();
  #old = new Map<string, Remembered>();
  #held: Remembered[] = [];

  constructor(table: Table, generationMax: number) {
    this.table = table;
    this.#generationMax = generationMax;
  }

  find(key: Value): Row | undefined {
    const name = nameOf(key);
    return (this.#young.get(name) ?? this.#old.get(name))?.row;
  }

  keep(key: Value, row: Row, isHeld: boolean): void {
    const name = nameOf(key);
    let known = this.#young.get(name);
    if (known === undefined) {
      known = this.#old.get(name) ?? { row, is_held: false };
      this.#old.delete(name);
      this.#young.set(name, known);
    }
    known.row = row;
    if (isHeld && !known.is_held) {
      known.is_held = true;
      this.#held.push(known);
    }
    if (this.#young.size < this.#generationMax) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  forget(key: Value): void {
    const name = nameOf(key);
    this.#young.delete(name);
    this.#old.delete(name);
  }

  /** How many rows are held. */
  get held(): number {
    return this.#held.length;
  }

  release(): readonly Row[] {
    const rows = this.#held.map(({ row }) => row);
    for (const each of this.#held) each.is_held = false;
    this.#held = [];
    return rows;
  }
}

function isByOneKey({ table }: TableRows): boolean {
  return table.key.length === 1;
}

/** What stands for a key in a map: 1 and 1n are the same. */
function nameOf(key: Value): string {
  return Buffer.isBuffer(key) ? key.toString('latin1') : String(key);
}

function loadedRow(table: Table, row: Row): LoadedRow {
  const loaded: Record<string, Value> = {};
  let at = 0;
  for (const column in table.columns) loaded[column] = row[at++] ?? null;
  return loaded;
}
