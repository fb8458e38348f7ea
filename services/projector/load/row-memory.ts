/** The rows that this process wrote last or is about to write, so that the next batch need not ask for them: they are good as long as the checkpoint stands where it left it. */
import { CopyRows } from '../../runtime/postgres/copy-rows.ts';
import type {
  Changes,
  KeyedLoad,
  LoadedRow,
  Projection,
  Row,
  Table,
  TableRows,
  Value,
} from '../../../projections/contract/projection.ts';
import { TOPICS } from '../../../schemas/topics.ts';
import { assert } from '../../runtime/process/errors.ts';
import { bytesOfRow, PackedRows } from './packed-rows.ts';

/** Of each table there are two generations at most: what was not needed for so much of others is forgotten. */
const GENERATION_BYTES_MAX = 64 * 1024 * 1024;

/** Only where the tables change with one partition alone: with the checkpoint of another they would have changed unseen. */
export function memoryFor({ topics }: Pick<Projection, 'topics'>): RowMemory | undefined {
  const isOfOnePartition =
    topics.length === 1 &&
    TOPICS.every(({ name, partitions }) => name !== topics[0] || partitions === 1);
  return isOfOnePartition ? new RowMemory() : undefined;
}

export class RowMemory {
  readonly #generationMax: number | undefined;
  #position: bigint | undefined;
  #build: string | undefined;
  #cleared = 0;
  /** by name */
  readonly #tables = new Map<string, TableMemory>();

  /** `generationRowsMax`: of a table; as many as have room in so much memory when not given. */
  constructor(generationRowsMax?: number) {
    this.#generationMax = generationRowsMax;
  }

  /** The tables are those of this offset and build: with any other offset than that of the last `remember`, or other tables, nothing that is remembered holds. */
  at(position: bigint, build: string): void {
    if (position === this.#position && build === this.#build) return;
    this.#build = build;
    this.clear();
  }

  /** What is remembered of the rows wanted, and the keys of those that have to be asked for. */
  recall({ table, keys }: KeyedLoad): {
    readonly rows: readonly LoadedRow[];
    readonly missing: readonly Value[];
  } {
    const rows: LoadedRow[] = [];
    const missing: Value[] = [];
    const memory = this.#of(table);
    for (const key of keys) {
      const row = memory.find(key);
      if (row === undefined) missing.push(key);
      else rows.push(row);
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

  /** How many rows are held. */
  get held(): number {
    return this.#tables.values().reduce((rows, memory) => rows + memory.held, 0);
  }

  /** The newest of each row that is held: they are to be written now. */
  release(): readonly CopyRows[] {
    return [...this.#tables.values()].map((memory) => memory.release());
  }

  /** Whether all that these changes upsert is known once they are remembered, and they take nothing away. */
  holds({ cuts, deletes, upserts }: Changes): boolean {
    const isRoom = ({ table, rows }: TableRows): boolean => this.#of(table).hasRoomFor(rows.length);
    const isHeld = (each: TableRows): boolean =>
      each.rows.length === 0 || (isByOneKey(each) && isRoom(each));
    return (
      cuts.length === 0 && deletes.every(({ rows }) => rows.length === 0) && upserts.every(isHeld)
    );
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
    for (const { table, rows } of deletes.filter(isByOneKey))
      for (const [key = null] of rows) this.#of(table).forget(key);
    for (const { table, rows } of upserts.filter(isByOneKey)) {
      const memory = this.#of(table);
      const at = Object.keys(table.columns).indexOf(table.key[0] ?? '');
      for (const row of rows) memory.keep(row[at] ?? null, row, isHeld);
    }
  }

  #of(table: Table): TableMemory {
    let memory = this.#tables.get(table.name);
    if (memory === undefined)
      this.#tables.set(table.name, (memory = new TableMemory(table, this.#generationMax)));
    return memory;
  }
}

/** While no more rows are held than a generation has, none of them is forgotten. */
class TableMemory {
  readonly table: Table;
  readonly #generationMax: number;
  #young: PackedRows;
  #old: PackedRows;

  constructor(table: Table, generationMax = Math.floor(GENERATION_BYTES_MAX / bytesOfRow(table))) {
    this.table = table;
    this.#generationMax = generationMax;
    this.#young = new PackedRows(table);
    this.#old = new PackedRows(table);
  }

  find(key: Value): LoadedRow | undefined {
    let place = this.#young.find(key);
    if (place !== -1) return this.#young.loaded(place, key);
    place = this.#old.find(key);
    return place === -1 ? undefined : this.#old.loaded(place, key);
  }

  /** `key` is the row's. */
  keep(key: Value, row: Row, isHeld: boolean): void {
    // a held one stays held when it is young again
    this.#young.set(row, this.#take(key) || isHeld);
    if (this.#young.size < this.#generationMax) return;
    assert(
      this.#old.marked === 0,
      `rows of ${this.table.name} would be forgotten before they are written`,
    );
    this.#old = this.#young;
    this.#young = new PackedRows(this.table);
  }

  forget(key: Value): void {
    const place = this.#young.find(key);
    if (place !== -1) this.#young.remove(place);
    this.#take(key);
  }

  get held(): number {
    return this.#young.marked + this.#old.marked;
  }

  /** Whether so many rows more can be held. */
  hasRoomFor(rows: number): boolean {
    return this.held + rows <= this.#generationMax;
  }

  release(): CopyRows {
    const rows = new CopyRows(this.table);
    for (const each of [this.#old, this.#young]) {
      for (const row of each.markedRows()) rows.add(row);
      each.unmark();
    }
    return rows;
  }

  /** Out of the old ones, if it is there: whether it was held. */
  #take(key: Value): boolean {
    const place = this.#old.size === 0 ? -1 : this.#old.find(key);
    if (place === -1) return false;
    const wasHeld = this.#old.isMarked(place);
    this.#old.remove(place);
    return wasHeld;
  }
}

function isByOneKey({ table }: TableRows): boolean {
  return table.key.length === 1;
}
