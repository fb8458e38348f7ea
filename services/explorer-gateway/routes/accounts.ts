import {
  accountByAddress,
  activityPage,
  balanceAt,
} from '../../../projections/explorer/queries/accounts.ts';
import { toHex } from '../../../schemas/address.ts';
import type { HttpResponse, GetRoute } from '../../runtime/http/handler.ts';
import type { Refusal } from '../../runtime/process/errors.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { accountBody, activityItem } from './account-json.ts';
import { detailAnswer } from './detail.ts';
import { hex } from './json.ts';
import { listAnswer } from './list.ts';
import { parseAccountName, parseBalanceHeight, parsePage } from './parameters.ts';

export function accountRoutes(reader: Reader): readonly GetRoute[] {
  return [
    {
      method: 'get',
      path: '/api/v1/accounts/:address',
      handle: ({ params }) => {
        const account = parseAccountName(params['address']);
        if ('refused' in account) return account;
        const { address } = account;
        return detailAnswer(
          reader,
          accountByAddress(address),
          accountBody(toHex(address)),
          'account',
        );
      },
    },
    {
      method: 'get',
      path: '/api/v1/accounts/:address/activity',
      handle: async ({ params, query }) => {
        const account = parseAccountName(params['address']);
        if ('refused' in account) return account;
        const address = toHex(account.address);
        const list = `activity ${address}`;
        const page = parsePage(query, list);
        if ('refused' in page) return page;
        const path = `/api/v1/accounts/${address}/activity`;
        return listAnswer(
          { path, filters: {}, page, list },
          await reader.rows(activityPage(account.address, page)),
          activityItem(address),
        );
      },
    },
    {
      method: 'get',
      path: '/api/v1/accounts/:address/balance-at',
      handle: ({ params, query }) => {
        const account = parseAccountName(params['address']);
        if ('refused' in account) return account;
        const asked = parseBalanceHeight(query);
        return 'refused' in asked ? asked : balanceAnswer(reader, account.address, asked.height);
      },
    },
  ];
}

async function balanceAnswer(
  reader: Reader,
  address: Buffer,
  height: bigint,
): Promise<HttpResponse | Refusal<'not_found'>> {
  const [[first, newest, hash, isKnown, balance] = []] = await reader.rows(
    balanceAt(address, height),
  );
  if (newest === null || newest === undefined)
    return { refused: 'not_found', message: 'no block is indexed yet' };
  if (hash === null) {
    return {
      refused: 'not_found',
      message: `no block is indexed at this height: there are the heights from ${first} to ${newest}`,
    };
  }
  if (isKnown !== 't') return { refused: 'not_found', message: 'no such account is indexed' };
  const body = `{"address":"${toHex(address)}","height":${height},"block_hash":${hex(hash)},"balance":${balance ?? 0}}`;
  return { status: 200, body };
}
