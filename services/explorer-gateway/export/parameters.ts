/** What may be asked of an export; see parameters.ts. */
import { parseAddress } from '../../../schemas/address.ts';
import {
  filterOf,
  invalid,
  parseDecimal,
  pick,
  type InvalidRequest,
  type Parameters,
} from '../routes/parameters.ts';

/** As asked, not yet held against what is indexed. */
export interface AskedHeights {
  readonly from: bigint | undefined;
  readonly to: bigint | undefined;
}

export interface TransactionsExport {
  readonly heights: AskedHeights;
  readonly block: bigint | undefined;
  readonly address: Buffer | undefined;
  readonly type: string | undefined;
  readonly status: string | undefined;
}

const HEIGHTS = ['from_height', 'to_height'] as const;

/** address, block, type, status, from_height, to_height. */
export function parseTransactionsExport(
  parameters: Parameters,
): TransactionsExport | InvalidRequest {
  const given = pick(parameters, ['address', 'block', 'type', 'status', ...HEIGHTS]);
  if ('refused' in given) return given;
  const filter = filterOf(given);
  if ('refused' in filter) return filter;
  const heights = heightsOf(given);
  return 'refused' in heights ? heights : { heights, ...filter, status: given.status };
}

export interface ActivityExport {
  readonly heights: AskedHeights;
  readonly address: Buffer | undefined;
}

/** address, from_height, to_height. */
export function parseActivityExport(parameters: Parameters): ActivityExport | InvalidRequest {
  const given = pick(parameters, ['address', ...HEIGHTS]);
  if ('refused' in given) return given;
  const address = given.address === undefined ? undefined : parseAddress(given.address);
  if (given.address !== undefined && address === undefined)
    return invalid('address must be 40 hex digits, with or without 0x');
  const heights = heightsOf(given);
  return 'refused' in heights ? heights : { heights, address };
}

function heightsOf(given: {
  readonly from_height?: string;
  readonly to_height?: string;
}): AskedHeights | InvalidRequest {
  const from = heightOf('from_height', given.from_height);
  if (typeof from === 'object') return from;
  const to = heightOf('to_height', given.to_height);
  if (typeof to === 'object') return to;
  return from !== undefined && to !== undefined && from > to
    ? invalid('from_height must not be above to_height')
    : { from, to };
}

function heightOf(name: string, text: string | undefined): bigint | InvalidRequest | undefined {
  if (text === undefined) return undefined;
  return parseDecimal(text) ?? invalid(`${name} must be the height of a block, a decimal integer`);
}
