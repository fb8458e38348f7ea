/**
 * Pages of lists. A page is one index range over dense ordinals, newest first, and each query is
 * one statement, so that counts and rows are of one moment. Only combined filters read rows that
 * they then drop.
 */

/** A SELECT with its bound values. `name` is unique to `text`. */
export interface Query {
  readonly name: string;
  readonly text: string;
  readonly values: readonly (bigint | number | string | Buffer)[];
}

/** A part of a list, newest first: by offset, or below a cursor, which new rows do not move. */
export type Page = {
  /** rows at most */
  readonly limit: number;
} & (
  | {
      /** rows to skip, newest first; any size */
      readonly offset: bigint;
    }
  | {
      /** a cursor: the last column of each row of the same list; any size */
      readonly below: bigint;
    }
);

/** The largest height, offset or ordinal of a column. */
const INT8_MAX = (1n << 63n) - 1n;

export function int8(value: bigint): bigint {
  return value < INT8_MAX ? value : INT8_MAX;
}

/** SQL above all ordinals of a page; $2: offset or cursor, `count`: SQL of the list's size. */
export function topOf(page: Page, count: string): string {
  return 'below' in page ? '$2::bigint' : `(${count}) - $2::bigint`;
}

/** For filtered lists: the condition that limits `ordinal` to the page, and what follows LIMIT. */
export function lookedThrough(
  page: Page,
  ordinal: string,
): { readonly within: string; readonly skip: string } {
  return 'below' in page
    ? { within: `AND ${ordinal} < $2::bigint`, skip: '' }
    : { within: '', skip: 'OFFSET $2::bigint' };
}

export function named(name: string, page: Page): string {
  return 'below' in page ? `${name}_below` : name;
}

/** The values of $1 and $2. */
export function valuesOf(page: Page): readonly [limit: number, at: bigint] {
  return [page.limit, int8('below' in page ? page.below : page.offset)];
}
