/**
 * Rows of one table by their key, packed into one piece of memory: hundreds of thousands of rows that are kept as objects cost the garbage collector more time than everything
 * else that is done with them.
 */
import { randomBytes } from 'node:crypto';
import { BytesIndex } from '../../../projections/bytes-index.ts';
import type { LoadedRow, Row, Table, Value } from '../../../projections/contract/projection.ts';
import { CAPACITY_MIN, Cells, columnOf, isPacked, type Column } from './packed-columns.ts';

const NOT_THERE = 0;
const THERE = 1;
/** and marked */
const MARKED = 2;

export class PackedRows {
  readonly table: Table;
  readonly #key: Keys;
  /** where in a row the key is */
  readonly #keyAt: number;
  /** all but the key's, in the order of the rows */
  readonly #columns: readonly (Column | undefined)[];
  readonly #names: readonly string[];
  readonly #cells: Cells;
  #states = new Uint8Array(CAPACITY_MIN);
  #marked = 0;

  /** The table's key is one column. */
  constructor(table: Table) {
    this.table = table;
    this.#names = Object.keys(table.columns);
    this.#keyAt = this.#names.indexOf(table.key[0] ?? '');
    this.#key = new Keys();
    const types = Object.values(table.columns);
    const packed = [...types.keys()].filter((at) => at !== this.#keyAt && isPacked(types[at]));
    this.#cells = new Cells(packed.length);
    this.#columns = types.map((type, at) =>
      at === this.#keyAt ? undefined : columnOf(type, this.#cells, packed.indexOf(at)),
    );
  }

  /** How many there ever were. */
  get size(): number {
    return this.#key.size;
  }

  /** How many are marked. */
  get marked(): number {
    return this.#marked;
  }

  /** Its place; -1 when there is no such row. */
  find(key: Value): number {
    const place = this.#key.find(key);
    return place === -1 || this.#states[place] === NOT_THERE ? -1 : place;
  }

  isMarked(place: number): boolean {
    return this.#states[place] === MARKED;
  }

  /** Adds it, or puts it in the place of the one with the same key, whose mark stays. */
  set(row: Row, isMarked: boolean): void {
    const key = row[this.#keyAt] ?? null;
    let place = this.#key.find(key);
    if (place === -1) place = this.#key.add(key);
    if (place === this.#states.length) this.#grow();
    if (isMarked && this.#states[place] !== MARKED) {
      this.#states[place] = MARKED;
      this.#marked++;
    } else if (this.#states[place] === NOT_THERE) this.#states[place] = THERE;
    const columns = this.#columns;
    for (let at = 0; at < columns.length; at++) columns[at]?.set(place, row[at] ?? null);
  }

  remove(place: number): void {
    if (this.#states[place] === MARKED) this.#marked--;
    this.#states[place] = NOT_THERE;
  }

  /** `key` is that of the place. */
  loaded(place: number, key: Value): LoadedRow {
    const names = this.#names;
    const columns = this.#columns;
    const loaded: Record<string, Value> = {};
    for (let at = 0; at < names.length; at++) {
      const column = columns[at];
      loaded[names[at] ?? ''] = column === undefined ? key : column.get(place);
    }
    return loaded;
  }

  /** Those that are marked, in the order in which they came. */
  *markedRows(): Generator<Row, undefined> {
    const { size } = this;
    for (let place = 0; place < size; place++) {
      if (!this.isMarked(place)) continue;
      const key = this.#key.at(place);
      yield this.#columns.map((column) => (column === undefined ? key : column.get(place)));
    }
  }

  unmark(): void {
    const states = this.#states;
    for (let place = 0; place < states.length; place++)
      if (states[place] === MARKED) states[place] = THERE;
    this.#marked = 0;
  }

  #grow(): void {
    const capacity = this.#states.length * 2;
    const states = new Uint8Array(capacity);
    states.set(this.#states);
    this.#states = states;
    this.#cells.grow(capacity);
  }
}

/** Keys of any type, numbered as they come. 1 and 1n are the same. */
class Keys {
  readonly #bytes = new BytesIndex(randomBytes(4).readInt32LE());
  /** by place, of those that are no bytes */
  readonly #others = new Map<number, Value>();

  get size(): number {
    return this.#bytes.size;
  }

  find(key: Value): number {
    return this.#bytes.find(bytesOf(key));
  }

  add(key: Value): number {
    const place = this.#bytes.add(bytesOf(key));
    if (!(key instanceof Uint8Array)) this.#others.set(place, key);
    return place;
  }

  at(place: number): Value {
    return this.#others.get(place) ?? this.#bytes.at(place);
  }
}

/** Within one column values are of one type. */
function bytesOf(key: Value): Uint8Array {
  return key instanceof Uint8Array ? key : Buffer.from(String(key));
}

const PACKED_BYTES = 8;
/** of what is an object */
const OBJECT_BYTES = 64;
/** with its places in the index */
const KEY_BYTES = 48;

/** About how much memory a row takes. */
export function bytesOfRow({ columns, key }: Table): number {
  const others = Object.entries(columns).filter(([name]) => !key.includes(name));
  return others.reduce(
    (bytes, [, type]) => bytes + (isPacked(type) ? PACKED_BYTES : OBJECT_BYTES),
    KEY_BYTES,
  );
}
