/** The watcher's tables as the fold writes them; `table.sql` says what each column means. */
import type { Table } from '../contract/projection.ts';
import { BOOK as DEPOSITS_BOOK } from '../deposits/rows.ts';

/** The same table as in the deposits projection. */
export const BOOK: Table = DEPOSITS_BOOK;

export const ADDRESSES: Table = {
  name: 'addresses',
  columns: {
    clt_address: 'bytea',
    derivation_index: 'int8',
    deposit_address: 'bytea',
    partition: 'int4',
    requested_at: 'timestamptz',
  },
  key: ['clt_address'],
};

export const QUEUE: Table = {
  name: 'queue',
  columns: {
    deposit_address: 'bytea',
    partition: 'int4',
    requested: 'bool',
    hot: 'bool',
    hot_until: 'int8',
    checked_at: 'int8',
    checked_until: 'int8',
  },
  key: ['deposit_address'],
};

export const TRANSFERS: Table = {
  name: 'transfers',
  columns: {
    tx_id: 'bytea',
    log_index: 'int4',
    deposit_address: 'bytea',
    value: 'numeric',
    block_number: 'int8',
    block_timestamp: 'timestamptz',
    partition: 'int4',
    log_offset: 'int8',
  },
  key: ['tx_id', 'log_index'],
};
