/**
 * Reads an export in pieces, each of one short statement. Every statement checks that the last
 * block of the export is still on the chain, so all pieces belong to one chain.
 */
import type { Query } from '../../../projections/contract/page.ts';
import {
  activityOrdinals,
  activityPiece,
  addressActivityPiece,
  addressOrdinals,
  beforeBlock,
  seqsOf,
  transactionsPiece,
  typeOrdinals,
  type ActivityCursor,
  type ExportEnd,
  type Heights,
  type Ordinals,
  type TransactionScan,
} from '../../../projections/explorer/queries/export.ts';
import { toHex } from '../../../schemas/address.ts';
import { byteaBytes, byteaHex } from '../../runtime/postgres/cells.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import { assert, Fault } from '../../runtime/process/errors.ts';
import { activityItem, transactionDetail } from '../routes/json.ts';

/** Code of the fault that the last block of the export has left the chain. */
export const REORGANISED = 'storage_conflict';

/** The blocks of an export. */
export interface Span {
  /** heights of the blocks; there are none when `low` is above `high` */
  readonly heights: Heights;
  readonly end: ExportEnd;
}

/** Turns the JSON of an item into a line of the file. */
type ToLine = (item: string) => string;

/** Adapts the rows of a piece to the size of the last one: about 64 KiB of text. */
class PieceSize {
  static readonly #CHARACTERS = 1 << 16;
  static readonly #ROWS_MAX = 250;
  rows = 100;

