/**
 * Parses parameters: a value, or a refusal that says what is expected and never repeats the input.
 */
import type { Page } from '../../../projections/contract/page.ts';
import type { ActivityFilter } from '../../../projections/explorer/queries/accounts.ts';
import type {
  TransactionFilter,
  ScanBy,
} from '../../../projections/explorer/queries/transactions.ts';
import { BUCKETS, type Bucket, type Range } from '../../../projections/series/queries.ts';
import { parseAddress, parseHash, toHex } from '../../../schemas/address.ts';
import {
  BUCKETS_DEFAULT,
  BUCKETS_MAX,
  LIMIT_DEFAULT,
  LIMIT_MAX,
  PARAMETER_CHARACTERS_MAX,
  POINTS_DEFAULT,
  POINTS_MAX,
} from '../../../schemas/explorer-api/bounds.ts';
import type { Refusal } from '../../runtime/process/errors.ts';
import { decodeCursor } from './responses.ts';

export type InvalidRequest = Refusal<'invalid_request'>;

/** Query parameters as `node:querystring` gives them: a repeated one is an array. */
export type Parameters = Readonly<Record<string, unknown>>;

const DECIMAL = /^[0-9]+$/;

export function invalid(message: string): InvalidRequest {
  return { refused: 'invalid_request', message };
}

/** The given parameters of these names, each once and not empty; others are ignored. */
function pick<Name extends string>(
  parameters: Parameters,
  names: readonly Name[],
): { readonly [Key in Name]?: string } | InvalidRequest {
  const picked: { [Key in Name]?: string } = {};
  for (const key of Object.keys(parameters)) {
    const name = names.find((known) => key === known || key.startsWith(`${known}[`));
    if (name === undefined) continue;
    const value = parameters[key];
    if (key !== name || typeof value !== 'string')
      return invalid(`parameter ${name} may be given only once`);
    if (value === '') return invalid(`parameter ${name} is empty: leave it out or give it a value`);
    if (value.length > PARAMETER_CHARACTERS_MAX)
      return invalid(`parameter ${name} is longer than ${PARAMETER_CHARACTERS_MAX} characters`);
    picked[name] = value;
  }
  return picked;
}

function parseDecimal(text: string): bigint | undefined {
  return DECIMAL.test(text) ? BigInt(text) : undefined;
}

/** A decimal integer, of a length that cannot exhaust anything. */
export function parseHeight(text: string): bigint | undefined {
  return text.length <= PARAMETER_CHARACTERS_MAX ? parseDecimal(text) : undefined;
}

interface PageParameters {
  readonly limit?: string;
  readonly offset?: string;
  readonly cursor?: string;
}

const PAGE = ['limit', 'offset', 'cursor'] as const;

/** `below`: what the cursor stands for; undefined: nothing in this list. */
function pageOf(
  { limit: limitText = String(LIMIT_DEFAULT), offset, cursor }: PageParameters,
  below: bigint | undefined,
): Page | InvalidRequest {
  const rows = parseDecimal(limitText);
  if (rows === undefined || rows < 1n || rows > LIMIT_MAX)
    return invalid(`limit must be a decimal integer from 1 to ${LIMIT_MAX}`);
  const limit = Number(rows);
  if (cursor === undefined) {
    const skipped = parseDecimal(offset ?? '0');
    return skipped === undefined
      ? invalid('offset must be a decimal integer, 0 or more')
      : { limit, offset: skipped };
  }
  if (offset !== undefined)
    return invalid('offset and cursor must not be combined: give one of them');
  return below === undefined
    ? invalid(
        'cursor must be one that came in a Link header of the same list with the same filters',
      )
    : { limit, below };
}

/** limit, and offset or a cursor of `list`. */
export function parsePage(parameters: Parameters, list: string): Page | InvalidRequest {
  const given = pick(parameters, PAGE);
  return 'refused' in given ? given : pageOf(given, decodeCursor(list, given.cursor));
}

export interface TransactionsRequest {
  readonly page: Page;
  readonly filter: TransactionFilter;
  /** the ordinal where the cursor continues; undefined without one */
  readonly by: ScanBy | undefined;
  /** the only status ever stored is `confirmed`; every other matches nothing */
  readonly status: string | undefined;
  /** the filters as given */
  readonly filters: Readonly<Record<string, string>>;
}

/** limit, offset or cursor, address, block, type, status. */
export function parseTransactionsRequest(
  parameters: Parameters,
): TransactionsRequest | InvalidRequest {
  const given = pick(parameters, [...PAGE, 'address', 'block', 'type', 'status']);
  if ('refused' in given) return given;
  const { limit: _limit, offset: _offset, cursor, ...filters } = given;
  const filter = filterOf(filters);
  if ('refused' in filter) return filter;
  const by =
    cursor === undefined
      ? undefined
      : SCANS.find((each) => decodeCursor(transactionsList(filter, each), cursor) !== undefined);
  const page = pageOf(given, by && decodeCursor(transactionsList(filter, by), cursor));
  return 'refused' in page ? page : { page, filter, by, status: filters.status, filters };
}

