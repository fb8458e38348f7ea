/** The interface's bodies as JSON text, made from rows. */
import type { Page } from '../../../projections/contract/page.ts';
import {
  ACCOUNT,
  ACTIVITY,
  BALANCE,
  EFFECT,
  VALIDATOR,
} from '../../../schemas/explorer-api/accounts.ts';
import { BLOCK, BLOCK_DETAIL, BLOCK_RECORD } from '../../../schemas/explorer-api/blocks.ts';
import { TRANSACTION, TRANSACTION_DETAIL } from '../../../schemas/explorer-api/transactions.ts';
import type { Cell } from '../../runtime/postgres/cells.ts';
import type { Cells } from '../../runtime/postgres/pool.ts';
import { hex, rowWriter, type Exceptions } from '../../runtime/postgres/row-json.ts';

/** A row of `blocksPage`. */
export const blockItem = rowWriter(BLOCK);

/** A row of `blockByHeight` or `blockByHash`. */
export const blockDetail = rowWriter(BLOCK_DETAIL);

/** A row of `blockRecord`. Blocks are in the only partition of their topic. */
export const blockRecordBody = rowWriter(BLOCK_RECORD, { made: { partition: () => '0' } });

/** A row of `transactionsPage`. */
export const transactionItem = rowWriter(TRANSACTION);

/** A row of `transactionByHash`. */
export const transactionDetail = rowWriter(TRANSACTION_DETAIL);

/** A row of `validatorsPage`. */
export const validatorItem = rowWriter(VALIDATOR);

/** A row of `balanceHistory`. */
export const balanceItem = rowWriter(BALANCE);

/** A row of `accountByAddress`; the address is `0x..`. */
export const accountBody = rowWriter<typeof ACCOUNT.properties, string>(ACCOUNT, {
  made: { address: (_, address) => `"${address}"` },
});

/** A row of `activityPage`; the address is the account's, `0x..`. */
export const activityItem = rowWriter<typeof ACTIVITY.properties, string>(ACTIVITY, {
  made: { address: (_, address) => `"${address}"`, ...movement(0).made },
  shown: movement(0).shown,
});

/** A row of `blockEffectsPage` or `transactionEffectsPage`. */
export const effectItem = rowWriter<typeof EFFECT.properties>(EFFECT, movement(1));

/**
 * The fields that follow from kind, delta and hash, which are columns from `first` on. Effects of a
 * block itself have no counterparty, even if the chain names one.
 */
function movement(first: number) {
  const isDebit = (cells: Cells): boolean => cells[first + 1]?.[0] === '-';
  const directionOf = (cells: Cells): Direction => (isDebit(cells) ? 'debit' : 'credit');
  return {
    made: {
      label: (cells: Cells) => labelJson(cells[first] ?? '', directionOf(cells)),
      direction: (cells: Cells) => (isDebit(cells) ? '"debit"' : '"credit"'),
      amount: (cells: Cells) => {
        const delta = cells[first + 1] ?? '';
        return isDebit(cells) ? delta.slice(1) : delta;
      },
    },
    shown: {
      counterparty: (cell: Cell, cells: Cells) => (cells[first + 2] === null ? 'null' : hex(cell)),
    },
  } satisfies Exceptions<typeof ACTIVITY.properties, unknown>;
}

/**
 * A page of a list: `total` is the offset plus the items of the page, `has_more` whether the page
 * is full. A page below a cursor has offset 0.
 */
export function pageBody<Row>(
  rows: readonly Row[],
  toJson: (row: Row) => string,
  page: Page,
): string {
  const { limit } = page;
  let items = '';
  for (const row of rows) items += items === '' ? toJson(row) : `,${toJson(row)}`;
  const offset = 'offset' in page ? page.offset : 0n;
  const total = offset + BigInt(rows.length);
  const paging = `{"limit":${limit},"offset":${offset},"total":${total},"has_more":${rows.length === limit}}`;
  return `{"items":[${items}],"paging":${paging}}`;
}

/** A JSON number with a decimal point: 0.0, 1.0, 0.25. */
function decimal(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

/** The row of `stats`; none while nothing is indexed. */
export function statsBody(cells: Cells = ['0', '0', '0', '0', '0', '0']): string {
  const [height, total, blocks, transactions, producers, span] = cells;
  const gaps = Number(blocks) - 1;
  const seconds = Number(span) / 1_000;
  // blocks that all have the same time have no rate
  const measurable = gaps > 0 && seconds > 0;
  return (
    `{"latest_height":${gaps < 0 ? 0 : height},"tx_per_second":${decimal(measurable ? Number(transactions) / seconds : 0)},` +
    `"total_transactions":${total},"active_validators":${producers},"avg_block_time_seconds":${decimal(measurable ? seconds / gaps : 0)}}`
  );
}

export type Direction = 'credit' | 'debit';

/** The label of each kind of activity, by the direction in which it moves a balance. */
const LABELS: ReadonlyMap<string, Readonly<Partial<Record<Direction, string>>>> = new Map([
  ['transfer_in', { credit: 'Transfer received' }],
  ['transfer_out', { debit: 'Transfer sent' }],
  ['mint', { credit: 'Minted' }],
  ['burn', { debit: 'Burned' }],
  ['ride_escrow', { credit: 'Ride fare received in escrow', debit: 'Ride fare put into escrow' }],
  ['ride_pay', { credit: 'Ride payment received', debit: 'Ride payment sent' }],
  ['ride_refund', { credit: 'Ride refund received', debit: 'Ride refund sent' }],
  ['tx_fee_paid', { debit: 'Transaction fee paid' }],
  ['tx_fee_earned', { credit: 'Transaction fees earned' }],
  ['block_reward', { credit: 'Block reward received', debit: 'Block reward paid' }],
  ['referrer_fee', { credit: 'Referrer fee received', debit: 'Referrer fee paid' }],
]);

/** An unknown kind is labelled with its own words. */
export function activityLabel(kind: string, direction: Direction): string {
  return LABELS.get(kind)?.[direction] ?? asWords(kind);
}

/** The known labels need no escapes. */
function labelJson(kind: string, direction: Direction): string {
  const label = LABELS.get(kind)?.[direction];
  return label === undefined ? JSON.stringify(asWords(kind)) : `"${label}"`;
}

function asWords(kind: string): string {
  const [first = '', ...rest] = kind.replaceAll('_', ' ').trim();
  return first.toUpperCase() + rest.join('');
}
