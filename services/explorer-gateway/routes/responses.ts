/**
 * Responses made from rows: one item, or a page of a list with a link to the next page. The link
 * holds a cursor, an opaque text that is good for its list only. A cursor stands for an ordinal
 * that its row keeps: new rows come above it, and a reorganisation changes only what it replaces.
 */
import { crc32 } from 'node:zlib';
import type { Page, Query } from '../../../projections/contract/page.ts';
import { CURSOR_PATTERN } from '../../../schemas/explorer-api/parameters.ts';
import { AT_HEAD } from '../../runtime/http/answer.ts';
import type { HttpResponse } from '../../runtime/http/response.ts';
import type { Refusal } from '../../runtime/process/errors.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import { pageBody } from './json.ts';

/** No block will ever change the answer. */
const FINAL = 'public, max-age=31536000, immutable';

const CURSOR = new RegExp(CURSOR_PATTERN);
const ORDINAL_BYTES = 8;
/** A buffer for each cursor would take longer than the rest of the link. */
const cursorBytes = Buffer.alloc(ORDINAL_BYTES + 4);
const ordinalBytes = cursorBytes.subarray(0, ORDINAL_BYTES);

/** A response from the index that caches may keep. */
export function indexResponse(
  body: string,
  isFinal = false,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  const control = isFinal ? FINAL : AT_HEAD;
  return { status: 200, body, headers: { 'cache-control': control, ...headers }, is_shared: true };
}

/**
 * `list` is any text that identifies the list, its filters and its order;
 * `ordinal` is at most 2^63 - 1.
 */
export function encodeCursor(list: string, ordinal: bigint): string {
  cursorBytes.writeBigUInt64BE(ordinal);
  cursorBytes.writeUInt32BE(checksum(list, ordinalBytes), ORDINAL_BYTES);
  return cursorBytes.toString('base64url');
}

/** The ordinal of a cursor of this list; undefined for any other text. */
export function decodeCursor(list: string, cursor: string | undefined): bigint | undefined {
  if (cursor === undefined || !CURSOR.test(cursor)) return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  return bytes.readUInt32BE(ORDINAL_BYTES) === checksum(list, bytes.subarray(0, ORDINAL_BYTES))
    ? bytes.readBigUInt64BE()
    : undefined;
}

/** Not against forgery, which gains nothing: against a cursor of another list. */
function checksum(list: string, ordinal: Buffer): number {
  return crc32(list, crc32(ordinal));
}

/** The only row of the query; not_found, naming the `subject`, when there is none. */
export async function itemResponse(
  reader: Reader,
  query: Query,
  toJson: (cells: Cells) => string,
  subject: string,
  isFinal: (cells: Cells) => boolean = () => false,
): Promise<HttpResponse | Refusal<'not_found'>> {
  const [row] = await reader.rows(query);
  return row === undefined
    ? { refused: 'not_found', message: `no such ${subject} is indexed` }
    : indexResponse(toJson(row), isFinal(row));
}

/** Whether a row is of a final block; the last column of the row says so. */
export function isFinalRow(cells: Cells): boolean {
  return cells.at(-1) === 't';
}

/** One page of a list. */
export interface ListPage {
  /** of the request, without its query; it holds only characters that are safe in a header */
  readonly path: string;
  /** the parameters that filter, as given */
  readonly filters?: Readonly<Record<string, string>>;
  readonly page: Page;
  /** as for `encodeCursor` */
  readonly list: string;
}

/** The last column of each row is its ordinal. A full page links to the page below its last row. */
export function listResponse(
  listPage: ListPage,
  rows: readonly Cells[],
  toJson: (cells: Cells) => string,
  isFinal = false,
): HttpResponse {
  const { page } = listPage;
  const ordinal = rows.length === page.limit ? rows.at(-1)?.at(-1) : undefined;
  const body = pageBody(rows, toJson, page);
  if (ordinal === undefined || ordinal === null) return indexResponse(body, isFinal);
  return indexResponse(body, isFinal, { link: linkBelow(listPage, BigInt(ordinal)) });
}

function linkBelow({ path, filters = {}, page, list }: ListPage, ordinal: bigint): string {
  const given = Object.entries(filters).map(([name, value]) => `${name}=${formEncoded(value)}&`);
  const query = `${given.join('')}limit=${page.limit}&cursor=${encodeCursor(list, ordinal)}`;
  return `<${path}?${query}>; rel="next"`;
}

/** Most values need no encoding, and encoding one costs more than the rest of the link. */
function formEncoded(value: string): string {
  return /^[\w.-]*$/.test(value) ? value : new URLSearchParams([['', value]]).toString().slice(1);
}