/** address, block and type as a filter. */
function filterOf(given: {
  readonly address?: string;
  readonly block?: string;
  readonly type?: string;
}): TransactionFilter | InvalidRequest {
  const address = given.address === undefined ? undefined : parseAddress(given.address);
  if (given.address !== undefined && address === undefined)
    return invalid('address must be 40 hex digits, with or without 0x');
  const block = given.block === undefined ? undefined : parseDecimal(given.block);
  if (given.block !== undefined && block === undefined)
    return invalid('block must be a height, a decimal integer');
  const { type } = given;
  // Postgres stores no text with it
  if (type?.includes('\0') === true) return invalid('type must not contain the character NUL');
  return { block, address, type };
}

const SCANS: readonly ScanBy[] = ['address', 'type'];

/** An address and a type have an ordinal each, but none together: rows of one are scanned. */
export function needsScan({ block, address, type }: TransactionFilter): boolean {
  return block === undefined && address !== undefined && type !== undefined;
}

/** The list of these transactions for `encodeCursor`; a scan has its own ordinals. */
export function transactionsList(filter: TransactionFilter, by: ScanBy): string {
  const { block, address, type } = filter;
  return JSON.stringify([
    'transactions',
    String(block),
    address === undefined ? null : toHex(address),
    type,
    needsScan(filter) ? by : null,
  ]);
}

export interface ActivityRequest {
  readonly page: Page;
  readonly filter: ActivityFilter;
  /** the filters as given */
  readonly filters: Readonly<Record<string, string>>;
  /** for `encodeCursor` */
  readonly list: string;
}

/** limit, offset or cursor, kind, direction; `address`: `0x..`. */
export function parseActivityRequest(
  parameters: Parameters,
  address: string,
): ActivityRequest | InvalidRequest {
  const given = pick(parameters, [...PAGE, 'kind', 'direction']);
  if ('refused' in given) return given;
  const { limit: _limit, offset: _offset, cursor, ...filters } = given;
  const { kind, direction } = filters;
  // Postgres stores no text with it
  if (kind?.includes('\0') === true) return invalid('kind must not contain the character NUL');
  if (direction !== undefined && direction !== 'credit' && direction !== 'debit')
    return invalid('direction must be credit or debit');
  const list =
    kind === undefined && direction === undefined
      ? `activity ${address}`
      : JSON.stringify(['activity', address, kind, direction]);
  const page = pageOf(given, decodeCursor(list, cursor));
  return 'refused' in page ? page : { page, filter: { kind, direction }, filters, list };
}

/** points: how many balances of a history at most. */
export function parsePoints(parameters: Parameters): { readonly points: number } | InvalidRequest {
  const given = pick(parameters, ['points']);
  if ('refused' in given) return given;
  const points = parseDecimal(given.points ?? String(POINTS_DEFAULT));
  return points === undefined || points < 2n || points > POINTS_MAX
    ? invalid(`points must be a decimal integer from 2 to ${POINTS_MAX}`)
    : { points: Number(points) };
}

export function parseRunId(given: unknown): { readonly id: string } | InvalidRequest {
  return typeof given === 'string' &&
    given.length <= PARAMETER_CHARACTERS_MAX &&
    !given.includes('\0')
    ? { id: given }
    : invalid(`a reserve run is named by its id, at most ${PARAMETER_CHARACTERS_MAX} characters`);
}

/** amounts: `string` for amounts as JSON text; left out, they are JSON numbers. */
export function parseAmounts(
  parameters: Parameters,
): { readonly are_strings: boolean } | InvalidRequest {
  const given = pick(parameters, ['amounts']);
  if ('refused' in given) return given;
  return given.amounts === undefined || given.amounts === 'string'
    ? { are_strings: given.amounts !== undefined }
    : invalid('amounts must be string: leave it out for JSON numbers');
}

const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?Z)?$/;
/** The last time that a Date can hold, Unix ms. */
const TIME_MAX = 8_640_000_000_000_000;

