import {
  transactionByHash,
  transactionCounts,
  transactionsPage,
  type TransactionFilter,
  type ScanBy,
} from '../../../projections/explorer/queries/transactions.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import { detailAnswer } from './detail.ts';
import { tooMany } from '../error-answers.ts';
import { transactionDetail, transactionItem } from './json.ts';
import { listAnswer } from './list.ts';
import {
  parseTransactionHash,
  parseTransactionsRequest,
  transactionsList,
  type TransactionsRequest,
} from './parameters.ts';
import { Turnstile } from '../export/turnstile.ts';

/** The only status that a transaction ever has. */
export const STORED_STATUS = 'confirmed';

/** Of the questions that look through rows, at once and waiting: the connections that are left answer all others. */
const COSTLY_AT_ONCE = 2;
const COSTLY_WAITING_MAX = 16;
const RETRY_SECONDS = 2;

export function transactionRoutes(reader: Reader): readonly GetRoute[] {
  const costly = new Turnstile(COSTLY_AT_ONCE, COSTLY_WAITING_MAX);
  return [
    {
      method: 'get',
      path: '/api/v1/transactions',
      handle: async ({ query }) => {
        const request = parseTransactionsRequest(query);
        if ('refused' in request) return request;
        const { filter, filters, page, status } = request;
        const way = request.way ?? (await shorterWay(reader, request));
        const ask = (): Promise<readonly Cells[]> =>
          reader.rows(transactionsPage(filter, page, way));
        const isNone = status !== undefined && status !== STORED_STATUS;
        const rows = isNone ? [] : await (isLookedThrough(filter) ? costly.pass(ask) : ask());
        if (rows === undefined)
          return tooMany(
            'too many ask for the transactions of an address and a type at once',
            RETRY_SECONDS,
          );
        const list = transactionsList(filter, way);
        return listAnswer(
          { path: '/api/v1/transactions', filters, page, list },
          rows,
          transactionItem,
        );
      },
    },
    {
      method: 'get',
      path: '/api/v1/transactions/:hash',
      handle: ({ params }) => {
        const transaction = parseTransactionHash(params['hash']);
        if ('refused' in transaction) return transaction;
        return detailAnswer(
          reader,
          transactionByHash(transaction.hash),
          transactionDetail,
          'transaction',
        );
      },
    },
  ];
}

/** Along which ordinal an address and a type are looked for: the one with fewer rows to look through. */
async function shorterWay(
  reader: Reader,
  { filter, status }: TransactionsRequest,
): Promise<ScanBy> {
  const { address, type } = filter;
  if (address === undefined || type === undefined || !isLookedThrough(filter)) return 'address';
  if (status !== undefined && status !== STORED_STATUS) return 'address';
  const [counts = []] = await reader.rows(transactionCounts(address, type));
  const [ofAddress, ofType] = counts;
  return BigInt(ofType ?? 0) < BigInt(ofAddress ?? 0) ? 'type' : 'address';
}

/** Both have an ordinal, but together they have none. */
function isLookedThrough({ block, address, type }: TransactionFilter): boolean {
  return block === undefined && address !== undefined && type !== undefined;
}
