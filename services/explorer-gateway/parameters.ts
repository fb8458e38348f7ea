/** What callers may ask, parsed: a value, or a refusal that says what is expected and never repeats the input. */
import type { Page, TransactionFilter } from '../../projections/explorer/queries.ts';
import { parseAddress, parseHash } from '../../schemas/address.ts';
import type { Refusal } from '../runtime/errors.ts';

export type InvalidRequest = Refusal<'invalid_request'>;

/** Query parameters as `node:querystring` gives them: a repeated one is an array. */
export type Parameters = Readonly<Record<string, unknown>>;

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;
const CHARACTERS_MAX = 256;
const DECIMAL = /^[0-9]+$/;

function invalid(message: string): InvalidRequest {
  return { refused: 'invalid_request', message };
}

/** The known parameters that are given, each once and not empty; others are ignored. */
function pick<Name extends string>(parameters: Parameters, names: readonly Name[]): { readonly [Key in Name]?: string } | InvalidRequest {
  const picked: { [Key in Name]?: string } = {};
  for (const key of Object.keys(parameters)) {
    const name = names.find((known) => key === known || key.startsWith(`${known}[`));
    if (name === undefined) continue;
    const value = parameters[key];
    if (key !== name || typeof value !== 'string') return invalid(`parameter ${name} may be given only once`);
    if (value === '') return invalid(`parameter ${name} is empty: leave it out or give it a value`);
    if (value.length > CHARACTERS_MAX) return invalid(`parameter ${name} is longer than ${CHARACTERS_MAX} characters`);
    picked[name] = value;
  }
  return picked;
}

function parseDecimal(text: string): bigint | undefined {
  return DECIMAL.test(text) ? BigInt(text) : undefined;
}

function pageOf({
  limit = String(LIMIT_DEFAULT),
  offset = '0',
}: {
  readonly limit?: string;
  readonly offset?: string;
}): Page | InvalidRequest {
  const rows = parseDecimal(limit);
  if (rows === undefined || rows < 1n || rows > LIMIT_MAX) return invalid(`limit must be a decimal integer from 1 to ${LIMIT_MAX}`);
  const skipped = parseDecimal(offset);
  if (skipped === undefined) return invalid('offset must be a decimal integer, 0 or more');
  return { limit: Number(rows), offset: skipped };
}

/** limit and offset. */
export function parsePage(parameters: Parameters): Page | InvalidRequest {
  const given = pick(parameters, ['limit', 'offset']);
  return 'refused' in given ? given : pageOf(given);
}

export interface TransactionsRequest {
  readonly page: Page;
  readonly filter: TransactionFilter;
  /** the only status ever stored is `confirmed`; every other matches nothing */
  readonly status: string | undefined;
}

/** limit, offset, address, block, type, status. */
export function parseTransactionsRequest(parameters: Parameters): TransactionsRequest | InvalidRequest {
  const given = pick(parameters, ['limit', 'offset', 'address', 'block', 'type', 'status']);
  if ('refused' in given) return given;
  const page = pageOf(given);
  if ('refused' in page) return page;
  const address = given.address === undefined ? undefined : parseAddress(given.address);
  if (given.address !== undefined && address === undefined) return invalid('address must be 40 hex digits, with or without 0x');
  const block = given.block === undefined ? undefined : parseDecimal(given.block);
  if (given.block !== undefined && block === undefined) return invalid('block must be a height, a decimal integer');
  const { type, status } = given;
  // Postgres takes no text with it, so no type contains it
  if (type?.includes('\0') === true) return invalid('type must not contain the character NUL');
  return { page, filter: { block, address, type }, status };
}

export type BlockId = { readonly hash: Buffer } | { readonly height: bigint };

/** 64 hex digits are a hash, decimals too; other decimals are a height. */
export function parseBlockId(given: unknown): BlockId | InvalidRequest {
  const id = typeof given === 'string' ? given : '';
  const hash = parseHash(id);
  if (hash !== undefined) return { hash };
  const height = id.length <= CHARACTERS_MAX ? parseDecimal(id) : undefined;
  return height === undefined
    ? invalid('a block is named by its height, a decimal integer, or its hash, 64 hex digits with or without 0x')
    : { height };
}

export function parseTransactionHash(given: unknown): { readonly hash: Buffer } | InvalidRequest {
  const hash = typeof given === 'string' ? parseHash(given) : undefined;
  return hash === undefined ? invalid('a transaction is named by its hash, 64 hex digits with or without 0x') : { hash };
}
