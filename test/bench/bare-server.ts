/**
 * `node bare-server.ts <port> <postgres url of the reader> <address>`: the minimal server of the
 * same lists. It uses node:http and pg with the gateway's statements and session, and sends rows
 * through JSON.stringify: no parameters, no field names, only the necessary headers.
 */
import { createServer } from 'node:http';
import { Pool } from 'pg';
import { blocksPage } from '../../projections/explorer/queries/blocks.ts';
import type { Page, Query } from '../../projections/contract/page.ts';
import { transactionsPage } from '../../projections/explorer/queries/transactions.ts';
import { parseAddress } from '../../schemas/address.ts';
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
const lists: Readonly<Record<string, (page: Page) => Query>> = {
  '/api/v1/blocks?limit=20': blocksPage,
  '/api/v1/transactions?limit=20': (page) => transactionsPage(none, page),
  [`/api/v1/transactions?limit=20&address=${hot}`]: (page) =>
    transactionsPage({ ...none, address }, page),
};

/** The list's address, with or without `&offset=` at its end. */
function statementOf(asked: string): Query | undefined {
  const [list = '', offset = '0'] = asked.split('&offset=');
  return lists[list]?.({ limit: 20, offset: BigInt(offset) });
}

const pool = new Pool({
  connectionString: url,
  max: CONNECTIONS,
  types: { getTypeParser: () => (text: string) => text },
  options: READER_OPTIONS,
});

async function bodyOf({ name, text, values }: Query): Promise<string> {
  const { rows } = await pool.query<(string | null)[]>({
    name,
    text,
    values: [...values],
    rowMode: 'array',
  });
  return JSON.stringify(rows);
}

createServer((request, response) => {
  const statement = statementOf(request.url ?? '');
  if (statement === undefined) {
    response.writeHead(404, { 'content-length': 0 }).end();
    return;
  }
  bodyOf(statement).then(
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
