/** An export read piece by piece: each is one short statement, none is kept, and each is known to be of the chain that the first one was of. */
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
import type { Query } from '../../../projections/contract/page.ts';
import { toHex } from '../../../schemas/address.ts';
import { assert, Fault } from '../../runtime/process/errors.ts';
import { byteaBytes, byteaHex } from '../../runtime/postgres/cells.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import { activityItem } from '../routes/account-json.ts';
import { transactionDetail } from '../routes/json.ts';

/** Code of the fault that the block up to which is exported has left the chain. */
export const REORGANISED = 'storage_conflict';

/** What is exported. */
export interface Span {
  /** none when `low` is above `high` */
  readonly heights: Heights;
  readonly end: ExportEnd;
}

/** Makes text of an item's JSON. */
type Render = (item: string) => string;

/** How many rows a piece may have: as many as give about a quarter of a mebibyte of text, going by the last one. */
class PieceSize {
  static readonly #CHARACTERS = 1 << 18;
  static readonly #ROWS_MAX = 1_000;
  rows = 250;

  /** These rows as text. */
  text(rows: readonly Cells[], item: (cells: Cells) => string, render: Render): string {
    const text = rows.map((cells) => render(item(cells))).join('');
    if (rows.length > 0)
      this.rows = Math.ceil(
        Math.min(PieceSize.#ROWS_MAX, (PieceSize.#CHARACTERS * rows.length) / text.length),
      );
    return text;
  }
}

/** Of a way on which most rows may be left out, so many are looked through by one statement. */
const LOOKED_THROUGH = 2_000n;
/** In the rows of `transactionsPiece` and `addressActivityPiece`. */
const PLACE = -2;

/** The transactions of these blocks, oldest first, from or to the address, of the type. A piece may be empty. Throws a `Fault` when the chain was reorganised meanwhile. */
export async function* transactionPieces(
  reader: Reader,
  { heights, end }: Span,
  { address, type }: { readonly address: Buffer | undefined; readonly type: string | undefined },
  render: Render,
): AsyncGenerator<string> {
  if (heights.low > heights.high) return;
  const seqs = await ordinalsIn(reader, seqsOf(heights, end));
  const { way, ordinals } = await wayTo(reader, seqs, address, type, end);
  const leavesOut =
    way.by === 'address' ? way.type !== undefined : way.by === 'type' && way.address !== undefined;
  const size = new PieceSize();
  for (let { low } = ordinals; low < ordinals.high;) {
    const limit = size.rows;
    const high = least(low + (leavesOut ? LOOKED_THROUGH : BigInt(limit)), ordinals.high);
    const rows = await standing(reader, transactionsPiece(way, { low, high }, limit, end));
    assert(leavesOut || BigInt(rows.length) === high - low, 'ordinals are dense');
    low = rows.length === limit ? BigInt(rows.at(-1)?.at(PLACE) ?? high) + 1n : high;
    yield size.text(rows, transactionDetail, render);
  }
}

interface Way {
  readonly way: TransactionScan;
  readonly ordinals: Ordinals;
}

/** Along the shorter one of two. */
async function wayTo(
  reader: Reader,
  seqs: Ordinals,
  address: Buffer | undefined,
  type: string | undefined,
  end: ExportEnd,
): Promise<Way> {
  const ways: Way[] = [];
  if (address !== undefined) {
    ways.push({
      way: { by: 'address', address, type },
      ordinals: await ordinalsIn(reader, addressOrdinals(address, seqs, end)),
    });
  }
  if (type !== undefined) {
    ways.push({
      way: { by: 'type', type, address },
      ordinals: await ordinalsIn(reader, typeOrdinals(type, seqs, end)),
    });
  }
  const [shortest] = ways.toSorted((one, other) => Number(lengthOf(one) - lengthOf(other)));
  return shortest ?? { way: { by: 'seq' }, ordinals: seqs };
}

function lengthOf({ ordinals }: Way): bigint {
  return ordinals.high - ordinals.low;
}

/** The activity of an address in these blocks, oldest first. Throws a `Fault` when the chain was reorganised meanwhile. */
export async function* addressActivityPieces(
  reader: Reader,
  { heights, end }: Span,
  address: Buffer,
  render: Render,
): AsyncGenerator<string> {
  const ordinals = await ordinalsIn(reader, activityOrdinals(address, heights, end));
  const item = activityItem(toHex(address));
  const size = new PieceSize();
  for (let { low } = ordinals; low < ordinals.high;) {
    const high = least(low + BigInt(size.rows), ordinals.high);
    const rows = await standing(
      reader,
      addressActivityPiece(address, { low, high }, size.rows, end),
    );
    assert(BigInt(rows.length) === high - low, 'ordinals are dense');
    low = high;
    yield size.text(rows, item, render);
  }
}

/** Where `activityPiece` tells the place of a row, and how far it reads. */
const [HEIGHT, ADDRESS, SEQ, ORDINAL, UPTO] = [2, 8, 9, 10, 11];

/**
 * All activity in these blocks: by block, in it by transaction with what the block itself did last, in that by address and as its balance moved. Throws a `Fault` when the
 * chain was reorganised meanwhile.
 */
export async function* activityPieces(
  reader: Reader,
  { heights, end }: Span,
  render: Render,
): AsyncGenerator<string> {
  const size = new PieceSize();
  for (let after = beforeBlock(heights.low); after.height <= heights.high;) {
    const limit = size.rows;
    const [upto, rows] = await reading(reader, activityPiece(after, heights.high, limit, end));
    const last = rows.length === limit ? rows.at(-1) : undefined;
    after = last === undefined ? beforeBlock(upto + 1n) : placeOf(last);
    yield size.text(rows, itemOfAnybody, render);
  }
}

function itemOfAnybody(cells: Cells): string {
  return activityItem(byteaHex(cells[ADDRESS]))(cells);
}

async function reading(
  reader: Reader,
  query: Query,
): Promise<readonly [upto: bigint, rows: readonly Cells[]]> {
  const rows = await answer(reader, query);
  return [BigInt(rows[0]?.[UPTO] ?? -1), withoutNothing(rows)];
}

function placeOf(cells: Cells): ActivityCursor {
  const [height, seq, ordinal] = [HEIGHT, SEQ, ORDINAL].map((at) => BigInt(cells[at] ?? -1));
  assert(
    height !== undefined && seq !== undefined && ordinal !== undefined,
    'three numbers are three',
  );
  return { height, seq, address: byteaBytes(cells[ADDRESS]), ordinal };
}

async function ordinalsIn(reader: Reader, query: Query): Promise<Ordinals> {
  const [[low, high] = []] = await answer(reader, query);
  return { low: BigInt(low ?? 0), high: BigInt(high ?? 0) };
}

async function standing(reader: Reader, query: Query): Promise<readonly Cells[]> {
  return withoutNothing(await answer(reader, query));
}

/** The one row of nulls that says that there are none. */
function withoutNothing(rows: readonly Cells[]): readonly Cells[] {
  return rows[0]?.[0] === null ? [] : rows;
}

async function answer(reader: Reader, query: Query): Promise<readonly Cells[]> {
  const rows = await reader.rows(query);
  if (rows[0]?.at(-1) === 't') return rows;
  throw new Fault(
    REORGANISED,
    'the chain was reorganised while it was exported: the export has to be asked for again',
    {
      retry: true,
    },
  );
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
