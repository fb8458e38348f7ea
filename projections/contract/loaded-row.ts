/** Records as rows, loaded rows as records. Another type than the column's is a bug. */
import type { ColumnType, LoadedRow, Row, Table, Value } from './projection.ts';

const WHOLE = /^-?[0-9]+$/;

export function bytesIn(row: LoadedRow, column: string): Buffer {
  const value = row[column];
  if (!Buffer.isBuffer(value)) throw mismatch(column, 'bytea');
  return value;
}

export function textIn(row: LoadedRow, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw mismatch(column, 'text');
  return value;
}

/** A whole number of any size: a numeric, or a sum. */
export function amountIn(row: LoadedRow, column: string): bigint {
  const value = row[column];
  if (typeof value === 'bigint') return value;
  if (typeof value !== 'string' || !WHOLE.test(value)) throw mismatch(column, 'a whole number');
  return BigInt(value);
}

/** An int8 or int4 below 2^53. */
export function countIn(row: LoadedRow, column: string): number {
  const value = row[column];
  const count =
    typeof value === 'number' || (typeof value === 'string' && value !== '')
      ? Number(value)
      : Number.NaN;
  if (!Number.isSafeInteger(count)) throw mismatch(column, 'a whole number below 2^53');
  return count;
}

/** The record's values in the order of the table's columns; its other fields are left out. */
export function rowOf<Columns extends Table['columns']>(
  table: { readonly columns: Columns },
  record: Readonly<Record<keyof Columns, Value>>,
): Row {
  return Object.keys(table.columns).map((column): Value => Reflect.get(record, column));
}

/** The inverse of `rowOf`, for a row as Postgres returns it: int4 and int8 become numbers. */
export function recordIn<Fields>(
  { columns }: { readonly columns: Readonly<Record<keyof Fields, ColumnType>> },
  row: LoadedRow,
): Fields {
  const fields = Object.entries<ColumnType>(columns);
  return Object.fromEntries(
    fields.map(([name, type]): unknown[] => [name, valueIn(row, name, type)]),
  );
}

function valueIn(row: LoadedRow, column: string, type: ColumnType): Value {
  if (row[column] === null) return null;
  switch (type) {
    case 'bytea':
      return bytesIn(row, column);
    case 'numeric':
      return amountIn(row, column);
    case 'int4':
    case 'int8':
      return countIn(row, column);
    case 'bool':
    case 'text':
    case 'timestamptz':
      return textIn(row, column);
  }
}

function mismatch(column: string, wanted: string): Error {
  return new Error(`the loaded column ${column} is not ${wanted}`);
}
