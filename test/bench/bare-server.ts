/**
 * `node bare-server.ts <port> <postgres url of the reader> <address>`: the minimal server of the
 * same lists. It uses node:http and pg with the gateway's statements and session, and sends the
 * same bodies: no other parameters than the offset, only the necessary headers.
 */
import { createServer } from 'node:http';
import { Pool } from 'pg';
import { blocksPage } from '../../projections/explorer/queries/blocks.ts';
import type { Page, Query } from '../../projections/contract/page.ts';
import { transactionsPage } from '../../projections/explorer/queries/transactions.ts';
import { parseAddress } from '../../schemas/address.ts';
import {
  blockItem,
  pageBody,
  transactionItem,
} from '../../services/explorer-gateway/routes/json.ts';
import { READER_OPTIONS } from '../../services/runtime/postgres/pool.ts';

/** As many as the gateway has when it is not told otherwise. */
const CONNECTIONS = 8;

const [port, url, hot = ''] = process.argv.slice(2);
const address = parseAddress(hot);
if (port === undefined || url === undefined || address === undefined) {
  process.stderr.write('usage: node bare-server.ts <port> <postgres url> <address>\n');
  process.exit(1);
}

const none = { block: undefined, address: undefined, type: undefined };
interface List {
  readonly statement: (page: Page) => Query;
  readonly item: typeof blockItem;
}
const lists: Readonly<Record<string, List>> = {
  '/api/v1/blocks?limit=20': { statement: blocksPage, item: blockItem },
  '/api/v1/transactions?limit=20': {
    statement: (page) => transactionsPage(none, page),
    item: transactionItem,
  },
  [`/api/v1/transactions?limit=20&address=${hot}`]: {
    statement: (page) => transactionsPage({ ...none, address }, page),
    item: transactionItem,
  },
};

const pool = new Pool({
  connectionString: url,
  max: CONNECTIONS,
  types: { getTypeParser: () => (text: string) => text },
  options: READER_OPTIONS,
});

async function bodyOf({ statement, item }: List, offset: string): Promise<string> {
  const page = { limit: 20, offset: BigInt(offset) };
  const { name, text, values } = statement(page);
  const { rows } = await pool.query<(string | null)[]>({
    name,
    text,
    values: [...values],
    rowMode: 'array',
  });
  return pageBody(rows, item, page);
}

createServer((request, response) => {
  const [path = '', offset = '0'] = (request.url ?? '').split('&offset=');
  const list = lists[path];
  if (list === undefined) {
    response.writeHead(404, { 'content-length': 0 }).end();
    return;
  }
  bodyOf(list, offset).then(
    (body) =>
      response
        .writeHead(200, {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        })
        .end(body),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      response.writeHead(500, { 'content-length': 0 }).end();
    },
  );
}).listen(Number(port), '127.0.0.1');
