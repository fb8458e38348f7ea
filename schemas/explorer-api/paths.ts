/** Every path of the explorer. To add one: its schemas in schemas.ts, an example in examples.ts, an entry here; the tests then want it served and its answers to fit. */
import { PARAMETER_CHARACTERS_MAX } from './bounds.ts';
import * as examples from './examples.ts';
import { EXPORTS } from './export-paths.ts';
import { schema, type ReadOnlyPaths, type Schema } from '../openapi.ts';
import {
  detail,
  fromIndex,
  get,
  list,
  path,
  query,
  SOME_ADDRESS,
  SOME_HASH,
} from './operations.ts';
import { HEIGHT, TRANSACTION_FILTERS } from './filters.ts';

const BLOCK_ID: Schema = {
  type: 'string',
  minLength: 1,
  maxLength: PARAMETER_CHARACTERS_MAX,
  pattern: '^(([0-9]+)|((0[xX])?[0-9a-fA-F]{64}))$',
};

const ACCOUNT = path('address', 'In any case, with or without 0x.', SOME_ADDRESS, examples.ADDRESS);

export const PATHS: ReadOnlyPaths = {
  '/api/v1/blocks': list({
    id: 'listBlocks',
    tag: 'Blocks',
    summary: 'Blocks, newest first',
    answer: 'A page of blocks.',
    schema: schema('BlockList'),
    example: examples.firstPage(examples.BLOCK),
  }),
  '/api/v1/blocks/{id}': detail({
    id: 'getBlock',
    tag: 'Blocks',
    summary: 'One block',
    parameters: [
      path(
        'id',
        'Its height, or its hash with or without 0x. 64 digits are a hash.',
        BLOCK_ID,
        '1200',
      ),
    ],
    answer: 'The block.',
    schema: schema('BlockDetail'),
    example: examples.BLOCK_DETAIL,
  }),
  '/api/v1/transactions': list({
    id: 'listTransactions',
    tag: 'Transactions',
    summary: 'Transactions, newest first',
    description:
      'Filters can be combined. Those that combine an address with a type look through rows, so give a cursor rather than a large offset.',
    filters: TRANSACTION_FILTERS,
    answer: 'A page of transactions.',
    schema: schema('TransactionList'),
    example: examples.firstPage(examples.TRANSACTION),
  }),
  '/api/v1/transactions/{hash}': detail({
    id: 'getTransaction',
    tag: 'Transactions',
    summary: 'One transaction',
    parameters: [
      path('hash', 'Its hash, with or without 0x.', SOME_HASH, examples.TRANSACTION_HASH),
    ],
    answer: 'The transaction.',
    schema: schema('TransactionDetail'),
    example: examples.TRANSACTION_DETAIL,
  }),
  '/api/v1/accounts/{address}': detail({
    id: 'getAccount',
    tag: 'Accounts',
    summary: 'One account',
    parameters: [ACCOUNT],
    answer: 'The account. 404 when no indexed block had to do with it.',
    schema: schema('Account'),
    example: examples.ACCOUNT,
  }),
  '/api/v1/accounts/{address}/activity': list({
    id: 'listActivity',
    tag: 'Accounts',
    summary: 'What moved the balance of an account, newest first',
    description: 'An address that the index has never seen has an empty list.',
    filters: [ACCOUNT],
    answer: 'A page of activity.',
    schema: schema('ActivityList'),
    example: examples.firstPage(examples.ACTIVITY),
  }),
  '/api/v1/accounts/{address}/balance-at': detail({
    id: 'getBalanceAt',
    tag: 'Accounts',
    summary: 'The balance of an account after a block',
    parameters: [
      ACCOUNT,
      { ...query('height', 'The height of the block.', HEIGHT, 1200), required: true },
    ],
    answer:
      'The balance. 404 when there is no such height, which then says which there are, and when no indexed block had to do with the account.',
    schema: schema('BalanceAt'),
    example: examples.BALANCE_AT,
  }),
  '/api/v1/validators': list({
    id: 'listValidators',
    tag: 'Accounts',
    summary: 'Validators, those that came last first',
    answer: 'A page of validators.',
    schema: schema('ValidatorList'),
    example: examples.firstPage(examples.VALIDATOR),
  }),
  ...EXPORTS,
  '/api/v1/search': fromIndex({
    id: 'search',
    tag: 'Search',
    summary: 'Find by exact match',
    description:
      'A decimal integer is looked up among block heights. 64 hex digits, with or without 0x and in any case, are looked up among the hashes of blocks and transactions. 40 hex digits give an account, also when the index has never seen it; its summary then says so. Anything else finds nothing.',
    parameters: [
      {
        ...query('q', 'A height, a hash or an address.', { type: 'string', minLength: 1 }, '1200'),
        required: true,
      },
    ],
    answer: 'What was found; nothing is an empty list.',
    schema: schema('SearchResults'),
    example: examples.SEARCH_RESULTS,
  }),
  '/api/v1/stats': fromIndex({
    id: 'getStats',
    tag: 'Network',
    summary: 'Figures over the newest 100 blocks',
    answer: 'The figures.',
    schema: schema('Stats'),
    example: examples.STATS,
  }),
  '/api/v1/status': fromIndex({
    id: 'getStatus',
    tag: 'Network',
    summary: 'How far the chain, the index and its projections are',
    answer: 'The heights and positions.',
    schema: schema('Status'),
    example: examples.STATUS,
  }),
  '/api/v1/reserve': get({
    id: 'getReserve',
    tag: 'Reserve',
    summary: 'The reserve position, as the treasury published it',
    description:
      'All figures of last_run come from one run; live chain supply is not mixed in. The answer of the treasury is kept for 30 seconds; that it could not be read, for 5.',
    answer: 'One of four answers.',
    schema: schema('Reserve'),
    examples: examples.RESERVES,
    errors: ['RateLimited'],
  }),
  '/api/v1/reserve/runs': list({
    id: 'listReserveRuns',
    tag: 'Reserve',
    summary: 'Every reconciliation there was, newest first',
    description: 'From the log. Where no treasury is behind this deployment there are none.',
    answer: 'A page of reconciliations.',
    schema: schema('RecordedRunList'),
    example: examples.firstPage(examples.RECORDED_RUN),
  }),
  '/health': get({
    id: 'getHealth',
    tag: 'Service',
    summary: 'Whether the process runs',
    answer: 'It does.',
    schema: schema('Health'),
    example: { status: 'ok' },
  }),
  '/ready': get({
    id: 'getReady',
    tag: 'Service',
    summary: 'Whether the index can be read and is near the head of the node',
    answer: 'It is.',
    schema: schema('Ready'),
    example: { status: 'ready' },
    errors: ['NotReady'],
  }),
  '/metrics': get({
    id: 'getMetrics',
    tag: 'Service',
    summary: 'Figures of the process, for Prometheus',
    answer: "Prometheus' text format.",
    schema: { type: 'string' },
    media: 'text/plain',
  }),
  '/openapi.json': get({
    id: 'getOpenApi',
    tag: 'Service',
    summary: 'This document',
    answer: 'OpenAPI 3.1.',
    schema: { type: 'object' },
  }),
  '/docs': get({
    id: 'getDocs',
    tag: 'Service',
    summary: 'This document as a page for people',
    answer: 'Swagger UI.',
    schema: { type: 'string' },
    media: 'text/html',
  }),
};
