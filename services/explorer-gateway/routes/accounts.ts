import {
  accountByAddress,
  activityPage,
  balanceAt,
  balanceHistory,
} from '../../../projections/explorer/queries/accounts.ts';
import { toHex } from '../../../schemas/address.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import type { Refusal } from '../../runtime/process/errors.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import { accountBody, activityItem, balanceItem, hex } from './json.ts';
import {
  parseAccountName,
  parseActivityRequest,
  parseBalanceHeight,
  parsePoints,
} from './parameters.ts';
import { indexResponse, isFinalRow, itemResponse, listResponse } from './responses.ts';
import { tooManyScans, type Scans } from './transactions.ts';

/** `scans`: of all scans of the gateway. */
export function accountRoutes(reader: Reader, scans: Scans): readonly GetRoute[] {
  return [
    {
      method: 'get',
      path: '/api/v1/accounts/:address',
      handle: ({ params }) => {
        const account = parseAccountName(params['address']);
        if ('refused' in account) return account;
        const { address } = account;
        const toJson = accountBody(toHex(address));
        return itemResponse(reader, accountByAddress(address), toJson, 'account');
      },
    },
    {
      method: 'get',
      path: '/api/v1/accounts/:address/activity',
      handle: async ({ params, query }) => {
        const account = parseAccountName(params['address']);
        if ('refused' in account) return account;
        const address = toHex(account.address);
        const request = parseActivityRequest(query, address);
        if ('refused' in request) return request;
        const { page, filter, filters, list } = request;
        const path = `/api/v1/accounts/${address}/activity`;
        const read = (): Promise<readonly Cells[]> =>
          reader.rows(activityPage(account.address, page, filter));
        const isScan = Object.keys(filters).length > 0;
        const rows = await (isScan ? scans.run(read) : read());
        if (rows === undefined) return tooManyScans();
        return listResponse({ path, filters, page, list }, rows, activityItem(address));
      },
    },
    {
      method: 'get',
      path: '/api/v1/accounts/:address/balance-history',
      handle: async ({ params, query }) => {
        const account = parseAccountName(params['address']);
        if ('refused' in account) return account;
        const parsed = parsePoints(query);
        if ('refused' in parsed) return parsed;
        const rows = await reader.rows(balanceHistory(account.address, parsed.points));
        return indexResponse(`{"items":[${rows.map(balanceItem).join(',')}]}`);
      },
    },
    {
      method: 'get',
      path: '/api/v1/accounts/:address/balance-at',
      handle: async ({ params, query }) => {
        const account = parseAccountName(params['address']);
        if ('refused' in account) return account;
        const parsed = parseBalanceHeight(query);
        if ('refused' in parsed) return parsed;
        const { address } = account;
        const { height } = parsed;
        const [row = []] = await reader.rows(balanceAt(address, height));
        const [first, newest, hash, isKnown, balance] = row;
        if (newest === null || newest === undefined) return notFound('no block is indexed yet');
        if (hash === null)
          return notFound(
            `no block is indexed at this height: there are the heights from ${first} to ${newest}`,
          );
        if (isKnown !== 't') return notFound('no such account is indexed');
        const body = `{"address":"${toHex(address)}","height":${height},"block_hash":${hex(hash)},"balance":${balance ?? 0}}`;
        return indexResponse(body, isFinalRow(row));
      },
    },
  ];
}

function notFound(message: string): Refusal<'not_found'> {
  return { refused: 'not_found', message };
}
