/** The reserve's tables as the fold writes them; `table.sql` describes each column. */
import type { Table } from '../contract/projection.ts';

export const HEAD: Table = { name: 'head', columns: { one: 'bool', runs: 'int8' }, key: ['one'] };

export const RUNS: Table = {
  name: 'runs',
  columns: {
    ordinal: 'int8',
    run_id: 'text',
    run_at: 'timestamptz',
    ledger_offset: 'int8',
    block_height: 'int8',
    block_hash: 'bytea',
    onchain_supply: 'numeric',
    genesis_allocation: 'numeric',
    treasury_minted: 'numeric',
    burned: 'numeric',
    ledger_liability: 'numeric',
    custody_reported: 'numeric',
    held: 'numeric',
    retained_fees: 'numeric',
    status: 'text',
  },
  key: ['run_id'],
};
