import {
  accountByAddress,
  activityPage,
  balanceAt,
  balanceHistory,
} from '../../../projections/explorer/queries/accounts.ts';
import { toHex } from '../../../schemas/address.ts';
import {
  GET_ACCOUNT,
  GET_BALANCE_AT,
  GET_BALANCE_HISTORY,
  LIST_ACTIVITY,
} from '../../../schemas/explorer-api/operations.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import type { Refusal } from '../../runtime/process/errors.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import { hex } from '../../runtime/postgres/row-json.ts';
import { accountBody, activityItem, balanceItem } from './json.ts';
import { asGiven, pageOf } from './parameters.ts';
import { indexResponse, isFinalRow, itemResponse, listResponse } from './responses.ts';
import { served } from './served.ts';
import type { Scans } from '../../runtime/limits/long-reads.ts';
import { tooManyScans } from './transactions.ts';

/** `scans`: of all scans of the gateway. */
export function accountRoutes(reader: Reader, scans: Scans): readonly GetRoute[] {
  return [
    served(GET_ACCOUNT, ({ address }) => {
      const name = toHex(address);
      const toJson = (cells: Cells): string => accountBody(cells, name);
      return itemResponse(reader, accountByAddress(address), toJson, 'account');
    }),
    served(LIST_ACTIVITY, async (values, request) => {
      const { address, kind, direction } = values;
      const name = toHex(address);
      const isScan = kind !== undefined || direction !== undefined;
      const list = isScan
        ? JSON.stringify(['activity', name, kind, direction])
        : `activity ${name}`;
      const page = pageOf(values, list);
      if ('refused' in page) return page;
      const path = `/api/v1/accounts/${name}/activity`;
      const read = (): Promise<readonly Cells[]> =>
        reader.rows(activityPage(address, page, { kind, direction }));
      const rows = await (isScan ? scans.run(request.exchange.waiting(), read) : read());
      if (rows === undefined) return tooManyScans();
      const filters = asGiven(request.query, ['kind', 'direction']);
      const toJson = (cells: Cells): string => activityItem(cells, name);
      return listResponse({ path, filters, page, list }, rows, toJson);
    }),
    served(GET_BALANCE_HISTORY, async ({ address, points }) => {
      const rows = await reader.rows(balanceHistory(address, points));
      return indexResponse(`{"items":[${rows.map((cells) => balanceItem(cells)).join(',')}]}`);
    }),
    served(GET_BALANCE_AT, async ({ address, height }) => {
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
    }),
  ];
}

function notFound(message: string): Refusal<'not_found'> {
  return { refused: 'not_found', message };
}
