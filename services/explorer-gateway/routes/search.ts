/** Search for heights, hashes and addresses: by exact match, or by how they begin. */
import {
  accountByAddress,
  accountsByAddress,
} from '../../../projections/explorer/queries/accounts.ts';
import {
  blockByHash,
  blockByHeight,
  blocksByHash,
} from '../../../projections/explorer/queries/blocks.ts';
import {
  transactionByHash,
  transactionsByHash,
} from '../../../projections/explorer/queries/transactions.ts';
import { parseAddress, parseHash, toHex } from '../../../schemas/address.ts';
import type { Found } from '../../../schemas/explorer-api/network.ts';
import { SEARCH, SUGGEST } from '../../../schemas/explorer-api/operations.ts';
import { parseHeight } from '../../../schemas/explorer-api/parameters.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import type { HttpResponse } from '../../runtime/http/response.ts';
import { byteaHex, isoTime, type Cell } from '../../runtime/postgres/cells.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import { indexResponse } from './responses.ts';
import { served } from './served.ts';

export function searchRoutes(reader: Reader): readonly GetRoute[] {
  return [
    served(SEARCH, async ({ q }) => foundResponse(await search(reader, q))),
    served(SUGGEST, async ({ q }) => foundResponse(await suggestions(reader, q))),
  ];
}

function foundResponse(items: readonly Found[]): HttpResponse {
  return indexResponse(JSON.stringify({ items }));
}

/**
 * 64 hex digits are a hash, even if all are decimals; 40 are an address, and a height as well if
 * all are decimals; other decimals are a height.
 */
export async function search(reader: Reader, q: string): Promise<readonly Found[]> {
  const hash = parseHash(q);
  if (hash !== undefined) {
    const [blocks, transactions] = await Promise.all([
      reader.rows(blockByHash(hash)),
      reader.rows(transactionByHash(hash)),
    ]);
    return [
      ...blocks.map((cells) => blockFound(toHex(hash), cells)),
      ...transactions.map((cells) => transactionFound(toHex(hash), cells)),
    ];
  }
  const height = parseHeight(q);
  const address = parseAddress(q);
  const [blocks, accounts] = await Promise.all([
    height === undefined ? [] : reader.rows(blockByHeight(height)),
    address === undefined ? [] : reader.rows(accountByAddress(address)),
  ]);
  return [
    ...blocks.map((cells) => blockFound(String(height), cells)),
    ...(address === undefined ? [] : [accountFound(toHex(address), accounts[0])]),
  ];
}

const SUGGESTED_OF_A_KIND = 4;
const BEGINNING = /^(?:0[xX])?([0-9a-fA-F]{1,64})$/;

/** The block at this height, and what has a hash or an address that begins so. */
async function suggestions(reader: Reader, q: string): Promise<readonly Found[]> {
  const digits = BEGINNING.exec(q)?.[1];
  if (digits === undefined) return [];
  const height = parseHeight(q);
  const [atHeight, blocks, transactions, accounts] = await Promise.all([
    height === undefined ? [] : reader.rows(blockByHeight(height)),
    reader.rows(blocksByHash(...beginningWith(digits, 32), SUGGESTED_OF_A_KIND)),
    reader.rows(transactionsByHash(...beginningWith(digits, 32), SUGGESTED_OF_A_KIND)),
    digits.length > 40
      ? []
      : reader.rows(accountsByAddress(...beginningWith(digits, 20), SUGGESTED_OF_A_KIND)),
  ]);
  return [
    ...atHeight.map((cells) => blockFound(String(height), cells)),
    ...accounts.map((cells) => accountFound(byteaHex(cells[5]), cells)),
    ...transactions.map((cells) => transactionFound(byteaHex(cells[0]), cells)),
    ...blocks.map((cells) => blockFound(byteaHex(cells[1]), cells)),
  ];
}

/** The lowest and the highest value of so many bytes whose hex begins with these digits. */
function beginningWith(digits: string, bytes: number): [from: Buffer, to: Buffer] {
  const filled = (digit: string): Buffer => Buffer.from(digits.padEnd(2 * bytes, digit), 'hex');
  return [filled('0'), filled('f')];
}

function blockFound(
  identifier: string,
  [height, hash, count, producer, , , timestamp]: Cells,
): Found {
  const transactions = counted(count, 'transaction', 'transactions');
  const summary = `block ${height}, ${byteaHex(hash)}: ${transactions}, produced by ${byteaHex(producer)} at ${isoTime(timestamp)}`;
  return { kind: 'block', identifier, summary };
}

function transactionFound(
  identifier: string,
  [, height, from, to, amount, , type, , timestamp]: Cells,
): Found {
  const summary = `${type} of ${amount} from ${byteaHex(from)} to ${byteaHex(to)} in block ${height} at ${isoTime(timestamp)}`;
  return { kind: 'transaction', identifier, summary };
}

/** An address is found even if the index does not know it. */
function accountFound(identifier: string, row: Cells | undefined): Found {
  const summary =
    row === undefined
      ? 'address with no indexed activity'
      : `address with ${counted(row[2], 'transaction', 'transactions')} and ${counted(row[3], 'activity', 'activities')}`;
  return { kind: 'account', identifier, summary };
}

function counted(count: Cell, one: string, more: string): string {
  return count === '1' ? `1 ${one}` : `${count} ${more}`;
}
