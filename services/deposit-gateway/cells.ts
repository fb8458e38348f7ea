/** Columns as Postgres writes them, read. */

type Cell = string | null | undefined;

/** Of a bytea, `\x..`. */
export function bytesOf(cell: Cell): Buffer {
  return Buffer.from(digitsOf(cell), 'hex');
}

/** The hex digits of a bytea. */
export function digitsOf(cell: Cell): string {
  return (cell ?? '').slice('\\x'.length);
}

/** Unix milliseconds of a timestamptz in UTC, `2026-11-21 07:28:00.5+00`. */
export function millisecondsOf(cell: Cell): number {
  return Date.parse((cell ?? '').replace(' ', 'T').replace(/\+00$/, 'Z'));
}
