/**
 * The operations of the explorer: the path, the parameters and the answers of each. Routes read
 * their parameters by them, and the OpenAPI document is made of them.
 */
import { Type, type TObject } from 'typebox';
import { exampleOf } from '../http-api/answer.ts';
import { json, type Answer, type Operation } from '../http-api/document.ts';
import type { Parameter } from '../http-api/parameters.ts';
import { serviceOperations } from '../http-api/service.ts';
import { ACCOUNT, ACTIVITY, BALANCE_AT, BALANCE_HISTORY, EFFECT, VALIDATOR } from './accounts.ts';
import {
  ALWAYS,
  cached,
  exported,
  exportedBlocks,
  indexed,
  listed,
  NOT_FOUND,
  uncached,
  UNREADABLE,
} from './answers.ts';
import { BLOCK, BLOCK_DETAIL, BLOCK_RECORD, CHAIN_BLOCK } from './blocks.ts';
import { SEARCH_RESULTS, SERIES, STATS, STATUS, VALIDATOR_SERIES } from './network.ts';
import * as parameters from './parameters.ts';
import {
  ANSWERED,
  NO_TREASURY,
  RECORDED_RUN,
  RESERVE,
  RESERVE_TOLERANCE,
  UNREAD,
} from './reserve.ts';
import { TRANSACTION, TRANSACTION_DETAIL } from './transactions.ts';
import { VALIDATOR as PRODUCER } from './values.ts';

const { ACCOUNT_ID, AMOUNTS, BLOCK_ID, PAGE, TRANSACTION_ID } = parameters;

function operation<const Parameters extends readonly Parameter[]>(
  defined: Operation<Parameters>,
): Operation<Parameters> {
  return { ...defined, answers: { ...defined.answers, ...ALWAYS } };
}

export const LIST_BLOCKS = operation({
  path: '/api/v1/blocks',
  operationId: 'listBlocks',
  tag: 'Blocks',
  summary: 'Blocks, newest first',
  parameters: [...PAGE, AMOUNTS],
  answers: listed('A page of blocks.', BLOCK),
});

export const GET_BLOCK = operation({
  path: '/api/v1/blocks/:id',
  operationId: 'getBlock',
  tag: 'Blocks',
  summary: 'One block',
  parameters: [BLOCK_ID, AMOUNTS],
  answers: { ...indexed('The block.', BLOCK_DETAIL), ...NOT_FOUND },
});

export const GET_BLOCK_RECORD = operation({
  path: '/api/v1/blocks/:id/record',
  operationId: 'getBlockRecord',
  tag: 'Blocks',
  summary: 'Where the block stands in the log',
  parameters: [BLOCK_ID],
  answers: {
    ...indexed('Topic, partition and offset of the record that appended the block.', BLOCK_RECORD),
    ...NOT_FOUND,
  },
});

function effects(cause: string): string {
  return (
    'Ordered by address, and for each address in the order of the chain. `balance` is that of the ' +
    `address after the effect. The list of an unknown ${cause} is empty.`
  );
}

export const LIST_BLOCK_EFFECTS = operation({
  path: '/api/v1/blocks/:id/effects',
  operationId: 'listBlockEffects',
  tag: 'Blocks',
  summary: 'Balance effects of a block itself',
  description: effects('block'),
  parameters: [BLOCK_ID, ...PAGE, AMOUNTS],
  answers: listed('A page of effects that no transaction caused.', EFFECT, {
    ...Object(exampleOf(EFFECT)),
    kind: 'block_reward',
    label: 'Block reward received',
    delta: 2_000_000,
    direction: 'credit',
    amount: 2_000_000,
    tx_hash: null,
    tx_index: null,
    function_call_type: null,
    counterparty: null,
  }),
});

