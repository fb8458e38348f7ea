/** Search by exact match: a height, a hash or an address. */
import { accountByAddress } from '../../../projections/explorer/queries/accounts.ts';
import { blockByHash, blockByHeight } from '../../../projections/explorer/queries/blocks.ts';
import { transactionByHash } from '../../../projections/explorer/queries/transactions.ts';
import { parseAddress, parseHash, toHex } from '../../../schemas/address.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import { byteaHex, isoTime, type Cell } from '../../runtime/postgres/cells.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import { parseHeight, parseSearch } from './parameters.ts';
import { indexResponse } from './responses.ts';

export interface Found {
  readonly kind: 'block' | 'transaction' | 'account';
  /** as in this interface's paths; a block is named as it was searched, by height or hash */
  readonly identifier: string;
  readonly summary: string;
}

export function searchRoute(reader: Reader): GetRoute {
  return {
    method: 'get',
    path: '/api/v1/search',
    handle: async ({ query }) => {
      const parsed = parseSearch(query);
      if ('refused' in parsed) return parsed;
      return indexResponse(JSON.stringify({ items: await search(reader, parsed.q) }));
    },
  };
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
