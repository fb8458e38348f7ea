import { transactionEffectsPage } from '../../../projections/explorer/queries/effects.ts';
import {
  transactionByHash,
  transactionCounts,
  transactionsPage,
  type ScanBy,
  type TransactionFilter,
} from '../../../projections/explorer/queries/transactions.ts';
import { toHex } from '../../../schemas/address.ts';
import {
  GET_TRANSACTION,
  LIST_TRANSACTION_EFFECTS,
  LIST_TRANSACTIONS,
} from '../../../schemas/explorer-api/operations.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import type { Scans } from '../../runtime/limits/long-reads.ts';
import { rateLimited } from '../../runtime/limits/rate.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import { EXPLORER_ERRORS } from '../errors.ts';
import { effectItem, transactionDetail, transactionItem } from './json.ts';
import { asGiven, needsScan, pageOf, transactionsList, transactionsPageOf } from './parameters.ts';
import { isFinalRow, itemResponse, listResponse } from './responses.ts';
import { served } from './served.ts';

/** The only status that a transaction ever has. */
export const STORED_STATUS = 'confirmed';

const RETRY_MS = 2_000;

/** `scans`: of all scans of the gateway. */
export function transactionRoutes(reader: Reader, scans: Scans): readonly GetRoute[] {
  return [
    served(LIST_TRANSACTIONS, async (values, request) => {
      const { address, block, type, status } = values;
      const filter = { address, block, type };
      const paged = transactionsPageOf(values, filter);
      if ('refused' in paged) return paged;
      const { page } = paged;
      const matchesNone = status !== undefined && status !== STORED_STATUS;
      const by = paged.by ?? (matchesNone ? 'address' : await shorterScan(reader, filter));
      const read = (): Promise<readonly Cells[]> => reader.rows(transactionsPage(filter, page, by));
      const rows = matchesNone
        ? []
        : await (needsScan(filter) ? scans.run(request.exchange.waiting(), read) : read());
      if (rows === undefined) return tooManyScans();
      const { path } = LIST_TRANSACTIONS;
      const filters = asGiven(request.query, ['address', 'block', 'type', 'status']);
      const list = transactionsList(filter, by);
      return listResponse({ path, filters, page, list }, rows, transactionItem);
    }),
    served(GET_TRANSACTION, ({ hash }) =>
      itemResponse(reader, transactionByHash(hash), transactionDetail, 'transaction', isFinalRow),
    ),
    served(LIST_TRANSACTION_EFFECTS, async ({ hash, ...values }) => {
      const path = `/api/v1/transactions/${toHex(hash)}/effects`;
      const list = `effects of transaction ${toHex(hash)}`;
      const page = pageOf(values, list);
      if ('refused' in page) return page;
      const rows = await reader.rows(transactionEffectsPage(hash, page));
      return listResponse({ path, page, list }, rows, effectItem);
    }),
  ];
}

export function tooManyScans(): ReturnType<typeof rateLimited> {
  return rateLimited(
    RETRY_MS,
    EXPLORER_ERRORS,
    'too many ask for the transactions or the activity of an address with further filters at once',
  );
}

/** Scans whichever has fewer transactions, the address or the type. */
async function shorterScan(reader: Reader, filter: TransactionFilter): Promise<ScanBy> {
  const { address, type } = filter;
  if (address === undefined || type === undefined || !needsScan(filter)) return 'address';
  const [counts = []] = await reader.rows(transactionCounts(address, type));
  const [ofAddress, ofType] = counts;
  return BigInt(ofType ?? 0) < BigInt(ofAddress ?? 0) ? 'type' : 'address';
}
