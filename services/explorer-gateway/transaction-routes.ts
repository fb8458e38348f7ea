import { transactionByHash, transactionCounts, transactionsPage, type Way } from '../../projections/explorer/queries/transactions.ts';
import type { Route } from '../runtime/answers.ts';
import type { Reader } from '../runtime/postgres.ts';
import { detailAnswer } from './detail.ts';
import { transactionDetail, transactionItem } from './json.ts';
import { listAnswer } from './list.ts';
import { parseTransactionHash, parseTransactionsRequest, transactionsList, type TransactionsRequest } from './parameters.ts';

/** The only status that a transaction ever has. */
export const STORED_STATUS = 'confirmed';

export function transactionRoutes(reader: Reader): readonly Route[] {
  return [
    {
      method: 'get',
      path: '/api/v1/transactions',
      handle: async ({ query }) => {
        const request = parseTransactionsRequest(query);
        if ('refused' in request) return request;
        const { filter, filters, page, status } = request;
        const way = request.way ?? (await shorterWay(reader, request));
        const rows = status === undefined || status === STORED_STATUS ? await reader.rows(transactionsPage(filter, page, way)) : [];
        const list = transactionsList(filter, way);
        return listAnswer({ path: '/api/v1/transactions', filters, page, list }, rows, transactionItem);
      },
    },
    {
      method: 'get',
      path: '/api/v1/transactions/:hash',
      handle: ({ params }) => {
        const transaction = parseTransactionHash(params['hash']);
        if ('refused' in transaction) return transaction;
        return detailAnswer(reader, transactionByHash(transaction.hash), transactionDetail, 'transaction');
      },
    },
  ];
}

/** Along which ordinal an address and a type are looked for: the one with fewer rows to look through. */
async function shorterWay(reader: Reader, { filter, status }: TransactionsRequest): Promise<Way> {
  const { block, address, type } = filter;
  if (block !== undefined || address === undefined || type === undefined) return 'address';
  if (status !== undefined && status !== STORED_STATUS) return 'address';
  const [counts = []] = await reader.rows(transactionCounts(address, type));
  const [ofAddress, ofType] = counts;
  return BigInt(ofType ?? 0) < BigInt(ofAddress ?? 0) ? 'type' : 'address';
}
