import { transactionEffectsPage } from '../../../projections/explorer/queries/effects.ts';
import {
  transactionByHash,
  transactionCounts,
  transactionsPage,
  type ScanBy,
} from '../../../projections/explorer/queries/transactions.ts';
import { toHex } from '../../../schemas/address.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import { rateLimited } from '../../runtime/http/rate-limit.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import { EXPLORER_ERRORS } from '../errors.ts';
import { effectItem, transactionDetail, transactionItem } from './json.ts';
import {
  needsScan,
  parsePage,
  parseTransactionHash,
  parseTransactionsRequest,
  transactionsList,
  type TransactionsRequest,
} from './parameters.ts';
import { isFinalRow, itemResponse, listResponse } from './responses.ts';

/** The only status that a transaction ever has. */
export const STORED_STATUS = 'confirmed';

const PATH = '/api/v1/transactions';
const RETRY_MS = 2_000;

/** `scans`: of all scans of the gateway. */
export function transactionRoutes(reader: Reader, scans: Scans): readonly GetRoute[] {
  return [
    {
      method: 'get',
      path: PATH,
      handle: async ({ query }) => {
        const request = parseTransactionsRequest(query);
        if ('refused' in request) return request;
        const { filter, filters, page, status } = request;
        const by = request.by ?? (await shorterScan(reader, request));
        const read = (): Promise<readonly Cells[]> =>
          reader.rows(transactionsPage(filter, page, by));
        const matchesNone = status !== undefined && status !== STORED_STATUS;
        const rows = matchesNone ? [] : await (needsScan(filter) ? scans.run(read) : read());
        if (rows === undefined) return tooManyScans();
        const list = transactionsList(filter, by);
        return listResponse({ path: PATH, filters, page, list }, rows, transactionItem);
      },
    },
    {
      method: 'get',
      path: `${PATH}/:hash`,
      handle: ({ params }) => {
        const parsed = parseTransactionHash(params['hash']);
        if ('refused' in parsed) return parsed;
        return itemResponse(
          reader,
          transactionByHash(parsed.hash),
          transactionDetail,
          'transaction',
          isFinalRow,
        );
      },
    },
    {
      method: 'get',
      path: `${PATH}/:hash/effects`,
      handle: async ({ params, query }) => {
        const parsed = parseTransactionHash(params['hash']);
        if ('refused' in parsed) return parsed;
        const path = `${PATH}/${toHex(parsed.hash)}/effects`;
        const list = `effects of transaction ${toHex(parsed.hash)}`;
        const page = parsePage(query, list);
        if ('refused' in page) return page;
        const rows = await reader.rows(transactionEffectsPage(parsed.hash, page));
        return listResponse({ path, page, list }, rows, effectItem);
      },
    },
  ];
}

/** Limits the queries that read rows which they then drop. */
export type Scans = Pick<Semaphore, 'run'>;

/** Scans leave connections of the pool to all other queries. */
const SCANS_AT_ONCE = 2;
const SCANS_WAITING_MAX = 16;

export function openScans(): Scans {
  return new Semaphore(SCANS_AT_ONCE, SCANS_WAITING_MAX);
}

export function tooManyScans(): ReturnType<typeof rateLimited> {
  return rateLimited(
    RETRY_MS,
    EXPLORER_ERRORS,
    'too many ask for the transactions or the activity of an address with further filters at once',
  );
}

/** Scans whichever has fewer transactions, the address or the type. */
async function shorterScan(
  reader: Reader,
  { filter, status }: TransactionsRequest,
): Promise<ScanBy> {
  const { address, type } = filter;
  if (address === undefined || type === undefined || !needsScan(filter)) return 'address';
  if (status !== undefined && status !== STORED_STATUS) return 'address';
  const [counts = []] = await reader.rows(transactionCounts(address, type));
  const [ofAddress, ofType] = counts;
  return BigInt(ofType ?? 0) < BigInt(ofAddress ?? 0) ? 'type' : 'address';
}

/** A counting semaphore with a bounded queue. */
export class Semaphore {
  readonly #waitingMax: number;
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number, waitingMax: number) {
    this.#free = atOnce;
    this.#waitingMax = waitingMax;
  }

  /** The result of the work; undefined, without doing it, when too many wait already. */
  async run<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    if (this.#free > 0) this.#free--;
    else if (this.#waiting.length >= this.#waitingMax) return undefined;
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // its permit goes to the next one directly
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
