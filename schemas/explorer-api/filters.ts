/** Parameters that say which transactions, or which blocks. */
import * as examples from './examples.ts';
import type { Parameter, Schema } from '../openapi.ts';
import { query, SOME_ADDRESS, SOME_TEXT } from './operations.ts';

export const HEIGHT: Schema = { type: 'integer', minimum: 0 };

export const TRANSACTION_FILTERS: readonly Parameter[] = [
  query(
    'address',
    'From or to this address, in any case, with or without 0x.',
    SOME_ADDRESS,
    examples.ADDRESS,
  ),
  query('block', 'In the block at this height.', HEIGHT, 1200),
  query('type', 'Of exactly this function_call_type.', SOME_TEXT, 'RidePay'),
  query('status', 'Of exactly this status; only confirmed is ever stored.', SOME_TEXT, 'confirmed'),
];

export const HEIGHT_RANGE: readonly Parameter[] = [
  query('from_height', 'From the block at this height on.', HEIGHT, 0),
  query('to_height', 'Up to the block at this height, with it.', HEIGHT, 1200),
];
