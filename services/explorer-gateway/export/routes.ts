/** Exports as files that only grow: in chain order, up to a block that the headers name. */
import { toHex } from '../../../schemas/address.ts';
import { exportEnd } from '../../../projections/explorer/queries/export.ts';
import { ACTIVITY } from '../../../schemas/explorer-api/accounts.ts';
import {
  EXPORT_ACTIVITY,
  EXPORT_BLOCKS,
  EXPORT_TRANSACTIONS,
} from '../../../schemas/explorer-api/operations.ts';
import { TRANSACTION_DETAIL } from '../../../schemas/explorer-api/transactions.ts';
import { invalid, type InvalidRequest, type Values } from '../../../schemas/http-api/parameters.ts';
import type { GetRoute, HttpRequest } from '../../runtime/http/handler.ts';
import type { HttpResponse } from '../../runtime/http/response.ts';
import type { ChainNode } from '../../runtime/clt-node.ts';
import { rateLimited } from '../../runtime/limits/rate.ts';
import { byteaBytes } from '../../runtime/postgres/cells.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { Fault, type Refusal } from '../../runtime/process/errors.ts';
import { EXPLORER_ERRORS } from '../errors.ts';
import { heightsOf, type GivenHeights } from '../routes/parameters.ts';
import { served, withStringAmounts } from '../routes/served.ts';
import { STORED_STATUS } from '../routes/transactions.ts';
import { CSV, NDJSON, type ExportFormat } from './formats.ts';
import { blockPieces } from './blocks.ts';
import {
  activityPieces,
  addressActivityPieces,
  REORGANISED,
  transactionPieces,
  type Span,
} from './pieces.ts';
import type { ExportSlots, Started } from '../../runtime/limits/long-reads.ts';

const RETRY_MS = 10_000;
/** Starts of one export whose last block leaves the chain before its first row is read. */
const STARTS_MAX = 10;

/** Makes the pieces of a file. */
type Read = (
  reader: Reader,
  span: Span,
  toLine: (item: string) => string,
) => AsyncGenerator<string>;

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

interface Kind {
  readonly name: string;
  /** of the items' JSON, in its order, separated by commas */
  readonly fields: string;
}
const TRANSACTIONS: Kind = {
  name: 'transactions',
  fields: Object.keys(TRANSACTION_DETAIL.properties).join(','),
};
/** A line of it is no flat object, so there is no CSV. */
const BLOCKS: Kind = { name: 'blocks', fields: '' };
const CHANGES: Kind = { name: 'activity', fields: Object.keys(ACTIVITY.properties).join(',') };

/** `slots`: of all exports at once; without any, none is served. */
export function exportRoutes(
  reader: Reader,
  node: Pick<ChainNode, 'chain' | 'blocks'>,
  slots: ExportSlots,
): readonly GetRoute[] {
  const rows = [CSV, NDJSON].flatMap((format) => [
    served(EXPORT_TRANSACTIONS[format.extension], (values, request) => {
      const { block, status } = values;
      const read: Read =
        status !== undefined && status !== STORED_STATUS
          ? nothing
          : (own, span, toLine) => transactionPieces(own, within(span, block), values, toLine);
      return exported(reader, slots, format, TRANSACTIONS, values, read, request);
    }),
    served(EXPORT_ACTIVITY[format.extension], (values, request) => {
      const { address } = values;
      const read: Read =
        address === undefined
          ? activityPieces
          : (own, span, toLine) => addressActivityPieces(own, span, address, toLine);
      return exported(reader, slots, format, CHANGES, values, read, request);
    }),
  ]);
  const readBlocks: Read = (_reader, span, toLine) => blockPieces(node, span, toLine);
  const readChain = () => chainHeaders(node);
  const blocks = served(EXPORT_BLOCKS, (values, request) =>
    exported(reader, slots, NDJSON, BLOCKS, values, readBlocks, request, readChain),
  );
  const routes = [...rows, blocks];
  return slots.max > 0
    ? routes
    : routes.map(({ method, path }) => ({ method, path, handle: turnedOff }));
}

async function chainHeaders(
  node: Pick<ChainNode, 'chain'>,
): Promise<Readonly<Record<string, string>>> {
  const { chain_id: chainId, mint_authority: mintAuthority } = await node.chain();
  return { 'x-clt-chain-id': String(chainId), 'x-clt-mint-authority': toHex(mintAuthority) };
}

function turnedOff(): Refusal {
  return { refused: 'not_found', message: 'exports are turned off here' };
}

function stringAmountsRow(object: string): string {
  return NDJSON.row(withStringAmounts(object));
}

async function exported(
  reader: Reader,
  slots: ExportSlots,
  { extension, content_type, opening, row }: ExportFormat,
  { name, fields }: Kind,
  values: Values<typeof EXPORT_BLOCKS.parameters>,
  read: Read,
  request: HttpRequest,
  /** more headers, read in the slot of the export */
  headersOf: () => Promise<Readonly<Record<string, string>>> = () => Promise.resolve({}),
): Promise<HttpResponse | Refusal> {
  const heights = heightsOf(values);
  if ('refused' in heights) return heights;
  // CSV has no numbers apart from text
  const isText = 'amounts' in values && values.amounts !== undefined && extension === 'ndjson';
  const toLine = isText ? stringAmountsRow : row;
  const first = request.method === 'HEAD' ? undefined : opening(fields);
  let more: Readonly<Record<string, string>> = {};
  const held = await slots.hold(request.exchange.client, async () => {
    more = await headersOf();
    return start(reader, heights, (span) => read(reader, span, toLine), first);
  });
  if (held === undefined)
    return rateLimited(
      RETRY_MS,
      EXPLORER_ERRORS,
      `as many exports are running as may at once, ${slots.max} in all and half of them for one client`,
    );
  if ('refused' in held) return held;
  const disposition = `attachment; filename="${name}.${extension}"`;
  const headers = { 'content-disposition': disposition, ...held.headers, ...more };
  return { status: 200, body: held.body, content_type, headers };
}

/**
 * Reads the first piece, which shows that the block of the headers is still on the chain. Without
 * an `opening`, as for HEAD, only that block is read.
 */
async function start(
  reader: Reader,
  heights: GivenHeights,
  read: (span: Span) => AsyncGenerator<string>,
  opening: string | undefined,
): Promise<Started | InvalidRequest> {
  for (let starts = 1; ; starts++) {
    const span = await readSpan(reader, heights);
    if (span !== undefined && 'refused' in span) return span;
    const headers = endHeaders(span);
    const pieces = span === undefined ? nothing() : read(span);
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