export const LIST_TRANSACTIONS = operation({
  path: '/api/v1/transactions',
  operationId: 'listTransactions',
  tag: 'Transactions',
  summary: 'Transactions, newest first',
  description:
    'Filters can be combined. An address together with a type scans rows, so use a cursor rather than a large offset.',
  parameters: [
    parameters.ADDRESS,
    parameters.BLOCK,
    parameters.TYPE,
    parameters.STATUS,
    ...PAGE,
    AMOUNTS,
  ],
  answers: listed('A page of transactions.', TRANSACTION),
});

export const GET_TRANSACTION = operation({
  path: '/api/v1/transactions/:hash',
  operationId: 'getTransaction',
  tag: 'Transactions',
  summary: 'One transaction',
  parameters: [TRANSACTION_ID, AMOUNTS],
  answers: { ...indexed('The transaction.', TRANSACTION_DETAIL), ...NOT_FOUND },
});

export const LIST_TRANSACTION_EFFECTS = operation({
  path: '/api/v1/transactions/:hash/effects',
  operationId: 'listTransactionEffects',
  tag: 'Transactions',
  summary: 'Balance effects of a transaction',
  description: effects('transaction'),
  parameters: [TRANSACTION_ID, ...PAGE, AMOUNTS],
  answers: listed('A page of effects of the transaction.', EFFECT),
});

export const GET_ACCOUNT = operation({
  path: '/api/v1/accounts/:address',
  operationId: 'getAccount',
  tag: 'Accounts',
  summary: 'One account',
  parameters: [ACCOUNT_ID, AMOUNTS],
  answers: {
    ...indexed('The account. 404 when no indexed block involves it.', ACCOUNT),
    ...NOT_FOUND,
  },
});

export const LIST_ACTIVITY = operation({
  path: '/api/v1/accounts/:address/activity',
  operationId: 'listActivity',
  tag: 'Accounts',
  summary: 'Changes of the balance of an account, newest first',
  description: 'The list of an unknown address is empty.',
  parameters: [ACCOUNT_ID, parameters.KIND, parameters.DIRECTION, ...PAGE, AMOUNTS],
  answers: listed('A page of activity.', ACTIVITY),
});

export const GET_BALANCE_AT = operation({
  path: '/api/v1/accounts/:address/balance-at',
  operationId: 'getBalanceAt',
  tag: 'Accounts',
  summary: 'The balance of an account after a block',
  parameters: [ACCOUNT_ID, parameters.HEIGHT, AMOUNTS],
  answers: {
    ...indexed(
      'The balance. 404 when the height does not exist (the message names the range), and when no indexed block involves the account.',
      BALANCE_AT,
    ),
    ...NOT_FOUND,
  },
});

export const GET_BALANCE_HISTORY = operation({
  path: '/api/v1/accounts/:address/balance-history',
  operationId: 'getBalanceHistory',
  tag: 'Accounts',
  summary: 'Balance of an account over time, oldest first',
  description:
    'The balance after at most `points` changes, spread evenly over all changes of the account, with the first and the newest. With as many points as changes it is complete. Empty for an unknown address.',
  parameters: [ACCOUNT_ID, parameters.POINTS, AMOUNTS],
  answers: indexed('The balances.', BALANCE_HISTORY),
});

export const LIST_VALIDATORS = operation({
  path: '/api/v1/validators',
  operationId: 'listValidators',
  tag: 'Accounts',
  summary: 'Validators, newest first',
  parameters: [...PAGE, AMOUNTS],
  answers: listed('A page of validators.', VALIDATOR),
});

const STREAMED =
  'Streams all rows in chain order, oldest first, up to the block that the headers name; later blocks are not included. An answer that breaks off is incomplete. A few exports run at once; a server with exports disabled answers 404.';

