/** Answers about accounts: balances, their changes, and producers of blocks. */
import { Type } from 'typebox';
import { field, nullable, record, word, type Shape } from '../http-api/answer.ts';
import {
  ACCOUNT as HOLDER,
  ADDRESS,
  AMOUNT,
  BLOCK_HASH,
  CALL_TYPE,
  COUNT,
  HASH,
  MOMENT,
  SIGNED_AMOUNT,
  TIME,
  TRANSACTION_HASH,
  VALIDATOR as PRODUCER,
} from './values.ts';

export type Account = Shape<typeof ACCOUNT>;
export const ACCOUNT = record('Account', {
  address: field(ADDRESS, HOLDER),
  balance: field(AMOUNT, 87_499_000),
  nonce: field(COUNT, 8, 'Nonce of the next transaction.'),
  tx_count: field(COUNT, 11, 'Number of transactions from or to it; one to itself counts once.'),
  activity_count: field(COUNT, 21, 'Number of changes of its balance.'),
  is_contract: Type.Boolean({
    description:
      'Whether rules of the chain, not a key, move its balance: the escrow, the reward pool.',
    example: false,
  }),
});

const OF_THE_BLOCK = 'null: an effect of the block itself';

export type Activity = Shape<typeof ACTIVITY>;
export const ACTIVITY = record(
  'Activity',
  {
    address: field(ADDRESS, HOLDER, 'The account whose balance changed.'),
    kind: Type.String({
      description:
        'Kind of the change as the chain recorded it, in snake_case: transfer_in, ride_pay, tx_fee_paid, ...',
      example: 'tx_fee_paid',
    }),
    label: Type.String({
      description: 'The kind as text for people.',
      example: 'Transaction fee paid',
    }),
    delta: field(
      SIGNED_AMOUNT,
      -1_000,
      'Change of the balance in CLT base units; negative for a debit, never zero.',
    ),
    direction: word(['credit', 'debit'], { example: 'debit' }),
    amount: field(AMOUNT, 1_000, 'The delta without its sign.'),
    tx_hash: nullable(HASH, TRANSACTION_HASH, OF_THE_BLOCK),
    block_height: field(COUNT, 1200),
    tx_index: nullable(COUNT, 0, OF_THE_BLOCK),
    function_call_type: nullable(CALL_TYPE, 'RidePay', OF_THE_BLOCK),
    counterparty: nullable(ADDRESS, PRODUCER, 'The other account; null when there is none.'),
    timestamp: field(TIME, MOMENT, 'Time of the block.'),
  },
  'One change of a balance.',
);

export type Effect = Shape<typeof EFFECT>;
export const EFFECT = record(
  'Effect',
  {
    ...ACTIVITY.properties,
    function_call_type: nullable(Type.String(), 'RidePay', OF_THE_BLOCK),
    balance: field(AMOUNT, 41_999_000, 'Balance of the address after this effect.'),
  },
  'One change of a balance.',
);

export const BALANCE_AT = record('BalanceAt', {
  address: field(ADDRESS, HOLDER),
  height: field(COUNT, 1200),
  block_hash: field(
    HASH,
    BLOCK_HASH,
    'Hash of the block at this height; after a reorganisation it differs.',
  ),
  balance: field(AMOUNT, 87_499_000, 'Balance after that block; 0 before the first change.'),
});

export type Balance = Shape<typeof BALANCE>;
export const BALANCE = Type.Object(
  {
    block_height: field(COUNT, 1200),
    timestamp: TIME,
    balance: field(AMOUNT, 42_000_000, 'Balance after a change in this block.'),
  },
  { additionalProperties: false },
);
export const BALANCE_HISTORY = record('BalanceHistory', {
  items: Type.Array(BALANCE, { maxItems: 500 }),
});

export type Validator = Shape<typeof VALIDATOR>;
export const VALIDATOR = record('Validator', {
  address: field(ADDRESS, PRODUCER),
  is_active: Type.Boolean({
    description: 'Whether it produced one of the newest 100 blocks.',
    example: true,
  }),
  blocks_produced: field(COUNT, 301),
  peer_id: Type.Literal('', {
    description: 'Always empty: blocks carry only the address of their producer.',
  }),
});
