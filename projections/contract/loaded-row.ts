/** Typed columns of a loaded row. Another type means that fold and SQL disagree: a bug. */
import type { LoadedRow } from './projection.ts';

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

function mismatch(column: string, wanted: string): Error {
  return new Error(`the loaded column ${column} is not ${wanted}`);
}
