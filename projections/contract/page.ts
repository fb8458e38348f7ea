/**
 * How the tables of a projection are asked: each page of each list is one index range over dense ordinals, newest first, and each question one statement, so that
 * counts and rows are of one moment. Only combined filters look at rows that they then leave out.
 */

/** A SELECT with its bound values. `name` is unique to `text`. */
export interface Query {
  readonly name: string;
  readonly text: string;
  readonly values: readonly (bigint | number | string | Buffer)[];
}

/** A part of a list, newest first: of the whole list, or of what lies below a place in it, which stays the same part however many rows come on top. */
export type Page = OffsetPage | CursorPage;

export interface OffsetPage {
  /** rows at most */
  readonly limit: number;
  /** rows to leave out, newest first; any size */
  readonly offset: bigint;
}

export interface CursorPage {
  /** rows at most */
  readonly limit: number;
  /** a place as the last column of each row of the same list tells it; any size */
  readonly below: bigint;
}

/** The largest height, offset or ordinal that a column can hold: nothing lies beyond. */
const INT8_MAX = (1n << 63n) - 1n;

export function int8(value: bigint): bigint {
  return value < INT8_MAX ? value : INT8_MAX;
}

/** The ordinals of a page are those below this SQL, in which $2 is the offset or the place; `count` is SQL of how many there are. */
export function topOf(page: Page, count: string): string {
  return 'below' in page ? '$2::bigint' : `(${count}) - $2::bigint`;
}

/** For lists that are looked through: what limits `ordinal` to the page, and what follows LIMIT. */
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

/** $1 and $2 */
export function valuesOf(page: Page): PageValues {
  return [page.limit, int8('below' in page ? page.below : page.offset)];
}

export type PageValues = readonly [limit: number, at: bigint];
