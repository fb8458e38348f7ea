/**
 * The interface's bodies as JSON text, made from the columns as Postgres writes them: integers keep
 * every digit, since none becomes a JavaScript number.
 */
import type { Page } from '../../../projections/contract/page.ts';
import { byteaDigits, isoTime, type Cell } from '../../runtime/postgres/cells.ts';
import type { Cells } from '../../runtime/postgres/pool.ts';

/**
 * 0x and hex digits in quotes, or null. Where there is no null, the quotes and the 0x belong into
 * the text around the digits: a list is made faster of fewer pieces.
 */
export function hex(bytea: Cell): string {
  return bytea === null || bytea === undefined ? 'null' : `"0x${bytea.slice(2)}"`;
}

/** ISO 8601 in quotes. */
export function time(timestamptz: Cell): string {
  if (timestamptz !== last.timestamptz) last = timed(timestamptz ?? '');
  return last.json;
}

function timed(timestamptz: string): { readonly timestamptz: string; readonly json: string } {
  return { timestamptz, json: `"${isoTime(timestamptz)}"` };
}

/** Cached, since neighbours in a list are mostly of the same block and time. */
let last = timed('1970-01-01 00:00:00+00');

function blockFields(cells: Cells): string {
  const [height, hash, txCount, producer, rewardRecipient, blockReward, timestamp] = cells;
  return (
    `"height":${height},"hash":"0x${byteaDigits(hash)}","tx_count":${txCount},"producer":"0x${byteaDigits(producer)}","reward_recipient":"0x${byteaDigits(rewardRecipient)}",` +
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
    `"hash":"0x${byteaDigits(hash)}","block_height":${height},"from":"0x${byteaDigits(from)}","to":"0x${byteaDigits(to)}","amount":${amount},"fee":${fee},"status":"confirmed",` +
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

/** Turns a row of `accountByAddress` into JSON; `address` is the row's, `0x..`. */
export function accountBody(address: string): (cells: Cells) => string {
  return ([balance, nonce, transactions, activities, isContract]) =>
    `{"address":"${address}","balance":${balance},"nonce":${nonce},"tx_count":${transactions},"activity_count":${activities},` +
    `"is_contract":${isContract === 't'}}`;
}

/**
 * Turns rows of `activityPage` into JSON; `address` is the rows', `0x..`. Effects of a block itself
 * have no counterparty, even if the chain names one.
 */
export function activityItem(address: string): (cells: Cells) => string {
  const opening = `{"address":"${address}",`;
  return ([kind, delta, height, hash, index, type, counterparty, timestamp]) => {
    const text = delta ?? '';
    const isDebit = text.startsWith('-');
    const movement = isDebit
      ? `"delta":${text},"direction":"debit","amount":${text.slice(1)}`
      : `"delta":${text},"direction":"credit","amount":${text}`;
    const cause =
      hash === null || hash === undefined
        ? `"tx_hash":null,"block_height":${height},"tx_index":null,"function_call_type":null,"counterparty":null`
        : `"tx_hash":${hex(hash)},"block_height":${height},"tx_index":${index},"function_call_type":${JSON.stringify(type)},"counterparty":${hex(counterparty)}`;
    return `${opening}${kindFields(kind ?? '', isDebit ? 'debit' : 'credit')},${movement},${cause},"timestamp":${time(timestamp)}}`;
  };
}

/**
 * A row of `blockEffectsPage` or `transactionEffectsPage`: activity, and the balance of the address
 * after it.
 */
export function effectItem(cells: Cells): string {
  const [address, balance] = cells.slice(8);
  const activity = activityItem(`0x${address?.slice(2)}`)(cells);
  return `${activity.slice(0, -1)},"balance":${balance}}`;
}

/** A row of `balanceHistory`. */
export function balanceItem([height, timestamp, balance]: Cells): string {
  return `{"block_height":${height},"timestamp":${time(timestamp)},"balance":${balance}}`;
}

/** A row of `blockRecord`. Blocks are in the only partition of their topic. */
export function blockRecordBody([height, hash, offset]: Cells): string {
  return `{"height":${height},"hash":${hex(hash)},"topic":"chain.blocks","partition":0,"offset":${offset}}`;
}

function kindFields(kind: string, direction: Direction): string {
  return `"kind":${JSON.stringify(kind)},"label":${JSON.stringify(activityLabel(kind, direction))}`;
}

/** A row of `validatorsPage`. The peer id is unknown: a block names only its producer's address. */
export function validatorItem([address, isActive, produced]: Cells): string {
  return `{"address":${hex(address)},"is_active":${isActive === 't'},"blocks_produced":${produced},"peer_id":""}`;
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

function asWords(kind: string): string {
  const [first = '', ...rest] = kind.replaceAll('_', ' ').trim();
  return first.toUpperCase() + rest.join('');
}
