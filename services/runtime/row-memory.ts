/** The rows that this process wrote last, so that the next batch need not ask for them: they are good as long as the checkpoint stands where it left it. */
import type { Changes, KeyedLoad, LoadedRow, Projection, Row, Table, TableRows, Value } from '../../projections/projection.ts';
import { TOPICS } from '../../schemas/topics.ts';

/** There are two generations at most: what was not needed for so many rows is forgotten. */
const GENERATION_ROWS_MAX = 100_000;

type Generation = Map<string, Row>;

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
  #young: Generation = new Map();
  #old: Generation = new Map();

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
    for (const key of keys) {
      const name = nameOf(table, key);
      const row = this.#young.get(name) ?? this.#old.get(name);
      if (row === undefined) missing.push(key);
      else rows.push(loadedRow(table, row));
    }
    return { rows, missing };
  }

  /** The tables are those of `position` from now on, by these changes alone. */
  remember({ cuts, deletes, upserts }: Changes, position: bigint): void {
    // what a cut took cannot be told from here
    if (cuts.length > 0) this.clear();
    this.#position = position;
    for (const each of byOneKey(deletes)) for (const [key = null] of each.rows) this.#forget(nameOf(each.table, key));
    for (const each of byOneKey(upserts)) {
      const at = Object.keys(each.table.columns).indexOf(each.table.key[0] ?? '');
      for (const row of each.rows) this.#keep(nameOf(each.table, row[at] ?? null), row);
    }
  }

  /** Whether all that these changes touch, of the tables that are remembered, is known once they are. */
  holds({ cuts, deletes, upserts }: Changes): boolean {
    const touched = upserts.reduce((sum, { rows }) => sum + rows.length, 0);
    return cuts.length === 0 && deletes.every(({ rows }) => rows.length === 0) && touched <= this.#generationMax;
  }

  /** How often everything was forgotten. */
  get times_cleared(): number {
    return this.#cleared;
  }

  /** Nothing that is remembered holds. */
  clear(): void {
    this.#cleared++;
    this.#position = undefined;
    this.#young.clear();
    this.#old.clear();
  }

  #keep(name: string, row: Row): void {
    this.#old.delete(name);
    this.#young.set(name, row);
    if (this.#young.size < this.#generationMax) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  #forget(name: string): void {
    this.#young.delete(name);
    this.#old.delete(name);
  }
}

function byOneKey(changes: readonly TableRows[]): readonly TableRows[] {
  return changes.filter(({ table }) => table.key.length === 1);
}

function nameOf(table: Table, key: Value): string {
  return `${table.name} ${Buffer.isBuffer(key) ? key.toString('latin1') : String(key)}`;
}

function loadedRow(table: Table, row: Row): LoadedRow {
  const loaded: Record<string, Value> = {};
  let at = 0;
  for (const column in table.columns) loaded[column] = row[at++] ?? null;
  return loaded;
}