/** by, from, to, limit: the buckets that begin at `from` or later and before `to`. */
export function parseSeriesRange(parameters: Parameters): Range | InvalidRequest {
  const given = pick(parameters, ['by', 'from', 'to', 'limit']);
  if ('refused' in given) return given;
  const by = given.by ?? 'hour';
  if (!isBucket(by)) return invalid(`by must be one of: ${Object.keys(BUCKETS).join(', ')}`);
  const from = parseTime(given.from, 0);
  const to = parseTime(given.to, TIME_MAX);
  if (from === undefined || to === undefined)
    return invalid(
      `${from === undefined ? 'from' : 'to'} must be a time in UTC, such as 2026-03-01 or 2026-03-01T12:00:00Z`,
    );
  if (from >= to) return invalid('from must be before to');
  const limit = parseDecimal(given.limit ?? String(BUCKETS_DEFAULT));
  if (limit === undefined || limit < 1n || limit > BUCKETS_MAX)
    return invalid(`limit must be a decimal integer from 1 to ${BUCKETS_MAX}`);
  const { ms } = BUCKETS[by];
  return { by, from: Math.ceil(from / ms), to: Math.ceil(to / ms), limit: Number(limit) };
}

function isBucket(text: string): text is Bucket {
  return Object.hasOwn(BUCKETS, text);
}

/** Unix ms; undefined: malformed, or not a day of the calendar. */
function parseTime(text: string | undefined, otherwise: number): number | undefined {
  if (text === undefined) return otherwise;
  const at = TIME.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** q: any text that is not empty; one longer than all that can be found finds nothing. */
export function parseSearch(parameters: Parameters): { readonly q: string } | InvalidRequest {
  const { q } = parameters;
  if (typeof q === 'string' && q.length > PARAMETER_CHARACTERS_MAX) return { q: '' };
  const given = pick(parameters, ['q']);
  if ('refused' in given) return given;
  return given.q === undefined
    ? invalid('parameter q is missing: give a height, a hash or an address')
    : { q: given.q };
}

/** 64 hex digits are a hash, even if all are decimals; other decimals are a height. */
export function parseBlockId(
  given: unknown,
): { readonly hash: Buffer } | { readonly height: bigint } | InvalidRequest {
  const id = typeof given === 'string' ? given : '';
  const hash = parseHash(id);
  if (hash !== undefined) return { hash };
  const height = parseHeight(id);
  return height === undefined
    ? invalid(
        'a block is named by its height, a decimal integer, or its hash, 64 hex digits with or without 0x',
      )
    : { height };
}

export function parseTransactionHash(given: unknown): { readonly hash: Buffer } | InvalidRequest {
  const hash = typeof given === 'string' ? parseHash(given) : undefined;
  return hash === undefined
    ? invalid('a transaction is named by its hash, 64 hex digits with or without 0x')
    : { hash };
}

export function parseAccountName(given: unknown): { readonly address: Buffer } | InvalidRequest {
  const address = typeof given === 'string' ? parseAddress(given) : undefined;
  return address === undefined
    ? invalid('an account is named by its address, 40 hex digits with or without 0x')
    : { address };
}

/** height: the block after which the balance is asked. */
export function parseBalanceHeight(
  parameters: Parameters,
): { readonly height: bigint } | InvalidRequest {
  const given = pick(parameters, ['height']);
  if ('refused' in given) return given;
  if (given.height === undefined)
    return invalid('parameter height is missing: give the height of a block');
  const height = parseDecimal(given.height);
  return height === undefined
    ? invalid('height must be the height of a block, a decimal integer')
    : { height };
}

/** As given, not yet compared with the indexed heights. */
export interface GivenHeights {
  readonly from: bigint | undefined;
  readonly to: bigint | undefined;
}

const HEIGHTS = ['from_height', 'to_height'] as const;

/** address, block, type, status, from_height, to_height. */
export function parseTransactionsExport(
  parameters: Parameters,
):
  | (TransactionFilter & { readonly heights: GivenHeights; readonly status: string | undefined })
  | InvalidRequest {
  const given = pick(parameters, ['address', 'block', 'type', 'status', ...HEIGHTS]);
  if ('refused' in given) return given;
  const filter = filterOf(given);
  if ('refused' in filter) return filter;
  const heights = parseHeights(given);
  return 'refused' in heights ? heights : { heights, ...filter, status: given.status };
}

/** address, from_height, to_height. */
export function parseActivityExport(
  parameters: Parameters,
): { readonly heights: GivenHeights; readonly address: Buffer | undefined } | InvalidRequest {
  const given = pick(parameters, ['address', ...HEIGHTS]);
  if ('refused' in given) return given;
  const filter = filterOf(given);
  if ('refused' in filter) return filter;
  const heights = parseHeights(given);
  return 'refused' in heights ? heights : { heights, address: filter.address };
}

function parseHeights(given: {
  readonly from_height?: string;
  readonly to_height?: string;
}): GivenHeights | InvalidRequest {
  for (const name of HEIGHTS) {
    const text = given[name];
    if (text !== undefined && parseDecimal(text) === undefined)
      return invalid(`${name} must be the height of a block, a decimal integer`);
  }
  const from = parseDecimal(given.from_height ?? '');
  const to = parseDecimal(given.to_height ?? '');
  return from !== undefined && to !== undefined && from > to
    ? invalid('from_height must not be above to_height')
    : { from, to };
}
