/** The columns of packed rows: numbers and amounts are eight bytes each, side by side for each row; what is anything else is kept as it is. */
import type { ColumnType, Value } from '../../../projections/contract/projection.ts';

/** Rows that there is room for at first. */
export const CAPACITY_MIN = 512;

export function isPacked(type: ColumnType | undefined): boolean {
  return type === 'numeric' || isNumber(type);
}

function isNumber(type: ColumnType | undefined): boolean {
  return type === 'int4' || type === 'int8' || type === 'timestamptz';
}

/** Eight bytes for each packed value; those of a row are side by side. */
export class Cells {
  readonly per_row: number;
  numbers: Float64Array;
  /** the same memory */
  bigints: BigInt64Array;

  constructor(perRow: number) {
    this.per_row = perRow;
    this.numbers = new Float64Array(CAPACITY_MIN * perRow);
    this.bigints = new BigInt64Array(this.numbers.buffer);
  }

  /** For so many rows. */
  grow(capacity: number): void {
    // as bits: not each of them is a number
    const bigints = new BigInt64Array(capacity * this.per_row);
    bigints.set(this.bigints);
    this.bigints = bigints;
    this.numbers = new Float64Array(bigints.buffer);
  }
}

export interface Column {
  get(place: number): Value;
  set(place: number, value: Value): void;
}

export function columnOf(type: ColumnType, cells: Cells, at: number): Column {
  if (isNumber(type)) return new NumberColumn(cells, at);
  return type === 'numeric' ? new BigIntColumn(cells, at) : new AnyColumn();
}

/** Numbers; whatever else is there is beside. */
class NumberColumn implements Column {
  readonly #cells: Cells;
  readonly #at: number;
  readonly #others = new Map<number, Value>();

  constructor(cells: Cells, at: number) {
    this.#cells = cells;
    this.#at = at;
  }

  get(place: number): Value {
    const value = this.#cells.numbers[place * this.#cells.per_row + this.#at] ?? Number.NaN;
    return Number.isNaN(value) ? (this.#others.get(place) ?? null) : value;
  }

  set(place: number, value: Value): void {
    const isNumeric = typeof value === 'number' && !Number.isNaN(value);
    this.#cells.numbers[place * this.#cells.per_row + this.#at] = isNumeric ? value : Number.NaN;
    if (!isNumeric) this.#others.set(place, value);
  }
}

const ELSEWHERE = -(2n ** 63n);
const BEYOND = 2n ** 63n;

/** Integers of any size; those beyond 64 bits, and what else is there, are beside. */
class BigIntColumn implements Column {
  readonly #cells: Cells;
  readonly #at: number;
  readonly #others = new Map<number, Value>();

  constructor(cells: Cells, at: number) {
    this.#cells = cells;
    this.#at = at;
  }

  get(place: number): Value {
    const value = this.#cells.bigints[place * this.#cells.per_row + this.#at] ?? ELSEWHERE;
    return value === ELSEWHERE ? (this.#others.get(place) ?? null) : value;
  }

  set(place: number, value: Value): void {
    const fits = typeof value === 'bigint' && value > ELSEWHERE && value < BEYOND;
    this.#cells.bigints[place * this.#cells.per_row + this.#at] = fits ? value : ELSEWHERE;
    if (!fits) this.#others.set(place, value);
  }
}

class AnyColumn implements Column {
  readonly #values: Value[] = [];

  get(place: number): Value {
    return this.#values[place] ?? null;
  }

  set(place: number, value: Value): void {
    this.#values[place] = value;
  }
}
