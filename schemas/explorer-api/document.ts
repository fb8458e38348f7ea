/** The explorer's OpenAPI document, as `/openapi.json` serves it. */
import { openApi } from '../http-api/document.ts';
import { ERRORS, HEADERS } from './answers.ts';
import * as operations from './operations.ts';

const DESCRIPTION = [
  'Read-only access to blocks, transactions, accounts, validators, search, network figures and the reserve position of the CLT chain. No authentication; any web page may read it.',
  '**Numbers** are exact whatever their size. Amounts are in CLT base units (1 USD is 1,000,000) and may exceed 2^53, so read them with arbitrary precision, or ask for them as text with `amounts=string`, also in NDJSON. Addresses and hashes are 0x and lower-case hex; as parameters they may come in any case, with or without 0x. Times are UTC.',
  '**Lists** are newest first. `limit` and `offset` cut a page from the top; since new blocks push everything down, a walk by offset can meet an item twice. A walk by the `Link` header does not: its `cursor` names the place where the page ended, so new blocks change nothing, and a reorganisation replaces only what it replaced. A cursor stays good for as long as you like. `paging` tells no count of all items: `total` is the offset plus the items of the page, and `has_more` whether the page is full.',
  '**Caches**: every answer from the index has an `ETag`, and `If-None-Match` is answered 304 while its body is the same. `Cache-Control` says what is final, and may be kept for a year, and what the next block may change. The answers of `/status` and `/reserve`, exports and errors are not for caches. All others are sent as brotli, zstd or gzip to clients that accept it.',
  '**Errors** are `{code, message}`: 400 invalid_request, 404 not_found, 405 and 413 invalid_request, 429 rate_limited with Retry-After, 502 upstream_error, 503 storage_error, 500 internal_error. Unknown parameters are ignored; known ones may be given once, not empty, in at most 256 characters. HEAD is answered like GET. What is not HTTP is answered 400, 408 or 431 in the same shape.',
].join('\n\n');

const { EXPORT_TRANSACTIONS, EXPORT_ACTIVITY, SERVICE_OPERATIONS, ...others } = operations;

export const EXPLORER_API = openApi({
  info: {
    title: 'CLT explorer',
    version: '1.0.0',
    summary:
      'Blocks, transactions, accounts, validators, search, statistics and the reserve of the CLT chain',
    description: DESCRIPTION,
  },
  external_docs: {
    description: 'The topics of the log, of which all answers are made',
    url: '/docs/topics',
  },
  tags: {
    Blocks: 'The chain, block by block.',
    Transactions: 'The transactions of the blocks.',
    Accounts: 'Holders of the token, and producers of blocks.',
    Export: 'Complete histories, streamed.',
    Search: 'Search by height, hash or address.',
    Network: 'Statistics of the chain and progress of its index.',
    Reserve: 'The backing of the token.',
    Service: 'Health, metrics and this document.',
  },
  operations: [
    ...Object.values(others),
    ...Object.values(EXPORT_TRANSACTIONS),
    ...Object.values(EXPORT_ACTIVITY),
    ...SERVICE_OPERATIONS,
  ],
  headers: HEADERS,
  answers: ERRORS,
  security: [],
});