  text(rows: readonly Cells[], toJson: (cells: Cells) => string, toLine: ToLine): string {
    const text = rows.map((cells) => toLine(toJson(cells))).join('');
    if (rows.length > 0)
      this.rows = Math.ceil(
        Math.min(PieceSize.#ROWS_MAX, (PieceSize.#CHARACTERS * rows.length) / text.length),
      );
    return text;
  }
}

/** Rows that one statement scans where a second filter may drop most of them. */
const SCANNED_ROWS = 2_000n;
/** Column of the ordinal in rows of `transactionsPiece`. */
const ORDINAL_AT = -2;

/**
 * The transactions of these blocks, oldest first, from or to the address, of the type. A piece may
 * be empty. Throws a `Fault` when the chain is reorganised meanwhile.
 */
export async function* transactionPieces(
  reader: Reader,
  { heights, end }: Span,
  filter: { readonly address: Buffer | undefined; readonly type: string | undefined },
  toLine: ToLine,
): AsyncGenerator<string> {
  if (heights.low > heights.high) return;
  const { scan, ordinals } = await shortestScan(reader, heights, end, filter);
  const isFiltered =
    scan.by === 'address'
      ? scan.type !== undefined
      : scan.by === 'type' && scan.address !== undefined;
  const size = new PieceSize();
  for (let { low } = ordinals; low < ordinals.high;) {
    const limit = size.rows;
    const high = least(low + (isFiltered ? SCANNED_ROWS : BigInt(limit)), ordinals.high);
    const rows = withoutNulls(
      await readUnmoved(reader, transactionsPiece(scan, { low, high }, limit, end)),
    );
    assert(isFiltered || BigInt(rows.length) === high - low, 'ordinals are dense');
    low = rows.length === limit ? BigInt(rows.at(-1)?.at(ORDINAL_AT) ?? high) + 1n : high;
    yield size.text(rows, transactionDetail, toLine);
  }
}

interface Scan {
  readonly scan: TransactionScan;
  readonly ordinals: Ordinals;
}

/** By address or type, whichever has fewer transactions; without either by block. */
async function shortestScan(
  reader: Reader,
  heights: Heights,
  end: ExportEnd,
  { address, type }: { readonly address: Buffer | undefined; readonly type: string | undefined },
): Promise<Scan> {
  const seqs = await readOrdinals(reader, seqsOf(heights, end));
  const scans: Scan[] = [];
  if (address !== undefined) {
    scans.push({
      scan: { by: 'address', address, type },
      ordinals: await readOrdinals(reader, addressOrdinals(address, seqs, end)),
    });
  }
  if (type !== undefined) {
    scans.push({
      scan: { by: 'type', type, address },
      ordinals: await readOrdinals(reader, typeOrdinals(type, seqs, end)),
    });
  }
  const [shortest] = scans.toSorted((one, other) => Number(lengthOf(one) - lengthOf(other)));
  return shortest ?? { scan: { by: 'seq' }, ordinals: seqs };
}

function lengthOf({ ordinals }: Scan): bigint {
  return ordinals.high - ordinals.low;
}

/**
 * The activity of an address in these blocks, oldest first. Throws a `Fault` when the chain is
 * reorganised meanwhile.
 */
export async function* addressActivityPieces(
  reader: Reader,
  { heights, end }: Span,
  address: Buffer,
  toLine: ToLine,
): AsyncGenerator<string> {
  const ordinals = await readOrdinals(reader, activityOrdinals(address, heights, end));
  const own = toHex(address);
  const size = new PieceSize();
  for (let { low } = ordinals; low < ordinals.high;) {
    const high = least(low + BigInt(size.rows), ordinals.high);
    const query = addressActivityPiece(address, { low, high }, size.rows, end);
    const rows = withoutNulls(await readUnmoved(reader, query));
    assert(BigInt(rows.length) === high - low, 'ordinals are dense');
    low = high;
    yield size.text(rows, (cells) => activityItem(cells, own), toLine);
  }
}

/** Columns of `activityPiece`: the cursor of a row, and the height up to which it has read. */
const [HEIGHT, ADDRESS, SEQ, ORDINAL, UP_TO] = [3, 8, 9, 10, 11];

/**
 * All activity in these blocks: by block, in it by transaction with the block's own effects last,
 * in that by address, in the order in which the balance moved. Throws a `Fault` when the chain is
 * reorganised meanwhile.
 */
export async function* activityPieces(
  reader: Reader,
  { heights, end }: Span,
  toLine: ToLine,
): AsyncGenerator<string> {
  const size = new PieceSize();
  for (let after = beforeBlock(heights.low); after.height <= heights.high;) {
    const limit = size.rows;
    const read = await readUnmoved(reader, activityPiece(after, heights.high, limit, end));
    const upTo = BigInt(read[0]?.[UP_TO] ?? -1);
    const rows = withoutNulls(read);
    const last = rows.length === limit ? rows.at(-1) : undefined;
    after = last === undefined ? beforeBlock(upTo + 1n) : cursorOf(last);
    yield size.text(rows, (cells) => activityItem(cells, byteaHex(cells[ADDRESS])), toLine);
  }
}

function cursorOf(cells: Cells): ActivityCursor {
  const at = (column: number): bigint => BigInt(cells[column] ?? -1);
  return {
    height: at(HEIGHT),
    seq: at(SEQ),
    address: byteaBytes(cells[ADDRESS]),
    ordinal: at(ORDINAL),
  };
}

async function readOrdinals(reader: Reader, query: Query): Promise<Ordinals> {
  const [[low, high] = []] = await readUnmoved(reader, query);
  return { low: BigInt(low ?? 0), high: BigInt(high ?? 0) };
}

/** A query without matches gives one row of nulls, for its last column. */
function withoutNulls(rows: readonly Cells[]): readonly Cells[] {
  return rows[0]?.[0] === null ? [] : rows;
}

/** Rows whose last column is true while the end of the export is still on the chain. */
async function readUnmoved(reader: Reader, query: Query): Promise<readonly Cells[]> {
  const rows = await reader.rows(query);
  if (rows[0]?.at(-1) === 't') return rows;
  const message = 'the chain was reorganised during the export: request it again';
  throw new Fault(REORGANISED, message, { retry: true });
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
