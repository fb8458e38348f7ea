/** The export of what the explorer shows, as files that only grow: in chain order, up to a block that the answer's head names. */
import { exportEnd } from '../../../projections/explorer/queries/export.ts';
import type { HttpResponse, HttpRequest, GetRoute } from '../../runtime/http/handler.ts';
import { Fault, type Refusal } from '../../runtime/process/errors.ts';
import { byteaBytes } from '../../runtime/postgres/cells.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { clientOf } from '../../runtime/http/client-address.ts';
import { tooMany } from '../error-answers.ts';
import { CSV, NDJSON } from './formats.ts';
import { parseActivityExport, parseTransactionsExport, type AskedHeights } from './parameters.ts';
import {
  activityPieces,
  addressActivityPieces,
  REORGANISED,
  transactionPieces,
  type Span,
} from './pieces.ts';
import { ExportSlots } from './slots.ts';
import { invalid, type InvalidRequest, type Parameters } from '../routes/parameters.ts';
import { STORED_STATUS } from '../routes/transactions.ts';

/** Of the items' JSON, in its order. */
const TRANSACTION_FIELDS =
  'hash,block_height,from,to,amount,fee,status,function_call_type,is_ride_related,timestamp,referrer,request_referrer_fee,offer_referrer_fee,nonce,tx_index,request_referrer,offer_referrer'.split(
    ',',
  );
const ACTIVITY_FIELDS =
  'address,kind,label,delta,direction,amount,tx_hash,block_height,tx_index,function_call_type,counterparty,timestamp'.split(
    ',',
  );

type Read = (
  reader: Reader,
  span: Span,
  render: (item: string) => string,
) => AsyncGenerator<string>;

interface Export {
  readonly heights: AskedHeights;
  readonly read: Read;
}

/** At most `max` of them run at once; 0: none. */
export function exportRoutes(reader: Reader, max: number): readonly GetRoute[] {
  const slots = new ExportSlots(max);
  return [
    ...bothFormats(reader, slots, {
      name: 'transactions',
      fields: TRANSACTION_FIELDS,
      ask: askTransactions,
    }),
    ...bothFormats(reader, slots, { name: 'activity', fields: ACTIVITY_FIELDS, ask: askActivity }),
  ];
}

function askTransactions(query: Parameters): Export | InvalidRequest {
  const asked = parseTransactionsExport(query);
  if ('refused' in asked) return asked;
  const { heights, block, status } = asked;
  const isNone = status !== undefined && status !== STORED_STATUS;
  return {
    heights,
    read: isNone
      ? nothing
      : (source, span, render) => transactionPieces(source, within(span, block), asked, render),
  };
}

function askActivity(query: Parameters): Export | InvalidRequest {
  const asked = parseActivityExport(query);
  if ('refused' in asked) return asked;
  const { heights, address } = asked;
  return {
    heights,
    read:
      address === undefined
        ? activityPieces
        : (source, span, render) => addressActivityPieces(source, span, address, render),
  };
}

async function* nothing(): AsyncGenerator<string> {
  // no status is stored that anybody could ask for here
}

function within(span: Span, block: bigint | undefined): Span {
  if (block === undefined) return span;
  const { low, high } = span.heights;
  return {
    ...span,
    heights: { low: block > low ? block : low, high: block < high ? block : high },
  };
}

interface Exported {
  readonly name: string;
  readonly fields: readonly string[];
  readonly ask: (query: Parameters) => Export | InvalidRequest;
}

function bothFormats(
  reader: Reader,
  slots: ExportSlots,
  { name, fields, ask }: Exported,
): readonly GetRoute[] {
  return [CSV, NDJSON].map(({ extension, content_type: type, opening, row }): GetRoute => {
    const handle = async (request: HttpRequest): Promise<HttpResponse | Refusal> => {
      const { query, method } = request;
      if (slots.max === 0) return { refused: 'not_found', message: 'exports are turned off here' };
      const asked = ask(query);
      if ('refused' in asked) return asked;
      const begun = await slots.hold(clientOf(request), () =>
        begin(reader, asked, row, method === 'HEAD' ? undefined : opening(fields)),
      );
      if (begun === undefined) return busy(slots);
      if ('refused' in begun) return begun;
      const disposition = { 'content-disposition': `attachment; filename="${name}.${extension}"` };
      return {
        status: 200,
        body: begun.body,
        content_type: type,
        headers: { ...disposition, ...begun.headers },
      };
    };
    return { method: 'get', path: `/api/v1/export/${name}.${extension}`, handle };
  });
}

/** How often an export is begun whose last block leaves the chain before its first row is read. */
const BEGINNINGS_MAX = 10;

interface Begun {
  readonly pieces: AsyncGenerator<string>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Reads up to the first piece, which shows that the block that the head names still stands; without an opening, for the head alone, nothing but that block. */
async function begin(
  reader: Reader,
  asked: Export,
  render: (item: string) => string,
  opening: string | undefined,
): Promise<Begun | InvalidRequest> {
  for (let beginnings = 1; ; beginnings++) {
    const span = await spanOf(reader, asked.heights);
    if ('refused' in span) return span;
    const pieces = 'end' in span ? asked.read(reader, span, render) : nothing();
    if (opening === undefined) return { pieces, headers: endHeaders(span) };
    const first = await pieces.next().catch((error: unknown) => {
      if (error instanceof Fault && error.code === REORGANISED && beginnings < BEGINNINGS_MAX)
        return undefined;
      throw error;
    });
    if (first !== undefined)
      return { pieces: opened(opening, first, pieces), headers: endHeaders(span) };
  }
}

async function* opened(
  opening: string,
  first: IteratorResult<string, unknown>,
  rest: AsyncGenerator<string>,
): AsyncGenerator<string> {
  yield first.done === true ? opening : opening + first.value;
  yield* rest;
}

/** Of an index that holds no block yet. */
const EMPTY = {};
type Empty = typeof EMPTY;

function endHeaders(span: Span | Empty): Readonly<Record<string, string>> {
  if (!('end' in span)) return {};
  return {
    'x-clt-to-height': String(span.end.height),
    'x-clt-to-hash': `0x${span.end.hash.toString('hex')}`,
  };
}

/** What is indexed now, as far as it was asked for. */
async function spanOf(
  reader: Reader,
  { from, to }: AskedHeights,
): Promise<Span | Empty | InvalidRequest> {
  const [row] = await reader.rows(exportEnd(to));
  if (row === undefined) {
    return from === undefined && to === undefined
      ? EMPTY
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

const RETRY_SECONDS = 10;

function busy({ max }: ExportSlots): HttpResponse {
  return tooMany(
    `as many exports are running as may at once, ${max} in all and half of them for one client`,
    RETRY_SECONDS,
  );
}