/** One operation for each format of the file; CSV has no numbers apart from text. */
function files<const Parameters extends readonly Parameter[]>(
  name: 'Transactions' | 'Activity',
  line: string,
  schema: TObject,
  given: Parameters,
) {
  const file = (
    format: 'CSV' | 'NDJSON',
    description: string,
    content: Answer['content'],
    own: readonly (Parameters[number] | typeof AMOUNTS)[],
  ) =>
    operation({
      path: `/api/v1/export/${name.toLowerCase()}.${format.toLowerCase()}`,
      operationId: `export${name}${format === 'CSV' ? 'Csv' : 'Ndjson'}`,
      tag: 'Export',
      summary: `${name} as ${format}`,
      description: STREAMED,
      parameters: own,
      answers: exported(description, content),
    });
  const lines = { 'application/x-ndjson': { schema, example: exampleOf(schema) } };
  const records = { 'text/csv': { schema: Type.String() } };
  return {
    csv: file(
      'CSV',
      `A header line, then one line per ${line}. A text that a spreadsheet would compute, such as \`=1+1\`, has an apostrophe before it; NDJSON has the text as it is.`,
      records,
      given,
    ),
    ndjson: file('NDJSON', `One ${line} per line.`, lines, [...given, AMOUNTS]),
  };
}

const HEIGHTS = [parameters.FROM_HEIGHT, parameters.TO_HEIGHT] as const;
export const EXPORT_TRANSACTIONS = files('Transactions', 'transaction', TRANSACTION_DETAIL, [
  parameters.ADDRESS,
  parameters.BLOCK,
  parameters.TYPE,
  parameters.STATUS,
  ...HEIGHTS,
]);
export const EXPORT_ACTIVITY = files('Activity', 'change of a balance', ACTIVITY, [
  parameters.EXPORTED_ADDRESS,
  ...HEIGHTS,
]);

export const EXPORT_BLOCKS = operation({
  path: '/api/v1/export/blocks.ndjson',
  operationId: 'exportBlocksNdjson',
  tag: 'Export',
  summary: 'Whole blocks as NDJSON, with the signed bytes of their transactions',
  description: `${STREAMED} They come from the CLT node, since the index has no signed bytes. Each transaction proves itself (\`raw\` hashes to \`hash\`, and \`from\` has signed it), and the last block is compared with that of the index.`,
  parameters: [...HEIGHTS],
  answers: exportedBlocks('One block per line.', {
    'application/x-ndjson': { schema: CHAIN_BLOCK, example: exampleOf(CHAIN_BLOCK) },
  }),
});

export const SEARCH = operation({
  path: '/api/v1/search',
  operationId: 'search',
  tag: 'Search',
  summary: 'Find by exact match',
  description:
    'A decimal integer matches a block height. 64 hex digits, in any case, with or without 0x, match hashes of blocks and transactions. 40 hex digits give an account, even an unknown one; its summary then says so. Anything else matches nothing.',
  parameters: [parameters.SEARCHED],
  answers: indexed('The matches; an empty list when there are none.', SEARCH_RESULTS),
});

export const SUGGEST = operation({
  path: '/api/v1/search/suggestions',
  operationId: 'suggest',
  tag: 'Search',
  summary: 'Find by how it begins',
  description:
    'For a search box: the block at this height, and up to four each of accounts, transactions and blocks whose address or hash begins with these hex digits, in any case, with or without 0x. Anything else matches nothing.',
  parameters: [parameters.SUGGESTED],
  answers: indexed('The matches; an empty list when there are none.', SEARCH_RESULTS, {
    items: [
      {
        kind: 'account',
        identifier: '0x5b1f9a0b3d5e2f4a6b8c0d1e2f3a4b5c6d7e8f90',
        summary: 'address with 1 transaction and 2 activities',
      },
    ],
  }),
});

export const GET_STATS = operation({
  path: '/api/v1/stats',
  operationId: 'getStats',
  tag: 'Network',
  summary: 'Statistics over the newest 100 blocks',
  parameters: [],
  answers: indexed('The statistics.', STATS),
});

const RANGE = [parameters.BY, parameters.FROM, parameters.TO, parameters.BUCKETS, AMOUNTS] as const;

