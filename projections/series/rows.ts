/** The tables of the series as the fold writes them; `table.sql` says what each column means. */
import { HEAD, JOURNAL } from '../chain/undo-log.ts';
import type { Table } from '../contract/projection.ts';

export const HOURS = {
  name: 'hours',
  columns: {
    hour: 'int8',
    last_height: 'int8',
    blocks: 'int8',
    transactions: 'int8',
    fees: 'numeric',
    rides: 'int8',
    fares: 'numeric',
    active_accounts: 'int8',
    supply: 'numeric',
  },
  key: ['hour'],
} as const satisfies Table;

export interface Hour {
  readonly hour: number;
  readonly last_height: number;
  readonly blocks: number;
  readonly transactions: number;
  readonly fees: bigint;
  readonly rides: number;
  readonly fares: bigint;
  readonly active_accounts: number;
  readonly supply: bigint;
}

export const DAYS = {
  name: 'days',
  columns: { day: 'int8', active_accounts: 'int8' },
  key: ['day'],
} as const satisfies Table;

export interface Day {
  readonly day: number;
  readonly active_accounts: number;
}

export const PRODUCERS = {
  name: 'producers',
  columns: { hour: 'int8', address: 'bytea', blocks: 'int8' },
  key: ['hour', 'address'],
} as const satisfies Table;

export interface Producer {
  readonly hour: number;
  readonly address: Buffer;
  readonly blocks: number;
}

export const ACCOUNTS: Table = {
  name: 'accounts',
  columns: { address: 'bytea', last_hour: 'int8' },
  key: ['address'],
};

export const TABLES: readonly Table[] = [HEAD, JOURNAL, HOURS, DAYS, PRODUCERS, ACCOUNTS];
