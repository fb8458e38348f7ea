/** The answers of the explorer in its OpenAPI document: headers, lists, errors. */
import { Type, type TObject, type TSchema } from 'typebox';
import { exampleOf, field, record, word } from '../http-api/answer.ts';
import { json, type Answer, type Header } from '../http-api/document.ts';
import { answering, header, HEADERS as SHARED, type Answers } from '../http-api/service.ts';
import { ACCOUNT, BLOCK_HASH, COUNT } from './values.ts';

const ON_ALL = { 'x-request-id': 'RequestId', 'access-control-allow-origin': 'AnyOrigin' };
const CODES = [
  'invalid_request',
  'not_found',
  'rate_limited',
  'upstream_error',
  'storage_error',
  'internal_error',
] as const;
const ERROR = record('Error', {
  code: word(CODES),
  message: Type.String({
    minLength: 1,
    description: 'What to do. It never repeats input of the request.',
  }),
});

const {
  on_cached: onCached,
  error,
  shared,
  ...kinds
} = answering(ON_ALL, ERROR, (code, message) => ({
  code: CODES.find((each) => each === code) ?? 'invalid_request',
  message,
}));
export const { uncached, cached } = kinds;

const ON_EXPORTS = { ...ON_ALL, 'x-clt-to-height': 'ToHeight', 'x-clt-to-hash': 'ToHash' };

/** Each operation may be answered so. */
export const ALWAYS: Answers = {
  400: 'InvalidRequest',
  413: 'TooLarge',
  429: 'RateLimited',
  500: 'InternalError',
};
export const UNREADABLE: Answers = { 503: 'StorageError' };
export const NOT_FOUND: Answers = { 404: 'NotFound' };

/** From the index. */
export function indexed(
  description: string,
  schema: TSchema,
  example = exampleOf(schema),
): Answers {
  return { ...cached(description, json(schema, { example })), ...UNREADABLE };
}

const PAGING = record('Paging', {
  limit: Type.Integer({ minimum: 1, maximum: 100, example: 1 }),
  offset: field(COUNT, 0, 'The offset of the request; 0 with a cursor.'),
  total: field(COUNT, 1, 'Offset plus the number of items in this page; not a count of all items.'),
  has_more: Type.Boolean({
    description: 'Whether this page is full; the next one may be empty.',
    example: true,
  }),
});

/** A page of a list of such items, whose schema has a name; the next page is a header. */
export function listed(description: string, item: TObject, example = exampleOf(item)): Answers {
  const items = Type.Array(item, { maxItems: 100, example: [example] });
  const list = record(`${Reflect.get(item, '$id')}List`, { items, paging: PAGING });
  const headers = { ...onCached, link: 'Link' };
  return {
    200: { description, headers, content: json(list) },
    304: 'NotModified',
    ...UNREADABLE,
  };
}

export function exported(description: string, content: Answer['content']): Answers {
  return {
    200: { description, headers: ON_EXPORTS, content },
    ...NOT_FOUND,
    ...UNREADABLE,
  };
}

/** With the node's answer to whose blocks they are. */
export function exportedBlocks(description: string, content: Answer['content']): Answers {
  const headers = {
    ...ON_EXPORTS,
    'x-clt-chain-id': 'ChainId',
    'x-clt-mint-authority': 'MintAuthority',
  };
  return {
    ...exported(description, content),
    200: { description, headers, content },
    502: 'UpstreamError',
  };
}

export const HEADERS: Readonly<Record<string, Header>> = {
  ...SHARED,
  AnyOrigin: header('Any origin may read the answer.', { const: '*' }, '*'),
  CacheControl: header(
    'How long caches may keep the answer. A year for what no block will change: a final block or transaction, a balance after a final block, final hours and days of a series, a page of reserve runs below a cursor. A second in shared caches for all other answers from the index.',
    { pattern: '^public, max-age=' },
    'public, max-age=31536000, immutable',
  ),
  Link: header(
    'The next page, as `<path?query>; rel="next"` with a cursor. Present exactly when the page is full.',
    { pattern: '^<[^<> ]+>; rel="next"$' },
    '</api/v1/blocks?limit=2&cursor=AAAAAAAABLAKqwxG>; rel="next"',
    false,
  ),
  ToHeight: header(
    'Height of the last block of the answer; absent while no block is indexed.',
    { pattern: '^[0-9]+$' },
    '1200',
    false,
  ),
  ToHash: header(
    'Hash of that block. A different hash at this height later means a reorganisation.',
    { pattern: '^0x[0-9a-f]{64}$' },
    BLOCK_HASH,
    false,
  ),
  ChainId: header('The chain that transactions are signed for.', { pattern: '^[0-9]+$' }, '7777'),
  MintAuthority: header(
    'The only account that may mint.',
    { pattern: '^0x[0-9a-f]{40}$' },
    ACCOUNT,
  ),
  Allow: header('Methods of this path.', { const: 'GET, HEAD' }, 'GET, HEAD'),
};

export const ERRORS: Readonly<Record<string, Answer>> = {
  ...shared,
  NotModified: { ...shared.NotModified, headers: { ...onCached, link: 'Link' } },
  InvalidRequest: error(
    'A parameter is missing, malformed, out of range, empty or repeated.',
    'invalid_request',
    'limit must be a decimal integer from 1 to 100',
  ),
  NotFound: error(
    'The resource or the path does not exist.',
    'not_found',
    'no such block is indexed',
  ),
  StorageError: error(
    'The index cannot be read now, or the query took too long.',
    'storage_error',
    'the index cannot be read at the moment: try again shortly',
  ),
  UpstreamError: error(
    'A server behind this one does not answer.',
    'upstream_error',
    'a server behind this one did not answer: try again shortly',
  ),
  NotReady: error(
    'The index cannot be read, or lags the node too far.',
    'storage_error',
    'index: 21 blocks behind the node, more than 20: see /ready of chain-ingester and projector',
  ),
};
