/** Answers about transactions. */
import { Type } from 'typebox';
import { field, nullable, record, type Shape } from '../http-api/answer.ts';
import {
  ACCOUNT,
  ADDRESS,
  AMOUNT,
  CALL_TYPE,
  COUNT,
  HASH,
  MOMENT,
  TIME,
  TRANSACTION_HASH,
} from './values.ts';

export type Transaction = Shape<typeof TRANSACTION>;
export const TRANSACTION = record('Transaction', {
  hash: field(HASH, TRANSACTION_HASH),
  block_height: field(COUNT, 1200),
  from: field(ADDRESS, ACCOUNT),
  to: field(ADDRESS, '0x2b5ad5c4795c026514f8317c7a215e218dccd6cf'),
  amount: field(AMOUNT, 12_500_000),
  fee: field(
    AMOUNT,
    1_000,
    'Fee paid by the sender; 0 when the sender produced the block, and for RideAcceptance.',
  ),
  status: Type.Literal('confirmed', { description: 'Always confirmed.' }),
  function_call_type: CALL_TYPE,
  is_ride_related: Type.Boolean({ example: true }),
  timestamp: field(TIME, MOMENT, 'Time of the block.'),
  referrer: nullable(ADDRESS, null),
  request_referrer_fee: AMOUNT,
  offer_referrer_fee: AMOUNT,
});

export type TransactionDetail = Shape<typeof TRANSACTION_DETAIL>;
export const TRANSACTION_DETAIL = record('TransactionDetail', {
  ...TRANSACTION.properties,
  nonce: field(COUNT, 7),
  tx_index: field(COUNT, 0, 'Index in the block.'),
  request_referrer: nullable(ADDRESS, null),
  offer_referrer: nullable(ADDRESS, null),
});
