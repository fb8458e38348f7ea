/** The interface's bodies as JSON text, made in one go from the columns that Postgres wrote: integers keep every digit, since none becomes a number on the way. */
import type { Page } from '../../../projections/contract/page.ts';
import { isoTime, type Cell } from '../../runtime/postgres/cells.ts';
import type { Cells } from '../../runtime/postgres/pool.ts';

/** 0x and hex digits in quotes, or null. */
export function hex(bytea: Cell): string {
  return bytea === null || bytea === undefined ? 'null' : `"0x${bytea.slice(2)}"`;
}

/** A row's time in quotes. */
export function time(timestamptz: Cell): string {
  if (timestamptz !== last.timestamptz) last = timed(timestamptz ?? '');
  return last.json;
}

function timed(timestamptz: string): { readonly timestamptz: string; readonly json: string } {
  return { timestamptz, json: `"${isoTime(timestamptz)}"` };
}

/** Transactions of a block have its time, and stand together in most lists. */
let last = timed('1970-01-01 00:00:00+00');

function blockFields(cells: Cells): string {
  const [height, hash, txCount, producer, rewardRecipient, blockReward, timestamp] = cells;
  return (
    `"height":${height},"hash":${hex(hash)},"tx_count":${txCount},"producer":${hex(producer)},"reward_recipient":${hex(rewardRecipient)},` +
    `"block_reward":${blockReward},"timestamp":${time(timestamp)}`
  );
}

/** A row of `blocksPage`. */
export function blockItem(cells: Cells): string {
  return `{${blockFields(cells)}}`;
}

/** A row of `blockByHeight` or `blockByHash`. */
export function blockDetail(cells: Cells): string {
  const [parentHash, totalFees] = cells.slice(7);
  return `{${blockFields(cells)},"parent_hash":${hex(parentHash)},"total_fees":${totalFees}}`;
}

function transactionFields(cells: Cells): string {
  const [
    hash,
    height,
    from,
    to,
    amount,
    fee,
    type,
    isRideRelated,
    timestamp,
    referrer,
    requestFee,
    offerFee,
  ] = cells;
  return (
    `"hash":${hex(hash)},"block_height":${height},"from":${hex(from)},"to":${hex(to)},"amount":${amount},"fee":${fee},"status":"confirmed",` +
    `"function_call_type":${JSON.stringify(type)},"is_ride_related":${isRideRelated === 't'},"timestamp":${time(timestamp)},` +
    `"referrer":${hex(referrer)},"request_referrer_fee":${requestFee},"offer_referrer_fee":${offerFee}`
  );
}

/** A row of `transactionsPage`. */
export function transactionItem(cells: Cells): string {
  return `{${transactionFields(cells)}}`;
}

/** A row of `transactionByHash`. */
export function transactionDetail(cells: Cells): string {
  const [nonce, txIndex, requestReferrer, offerReferrer] = cells.slice(12);
  return (
    `{${transactionFields(cells)},"nonce":${nonce},"tx_index":${txIndex},` +
    `"request_referrer":${hex(requestReferrer)},"offer_referrer":${hex(offerReferrer)}}`
  );
}

/** The envelope: `total` is the offset plus what the page holds, `has_more` whether it is full. A page below a place counts from there: its offset is 0. */
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

/** A JSON number that shows that it is not an integer: 0.0, 1.0, 0.25. */
function decimal(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

/** The row of `stats`, or none: nothing is indexed yet. */
export function statsBody(cells: Cells = ['0', '0', '0', '0', '0', '0']): string {
  const [height, total, blocks, transactions, producers, span] = cells;
  const gaps = Number(blocks) - 1;
  const seconds = Number(span) / 1_000;
  // several blocks of the same time have no rate either
  const measurable = gaps > 0 && seconds > 0;
  return (
    `{"latest_height":${gaps < 0 ? 0 : height},"tx_per_second":${decimal(measurable ? Number(transactions) / seconds : 0)},` +
    `"total_transactions":${total},"active_validators":${producers},"avg_block_time_seconds":${decimal(measurable ? seconds / gaps : 0)}}`
  );
}
