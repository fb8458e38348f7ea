/** Search by exact match: a height, a hash or an address. */
import { accountByAddress } from '../../../projections/explorer/queries/accounts.ts';
import { blockByHash, blockByHeight } from '../../../projections/explorer/queries/blocks.ts';
import { transactionByHash } from '../../../projections/explorer/queries/transactions.ts';
import { parseAddress, parseHash, toHex } from '../../../schemas/address.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import { byteaHex, isoTime } from '../../runtime/postgres/cells.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import { parseHeight, parseSearch } from './parameters.ts';

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
      return { status: 200, body: JSON.stringify({ items: await search(reader, parsed.q) }) };
    },
  };
}

/**
 * 64 hex digits are a hash, even if all are decimals; 40 are an address, and a height as well if
 * all are decimals; other decimals are a height.
 */
export async function search(reader: Reader, q: string): Promise<readonly Found[]> {
  const hash = parseHash(q);
  if (hash !== undefined)
    return (await Promise.all([blockOfHash(reader, hash), transactionOfHash(reader, hash)])).flat();
  const height = parseHeight(q);
  const address = parseAddress(q);
  const found = await Promise.all([
    height === undefined ? [] : blockOfHeight(reader, height),
    address === undefined ? [] : accountOf(reader, address),
  ]);
  return found.flat();
}

async function blockOfHeight(reader: Reader, height: bigint): Promise<readonly Found[]> {
  return (await reader.rows(blockByHeight(height))).map((cells) =>
    blockFound(String(height), cells),
  );
}

async function blockOfHash(reader: Reader, hash: Buffer): Promise<readonly Found[]> {
  return (await reader.rows(blockByHash(hash))).map((cells) => blockFound(toHex(hash), cells));
}

function blockFound(
  identifier: string,
  [height, hash, count, producer, , , timestamp]: Cells,
): Found {
  const summary = `block ${height}, ${byteaHex(hash)}: ${counted(count, 'transaction', 'transactions')}, produced by ${byteaHex(producer)} at ${isoTime(timestamp)}`;
  return { kind: 'block', identifier, summary };
}

async function transactionOfHash(reader: Reader, hash: Buffer): Promise<readonly Found[]> {
  return (await reader.rows(transactionByHash(hash))).map(
    ([, height, from, to, amount, , type, , timestamp]) => ({
      kind: 'transaction',
      identifier: toHex(hash),
      summary: `${type} of ${amount} from ${byteaHex(from)} to ${byteaHex(to)} in block ${height} at ${isoTime(timestamp)}`,
    }),
  );
}

async function accountOf(reader: Reader, address: Buffer): Promise<readonly Found[]> {
  const [row] = await reader.rows(accountByAddress(address));
  const summary =
    row === undefined
      ? 'address with no indexed activity'
      : `address with ${counted(row[2], 'transaction', 'transactions')} and ${counted(row[3], 'activity', 'activities')}`;
  return [{ kind: 'account', identifier: toHex(address), summary }];
}

function counted(count: string | null | undefined, one: string, more: string): string {
  return count === '1' ? `1 ${one}` : `${count} ${more}`;
}
