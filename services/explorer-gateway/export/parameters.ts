/** Parses the parameters of exports; see routes/parameters.ts. */
import {
  filterOf,
  invalid,
  parseDecimal,
  pick,
  type InvalidRequest,
  type Parameters,
} from '../routes/parameters.ts';

/** As given, not yet compared with the indexed heights. */
export interface GivenHeights {
  readonly from: bigint | undefined;
  readonly to: bigint | undefined;
}

export interface TransactionsExport {
  readonly heights: GivenHeights;
  readonly block: bigint | undefined;
  readonly address: Buffer | undefined;
  readonly type: string | undefined;
  readonly status: string | undefined;
}

export interface ActivityExport {
  readonly heights: GivenHeights;
  readonly address: Buffer | undefined;
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
  const heights = parseHeights(given);
  return 'refused' in heights ? heights : { heights, ...filter, status: given.status };
}

/** address, from_height, to_height. */
export function parseActivityExport(parameters: Parameters): ActivityExport | InvalidRequest {
  const given = pick(parameters, ['address', ...HEIGHTS]);
  if ('refused' in given) return given;
  const filter = filterOf(given);
  if ('refused' in filter) return filter;
  const heights = parseHeights(given);
  return 'refused' in heights ? heights : { heights, address: filter.address };
}

function parseHeights(given: {
  readonly from_height?: string;
  readonly to_height?: string;
}): GivenHeights | InvalidRequest {
  for (const name of HEIGHTS) {
    const text = given[name];
    if (text !== undefined && parseDecimal(text) === undefined)
      return invalid(`${name} must be the height of a block, a decimal integer`);
  }
  const from = parseDecimal(given.from_height ?? '');
  const to = parseDecimal(given.to_height ?? '');
  return from !== undefined && to !== undefined && from > to
    ? invalid('from_height must not be above to_height')
    : { from, to };
}