export const GET_SERIES = operation({
  path: '/api/v1/series',
  operationId: 'getSeries',
  tag: 'Network',
  summary: 'Figures of each hour or day',
  description:
    'Blocks, transactions, fees, rides, fares, active accounts and supply by block time in UTC, newest first. Hours and days without a block are left out. A block that says an earlier hour than the block before it counts in the later one.',
  parameters: RANGE,
  answers: indexed('The figures, a bucket each.', SERIES),
});

export const GET_VALIDATOR_SERIES = operation({
  path: '/api/v1/series/validators',
  operationId: 'getValidatorSeries',
  tag: 'Network',
  summary: 'Blocks of each validator in each hour or day',
  description:
    'The eight validators with most blocks in the range have items of their own; all others are one item a bucket, with address null. Newest buckets first.',
  parameters: RANGE,
  answers: indexed('The blocks, a bucket and validator each.', VALIDATOR_SERIES, {
    by: 'day',
    items: [
      { start: '2026-11-21T00:00:00.000Z', address: PRODUCER, blocks: 301, is_final: false },
      { start: '2026-11-21T00:00:00.000Z', address: null, blocks: 17, is_final: false },
    ],
  }),
});

export const GET_STATUS = operation({
  path: '/api/v1/status',
  operationId: 'getStatus',
  tag: 'Network',
  summary: 'Progress of the chain, the index and the projections',
  parameters: [],
  answers: { ...uncached('The heights and positions.', json(STATUS)), ...UNREADABLE },
});

export const GET_RESERVE = operation({
  path: '/api/v1/reserve',
  operationId: 'getReserve',
  tag: 'Reserve',
  summary: 'The reserve position as published by the treasury',
  description:
    'All amounts of last_run come from one run; live chain supply is not mixed in. The answer of the treasury is cached for 30 seconds, a failure for 5.',
  parameters: [AMOUNTS],
  answers: uncached(
    'One of four answers.',
    json(RESERVE, {
      examples: {
        reconciled: { summary: 'The newest run', value: exampleOf(ANSWERED) },
        never_reconciled: {
          summary: 'Never reconciled',
          value: { ...Object(exampleOf(ANSWERED)), cache_age_seconds: 0, last_run: null },
        },
        unavailable: { summary: 'Treasury unavailable', value: exampleOf(UNREAD) },
        not_configured: { summary: 'No treasury', value: exampleOf(NO_TREASURY) },
      },
    }),
  ),
});

export const GET_RESERVE_TOLERANCE = operation({
  path: '/api/v1/reserve/tolerance',
  operationId: 'getReserveTolerance',
  tag: 'Reserve',
  summary: 'The surplus that the treasury accepts',
  description: 'As the treasury says it now, cached like its position. A run does not record it.',
  parameters: [AMOUNTS],
  answers: uncached('The tolerance.', json(RESERVE_TOLERANCE)),
});

export const LIST_RESERVE_RUNS = operation({
  path: '/api/v1/reserve/runs',
  operationId: 'listReserveRuns',
  tag: 'Reserve',
  summary: 'All reserve runs, newest first',
  description: 'From the log. Empty when the deployment has no treasury.',
  parameters: [...PAGE, AMOUNTS],
  answers: listed('A page of reserve runs.', RECORDED_RUN),
});

export const GET_RESERVE_RUN = operation({
  path: '/api/v1/reserve/runs/:id',
  operationId: 'getReserveRun',
  tag: 'Reserve',
  summary: 'One reserve run',
  parameters: [parameters.RUN_ID, AMOUNTS],
  answers: { ...indexed('The run.', RECORDED_RUN), ...NOT_FOUND },
});

export const SERVICE_OPERATIONS = serviceOperations(uncached, cached, {
  operationId: 'getReady',
  summary: 'Whether the index is readable and close to the head of the node',
  unready: 'NotReady',
}).map(operation);
