/** The explorer's tables as the fold writes them; `table.sql` says what each column means. */
import type { Table } from '../contract/projection.ts';

export const HEAD: Table = {
  name: 'head',
  columns: {
    one: 'bool',
    sequence: 'int8',
    height: 'int8',
    hash: 'bytea',
    finalized_height: 'int8',
    transactions: 'int8',
    validators: 'int8',
  },
  key: ['one'],
};

export const BLOCKS: Table = {
  name: 'blocks',
  columns: {
    height: 'int8',
    hash: 'bytea',
    parent_hash: 'bytea',
    producer: 'bytea',
    reward_recipient: 'bytea',
    block_reward: 'numeric',
    total_fees: 'numeric',
    timestamp: 'timestamptz',
    tx_count: 'int4',
    first_seq: 'int8',
    log_offset: 'int8',
  },
  key: ['height'],
};

export const TRANSACTIONS: Table = {
  name: 'transactions',
  columns: {
    seq: 'int8',
    hash: 'bytea',
    block_height: 'int8',
    tx_index: 'int4',
    from_address: 'bytea',
    to_address: 'bytea',
    nonce: 'int8',
    amount: 'numeric',
    fee: 'numeric',
    function_call_type: 'text',
    type_ordinal: 'int8',
    is_ride_related: 'bool',
    timestamp: 'timestamptz',
    referrer: 'bytea',
    request_referrer: 'bytea',
    offer_referrer: 'bytea',
    request_referrer_fee: 'numeric',
    offer_referrer_fee: 'numeric',
  },
  key: ['seq'],
};

export const TRANSACTION_TYPES: Table = {
  name: 'transaction_types',
  columns: { function_call_type: 'text', transactions: 'int8' },
  key: ['function_call_type'],
};

export const ACCOUNTS: Table = {
  name: 'accounts',
  columns: {
    address: 'bytea',
    balance: 'numeric',
    nonce: 'int8',
    transactions: 'int8',
    activities: 'int8',
    unsigned_debits: 'int8',
    blocks_produced: 'int8',
  },
  key: ['address'],
};

export const ACCOUNT_TRANSACTIONS: Table = {
  name: 'account_transactions',
  columns: { address: 'bytea', ordinal: 'int8', seq: 'int8' },
  key: ['address', 'ordinal'],
};

export const ACTIVITY: Table = {
  name: 'activity',
  columns: {
    address: 'bytea',
    ordinal: 'int8',
    kind: 'text',
    delta: 'numeric',
    balance: 'numeric',
    block_height: 'int8',
    seq: 'int8',
    counterparty: 'bytea',
  },
  key: ['address', 'ordinal'],
};

export const VALIDATORS: Table = {
  name: 'validators',
  columns: { ordinal: 'int8', address: 'bytea' },
  key: ['ordinal'],
};

export const TABLES = [
  HEAD,
  BLOCKS,
  TRANSACTIONS,
  TRANSACTION_TYPES,
  ACCOUNTS,
  ACCOUNT_TRANSACTIONS,
  ACTIVITY,
  VALIDATORS,
];
