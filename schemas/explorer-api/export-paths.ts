/** The paths that give everything at once, for spreadsheets (CSV) and for programs (NDJSON: one JSON object a line). */
import * as examples from './examples.ts';
import { HEIGHT_RANGE, TRANSACTION_FILTERS } from './filters.ts';
import { schema, type ReadOnlyPaths } from '../openapi.ts';
import { exported, query, SOME_ADDRESS } from './operations.ts';

const DESCRIPTION =
  'The answer is written while the index is read, however long it is, and covers the chain up to one block, which its headers name; blocks that arrive meanwhile are not in it. Rows come in the order of the chain, oldest first. An answer that breaks off before its end is not whole. Only a few run at once; where exports are turned off they are not found.';

const TRANSACTIONS = {
  tag: 'Export',
  description: DESCRIPTION,
  parameters: [...TRANSACTION_FILTERS, ...HEIGHT_RANGE],
} as const;
const ACTIVITY = {
  tag: 'Export',
  description: DESCRIPTION,
  parameters: [
    query(
      'address',
      'Of this address, in any case, with or without 0x.',
      SOME_ADDRESS,
      examples.ADDRESS,
    ),
    ...HEIGHT_RANGE,
  ],
} as const;

export const EXPORTS: ReadOnlyPaths = {
  '/api/v1/export/transactions.csv': exported({
    ...TRANSACTIONS,
    id: 'exportTransactionsCsv',
    summary: 'Transactions as CSV',
    answer: 'A line of column names, then a line a transaction.',
  }),
  '/api/v1/export/transactions.ndjson': exported({
    ...TRANSACTIONS,
    id: 'exportTransactionsNdjson',
    summary: 'Transactions as NDJSON',
    answer: 'A transaction a line.',
    lines: schema('TransactionDetail'),
    example: examples.TRANSACTION_DETAIL,
  }),
  '/api/v1/export/activity.csv': exported({
    ...ACTIVITY,
    id: 'exportActivityCsv',
    summary: 'Activity as CSV',
    answer: 'A line of column names, then a line a movement of a balance.',
  }),
  '/api/v1/export/activity.ndjson': exported({
    ...ACTIVITY,
    id: 'exportActivityNdjson',
    summary: 'Activity as NDJSON',
    answer: 'A movement of a balance a line.',
    lines: schema('Activity'),
    example: examples.ACTIVITY,
  }),
};
