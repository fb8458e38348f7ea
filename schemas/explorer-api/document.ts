/** The explorer's OpenAPI document. */
import { PARAMETER_CHARACTERS_MAX } from './bounds.ts';
import type { OpenApi, ReadOnlyPaths } from '../openapi.ts';
import { ERRORS, HEADERS } from './operations.ts';
import { PATHS } from './paths.ts';
import { SCHEMAS } from './schemas.ts';

const DESCRIPTION = `Read-only access to blocks, transactions, accounts, validators, search, network figures and the reserve position of the CLT chain. No authentication; any web page may read it.

**Numbers** are exact whatever their size. Amounts are in CLT base units (1 USD is 1,000,000) and may exceed 2^53, so read them with arbitrary precision. Addresses and hashes are 0x and lower-case hex; as parameters they may come in any case, with or without 0x. Times are UTC.

**Lists** are newest first. \`limit\` and \`offset\` cut a page from the top; since new blocks push everything down, a walk by offset can meet an item twice. A walk by the \`Link\` header does not: its \`cursor\` names the place where the page ended, so new blocks change nothing, and a reorganisation replaces only what it replaced. A cursor stays good for as long as you like. \`paging\` tells no count of all items: \`total\` is the offset plus the items of the page, and \`has_more\` whether the page is full.

**Errors** are \`{code, message}\`: 400 invalid_request, 404 not_found, 405 and 413 invalid_request, 429 rate_limited with Retry-After, 502 upstream_error, 503 storage_error, 500 internal_error. Unknown parameters are ignored; known ones may be given once, not empty, in at most ${PARAMETER_CHARACTERS_MAX} characters. HEAD is answered like GET. What is not HTTP is answered 400, 408 or 431 in the same shape.`;

export const EXPLORER_API: OpenApi<ReadOnlyPaths> = {
  openapi: '3.1.0',
  info: {
    title: 'CLT explorer',
    version: '1.0.0',
    summary:
      'Blocks, transactions, accounts, validators, search, figures and the reserve of the CLT chain',
    description: DESCRIPTION,
  },
  servers: [{ url: '/', description: 'where this document came from' }],
  security: [],
  tags: [
    { name: 'Blocks', description: 'The chain, block by block.' },
    { name: 'Transactions', description: 'What the blocks carry.' },
    {
      name: 'Accounts',
      description: 'Who holds and moves the token, and who produces the blocks.',
    },
    { name: 'Export', description: 'Everything at once, in one long answer.' },
    { name: 'Search', description: 'From a height, a hash or an address to what it names.' },
    { name: 'Network', description: 'How the chain and its index are doing.' },
    { name: 'Reserve', description: 'What backs the token.' },
    { name: 'Service', description: 'For those who run it, and this document.' },
  ],
  paths: PATHS,
  components: { schemas: SCHEMAS, headers: HEADERS, responses: ERRORS },
};
