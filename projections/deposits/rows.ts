/** The tables of deposits as the fold writes them; `table.sql` describes each column. */
import type { Table } from '../contract/projection.ts';

export const BOOK: Table = {
  name: 'book',
  columns: {
    one: 'bool',
    log_end: 'int8',
    head: 'bytea',
    extended_public_key: 'text',
    key_fingerprint: 'bytea',
    addresses: 'int8',
  },
  key: ['one'],
};

export const ADDRESSES: Table = {
  name: 'addresses',
  columns: {
    clt_address: 'bytea',
    derivation_index: 'int8',
    deposit_address: 'bytea',
    requested_at: 'timestamptz',
  },
  key: ['clt_address'],
};

export const LEDGER = {
  name: 'ledger',
  columns: {
    one: 'bool',
    sequence: 'int8',
    head: 'bytea',
    deposits: 'int8',
    policy_version: 'int4',
    last_nonce: 'int8',
    free_nonces: 'text',
    mint_time: 'int8',
    window_sequence: 'int8',
    operators_version: 'int4',
    operators: 'bytea',
    two_above: 'numeric',
    authority_version: 'int4',
    authority: 'bytea',
    ledger_id: 'bytea',
    minting_stopped: 'bool',
    proposals: 'bytea',
  },
  key: ['one'],
} as const satisfies Table;

export const POLICIES = {
  name: 'policies',
  columns: {
    version: 'int4',
    network: 'text',
    first_fee: 'numeric',
    later_fee: 'numeric',
    minimum: 'numeric',
    single_cap: 'numeric',
    rolling_cap: 'numeric',
    decided_at: 'int8',
  },
  key: ['version'],
} as const satisfies Table;

export const MINTS: Table = {
  name: 'mints',
  columns: {
    sequence: 'int8',
    deposit_id: 'text',
    amount: 'numeric',
    counted_at: 'int8',
    leaves_at: 'int8',
  },
  key: ['sequence'],
};

export const REFUNDS: Table = {
  name: 'refunds',
  columns: { tron_tx_id: 'bytea', deposit_id: 'text' },
  key: ['tron_tx_id'],
};

export const OWNERS: Table = {
  name: 'owners',
  columns: { clt_address: 'bytea', deposits: 'int8' },
  key: ['clt_address'],
};

export const DEPOSITS = {
  name: 'deposits',
  columns: {
    id: 'text',
    seq: 'int8',
    clt_address: 'bytea',
    ordinal: 'int8',
    deposit_address: 'bytea',
    tx_id: 'bytea',
    log_index: 'int4',
    gross: 'numeric',
    fee: 'numeric',
    credit: 'numeric',
    policy_version: 'int4',
    address_ordinal: 'int8',
    block_number: 'int8',
    created_at: 'timestamptz',
  },
  key: ['id'],
} as const satisfies Table;

export const STANDINGS: Table = {
  name: 'standings',
  columns: {
    id: 'text',
    status: 'text',
    reason: 'text',
    approved: 'bool',
    rejected: 'bool',
    approved_by: 'bytea',
    refunded: 'numeric',
    sequence: 'int8',
    nonce: 'int8',
    tx_hash: 'bytea',
    events: 'int4',
    queue_offset: 'int8',
    queued_at: 'int8',
    goes_first_at: 'int8',
  },
  key: ['id'],
};

export const BY_STATUS: Table = {
  name: 'by_status',
  columns: { status: 'text', seq: 'int8', id: 'text' },
  key: ['status', 'seq'],
};

export const DEPOSIT_EVENTS = {
  name: 'deposit_events',
  columns: {
    deposit_id: 'text',
    ordinal: 'int4',
    event: 'text',
    reason: 'text',
    actor: 'text',
    gross: 'numeric',
    fee: 'numeric',
    credit: 'numeric',
    nonce: 'int8',
    tx_hash: 'bytea',
    block_height: 'int8',
    topic: 'text',
    partition: 'int4',
    log_offset: 'int8',
    at: 'timestamptz',
  },
  key: ['deposit_id', 'ordinal'],
} as const satisfies Table;

const OF_ADDRESSES = [BOOK, ADDRESSES];
const OF_LEDGER = [
  LEDGER,
  POLICIES,
  MINTS,
  REFUNDS,
  OWNERS,
  DEPOSITS,
  STANDINGS,
  BY_STATUS,
  DEPOSIT_EVENTS,
];
export const TABLES = [...OF_ADDRESSES, ...OF_LEDGER];
