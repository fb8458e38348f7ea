/** Exports as files that only grow: in chain order, up to a block that the headers name. */
import { exportEnd } from '../../../projections/explorer/queries/export.ts';
import { clientOf } from '../../runtime/http/client-address.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import { rateLimited } from '../../runtime/http/rate-limit.ts';
import { byteaBytes } from '../../runtime/postgres/cells.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { SharedCounts } from '../../runtime/shared-counts.ts';
import { EXPLORER_ERRORS } from '../errors.ts';
import { withStringAmounts } from '../routes/amounts.ts';
import {
  invalid,
  parseActivityExport,
  parseAmounts,
  parseTransactionsExport,
  type GivenHeights,
  type InvalidRequest,
  type Parameters,
} from '../routes/parameters.ts';
import { STORED_STATUS } from '../routes/transactions.ts';
import { CSV, NDJSON, type ExportFormat } from './formats.ts';
import {
  activityPieces,
  addressActivityPieces,
  REORGANISED,
  transactionPieces,
  type Span,
} from './pieces.ts';
import { ExportSlots, type Started } from './slots.ts';

const RETRY_MS = 10_000;
/** Starts of one export whose last block leaves the chain before its first row is read. */
const STARTS_MAX = 10;

interface Export {
  readonly heights: GivenHeights;
  readonly read: (
    reader: Reader,
    span: Span,
    toLine: (item: string) => string,
  ) => AsyncGenerator<string>;
}

interface Kind {
  readonly name: string;
  /** of the items' JSON, in its order */
  readonly fields: string;
  readonly parse: (query: Parameters) => Export | InvalidRequest;
}

const TRANSACTIONS: Kind = {
  name: 'transactions',
  fields:
    'hash,block_height,from,to,amount,fee,status,function_call_type,is_ride_related,timestamp,' +
    'referrer,request_referrer_fee,offer_referrer_fee,nonce,tx_index,request_referrer,offer_referrer',
  parse: (query) => {
    const parsed = parseTransactionsExport(query);
    if ('refused' in parsed) return parsed;
    const { heights, block, status } = parsed;
    if (status !== undefined && status !== STORED_STATUS) return { heights, read: nothing };
    return {
      heights,
      read: (reader, span, toLine) =>
        transactionPieces(reader, within(span, block), parsed, toLine),
    };
  },
};

const ACTIVITY: Kind = {
  name: 'activity',
  fields:
    'address,kind,label,delta,direction,amount,tx_hash,block_height,tx_index,function_call_type,' +
    'counterparty,timestamp',
  parse: (query) => {
    const parsed = parseActivityExport(query);
    if ('refused' in parsed) return parsed;
    const { heights, address } = parsed;
    if (address === undefined) return { heights, read: activityPieces };
    return {
      heights,
      read: (reader, span, toLine) => addressActivityPieces(reader, span, address, toLine),
    };
  },
};

async function* nothing(): AsyncGenerator<string> {
  // no transaction has this status
}

function within(span: Span, block: bigint | undefined): Span {
  if (block === undefined) return span;
  const { low, high } = span.heights;
  return {
    ...span,
    heights: { low: block > low ? block : low, high: block < high ? block : high },
  };
}

/** At most `max` exports run at once, in all instances that share `counts`; 0: none. */
export function exportRoutes(
  reader: Reader,
  max: number,
  counts?: Pick<SharedCounts, 'run'>,
): readonly GetRoute[] {
  const slots = new ExportSlots(max, counts);
  return [TRANSACTIONS, ACTIVITY].flatMap((kind) =>
    [CSV, NDJSON].map((format) => exportRoute(reader, slots, kind, format)),
  );
}

function stringAmountsRow(object: string): string {
  return NDJSON.row(withStringAmounts(object));
}

function exportRoute(
  reader: Reader,
  slots: ExportSlots,
  { name, fields, parse }: Kind,
  { extension, content_type, opening, row }: ExportFormat,
): GetRoute {
  return {
    method: 'get',
    path: `/api/v1/export/${name}.${extension}`,
    handle: async (request) => {
      if (slots.max === 0) return { refused: 'not_found', message: 'exports are turned off here' };
      const parsed = parse(request.query);
      if ('refused' in parsed) return parsed;
      const amounts = parseAmounts(request.query);
      if ('refused' in amounts) return amounts;
      // CSV has no numbers apart from text
      const toLine = amounts.are_strings && row === NDJSON.row ? stringAmountsRow : row;
      const held = await slots.hold(clientOf(request), () =>
        start(reader, parsed, toLine, request.method === 'HEAD' ? undefined : opening(fields)),
      );
      if (held === undefined)
        return rateLimited(
          RETRY_MS,
          EXPLORER_ERRORS,
          `as many exports are running as may at once, ${slots.max} in all and half of them for one client`,
        );
      if ('refused' in held) return held;
      const disposition = `attachment; filename="${name}.${extension}"`;
      const headers = { 'content-disposition': disposition, ...held.headers };
      return { status: 200, body: held.body, content_type, headers };
    },
  };
}

/**
 * Reads the first piece, which shows that the block of the headers is still on the chain. Without
 * an `opening`, as for HEAD, only that block is read.
 */
async function start(
  reader: Reader,
  { heights, read }: Export,
  toLine: (item: string) => string,
  opening: string | undefined,
): Promise<Started | InvalidRequest> {
  for (let starts = 1; ; starts++) {
    const span = await readSpan(reader, heights);
    if (span !== undefined && 'refused' in span) return span;
    const headers = endHeaders(span);
    const pieces = span === undefined ? nothing() : read(reader, span, toLine);
    if (opening === undefined) return { pieces, headers };
    const first = await pieces.next().catch((error: unknown) => {
      if (error instanceof Fault && error.code === REORGANISED && starts < STARTS_MAX)
        return undefined;
      throw error;
    });
    if (first !== undefined) return { pieces: joined(opening, first, pieces), headers };
  }
}

async function* joined(
  opening: string,
  first: IteratorResult<string, unknown>,
  rest: AsyncGenerator<string>,
): AsyncGenerator<string> {
  yield first.done === true ? opening : opening + first.value;
  yield* rest;
}

function endHeaders(span: Span | undefined): Readonly<Record<string, string>> {
  if (span === undefined) return {};
  return {
    'x-clt-to-height': String(span.end.height),
    'x-clt-to-hash': `0x${span.end.hash.toString('hex')}`,
  };
}

/** The given heights as far as they are indexed; undefined while no block is. */
async function readSpan(
  reader: Reader,
  { from, to }: GivenHeights,
): Promise<Span | undefined | InvalidRequest> {
  const [row] = await reader.rows(exportEnd(to));
  if (row === undefined) {
    return from === undefined && to === undefined
      ? undefined
      : invalid('no block is indexed yet: ask again later, or without from_height and to_height');
  }
  const [newest, lowest, hash] = row;
  const newestHeight = BigInt(newest ?? -1);
  const end = to ?? newestHeight;
  if (end > newestHeight)
    return invalid(
      `to_height must not be above the newest indexed block, ${newest}: leave it out to get all there is`,
    );
  if (hash === null || hash === undefined)
    return invalid(`to_height must not be below the lowest indexed block, ${lowest}`);
  if (from !== undefined && from > end)
    return invalid(
      `from_height must not be above the newest indexed block, ${newest}: ask again later`,
    );
  return {
    heights: { low: from ?? 0n, high: end },
    end: { height: end, hash: byteaBytes(hash) },
  };
}
