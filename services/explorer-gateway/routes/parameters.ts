/** Pages, filters and ranges, of parameters that are read already; a refusal repeats no input. */
import type { Page } from '../../../projections/contract/page.ts';
import type {
  ScanBy,
  TransactionFilter,
} from '../../../projections/explorer/queries/transactions.ts';
import { BUCKETS, type Range } from '../../../projections/series/queries.ts';
import { toHex } from '../../../schemas/address.ts';
import type { GET_SERIES } from '../../../schemas/explorer-api/operations.ts';
import type { PAGE } from '../../../schemas/explorer-api/parameters.ts';
import {
  invalid,
  type Given,
  type InvalidRequest,
  type Values,
} from '../../../schemas/http-api/parameters.ts';
import { decodeCursor } from './responses.ts';

type PageValues = Values<typeof PAGE>;

/** `below`: what the cursor stands for; undefined: nothing in this list. */
function pageBelow(
  { limit, offset, cursor }: PageValues,
  below: bigint | undefined,
): Page | InvalidRequest {
  if (cursor === undefined) return { limit, offset: offset ?? 0n };
  if (offset !== undefined)
    return invalid('offset and cursor must not be combined: give one of them');
  return below === undefined
    ? invalid(
        'cursor must be one that came in a Link header of the same list with the same filters',
      )
    : { limit, below };
}

/** The page of `list`. */
export function pageOf(values: PageValues, list: string): Page | InvalidRequest {
  return pageBelow(values, decodeCursor(list, values.cursor));
}

/** The page of transactions, and the ordinal where the cursor continues; undefined without one. */
export function transactionsPageOf(
  values: PageValues,
  filter: TransactionFilter,
): { readonly page: Page; readonly by: ScanBy | undefined } | InvalidRequest {
  const { cursor } = values;
  const by =
    cursor === undefined
      ? undefined
      : SCANS.find((each) => decodeCursor(transactionsList(filter, each), cursor) !== undefined);
  const page = pageBelow(values, by && decodeCursor(transactionsList(filter, by), cursor));
  return 'refused' in page ? page : { page, by };
}

const SCANS: readonly ScanBy[] = ['address', 'type'];

/** An address and a type have an ordinal each, but none together: rows of one are scanned. */
export function needsScan({ block, address, type }: TransactionFilter): boolean {
  return block === undefined && address !== undefined && type !== undefined;
}

/** The list of these transactions for `encodeCursor`; a scan has its own ordinals. */
export function transactionsList(filter: TransactionFilter, by: ScanBy): string {
  const { block, address, type } = filter;
  return JSON.stringify([
    'transactions',
    String(block),
    address === undefined ? null : toHex(address),
    type,
    needsScan(filter) ? by : null,
  ]);
}

/** The parameters of these names as given, for the link to the next page. */
export function asGiven(query: Given, names: readonly string[]): Readonly<Record<string, string>> {
  const given: Record<string, string> = {};
  for (const name of Object.keys(query)) {
    const text = query[name];
    if (typeof text === 'string' && names.includes(name)) given[name] = text;
  }
  return given;
}

/** The last time that a Date can hold, Unix ms. */
const TIME_MAX = 8_640_000_000_000_000;

/** The buckets that begin at `from` or later and before `to`. */
export function rangeOf({
  by,
  from = 0,
  to = TIME_MAX,
  limit,
}: Values<typeof GET_SERIES.parameters>): Range | InvalidRequest {
  if (from >= to) return invalid('from must be before to');
  const { ms } = BUCKETS[by];
  return { by, from: Math.ceil(from / ms), to: Math.ceil(to / ms), limit };
}

/** As given, not yet compared with the indexed heights. */
export interface GivenHeights {
  readonly from: bigint | undefined;
  readonly to: bigint | undefined;
}

export function heightsOf({
  from_height: fromHeight,
  to_height: toHeight,
}: {
  readonly from_height: bigint | undefined;
  readonly to_height: bigint | undefined;
}): GivenHeights | InvalidRequest {
  return fromHeight !== undefined && toHeight !== undefined && fromHeight > toHeight
    ? invalid('from_height must not be above to_height')
    : { from: fromHeight, to: toHeight };
}
