/** The explorer's routes: parse, ask, answer. */
import {
  blockByHash,
  blockByHeight,
  blocksPage,
  stats,
  transactionByHash,
  transactionCounts,
  transactionsPage,
  type Page,
  type Query,
  type TransactionFilter,
  type Way,
} from '../../projections/explorer/queries.ts';
import type { Answer, Route } from '../runtime/answers.ts';
import type { Refusal } from '../runtime/errors.ts';
import type { Cells, Reader } from '../runtime/postgres.ts';
import { blockDetail, blockItem, pageBody, statsBody, transactionDetail, transactionItem } from './json.ts';
import { parseBlockId, parsePage, parseTransactionHash, parseTransactionsRequest } from './parameters.ts';

const STORED_STATUS = 'confirmed';

export function explorerRoutes(reader: Reader): readonly Route[] {
  return [
    {
      method: 'get',
      path: '/api/v1/blocks',
      handle: async ({ query }) => {
        const page = parsePage(query);
        if ('refused' in page) return page;
        return found(pageBody((await reader.rows(blocksPage(page))).map(blockItem), page));
      },
    },
    {
      method: 'get',
      path: '/api/v1/blocks/:id',
      handle: ({ params }) => {
        const block = parseBlockId(params['id']);
        if ('refused' in block) return block;
        return detail(reader, 'hash' in block ? blockByHash(block.hash) : blockByHeight(block.height), blockDetail, 'block');
      },
    },
    {
      method: 'get',
      path: '/api/v1/transactions',
      handle: async ({ query }) => {
        const request = parseTransactionsRequest(query);
        if ('refused' in request) return request;
        const { filter, page, status } = request;
        const rows = status === undefined || status === STORED_STATUS ? await transactions(reader, filter, page) : [];
        return found(pageBody(rows.map(transactionItem), page));
      },
    },
    {
      method: 'get',
      path: '/api/v1/transactions/:hash',
      handle: ({ params }) => {
        const transaction = parseTransactionHash(params['hash']);
        if ('refused' in transaction) return transaction;
        return detail(reader, transactionByHash(transaction.hash), transactionDetail, 'transaction');
      },
    },
    {
      method: 'get',
      path: '/api/v1/stats',
      handle: async () => found(statsBody((await reader.rows(stats()))[0])),
    },
  ];
}

function found(body: string): Answer {
  return { status: 200, body };
}

async function detail(reader: Reader, query: Query, toJson: (cells: Cells) => string, what: string): Promise<Answer | Refusal> {
  const [row] = await reader.rows(query);
  return row === undefined ? { refused: 'not_found', message: `no such ${what} is indexed` } : found(toJson(row));
}

async function transactions(reader: Reader, filter: TransactionFilter, page: Page): Promise<readonly Cells[]> {
  const { block, address, type } = filter;
  const choice = block === undefined && address !== undefined && type !== undefined;
  const way = choice ? await shorterWay(reader, address, type) : undefined;
  return reader.rows(transactionsPage(filter, page, way));
}

async function shorterWay(reader: Reader, address: Buffer, type: string): Promise<Way> {
  const [counts = []] = await reader.rows(transactionCounts(address, type));
  const [ofAddress, ofType] = counts;
  return BigInt(ofType ?? 0) < BigInt(ofAddress ?? 0) ? 'type' : 'address';
}
