/** Caching of the explorer's answers between it and its clients. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Client } from 'pg';
import { toHex } from '../../../../schemas/address.ts';
import { encodeCursor } from '../../../../services/explorer-gateway/routes/responses.ts';
import { seededBlocks } from '../../../projections/explorer/seeded-rows.ts';
import {
  openIndexed,
  type IndexedExplorer,
} from '../../../services/explorer-gateway/explorer-server.ts';

const FINAL = 'public, max-age=31536000, immutable';
const AT_HEAD = 'public, max-age=0, s-maxage=1, stale-while-revalidate=4';
const FIRST = 5;
const FINAL_HEIGHT = 30;

const blocks = seededBlocks({ seed: 8, blocks: 60, transactions_max: 9, first_height: FIRST });
const transactions = blocks.flatMap(({ height, transactions: all }) =>
  all.map(({ hash, from }) => ({ height, hash: toHex(hash), from: toHex(from) })),
);

let explorer: IndexedExplorer;
let writer: Client;
beforeAll(async () => {
  explorer = await openIndexed(blocks);
  writer = new Client({ connectionString: explorer.urls.writer_url });
  await writer.connect();
});
afterAll(async () => {
  await writer.end();
  await explorer.close();
});

async function finalUpTo(height: number): Promise<void> {
  await writer.query(`UPDATE explorer.head SET finalized_height = ${height}`);
}

async function controlOf(path: string): Promise<string | null> {
  const { status, headers } = await explorer.get(path);
  expect([path, status]).toEqual([path, 200]);
  return headers.get('cache-control');
}

test('a block, a transaction and a past balance may be kept for ever once their block is final', async () => {
  await finalUpTo(-1);
  expect(await controlOf(`/api/v1/blocks/${FIRST}`)).toBe(AT_HEAD);
  await finalUpTo(FINAL_HEIGHT);
  for (const { height, hash } of blocks) {
    const control = height <= FINAL_HEIGHT ? FINAL : AT_HEAD;
    expect([height, await controlOf(`/api/v1/blocks/${height}`)]).toEqual([height, control]);
    expect([height, await controlOf(`/api/v1/blocks/${toHex(hash)}`)]).toEqual([height, control]);
  }
  const { from: address } = transactions[0] ?? { from: '' };
  for (const { height, hash } of transactions) {
    const control = height <= FINAL_HEIGHT ? FINAL : AT_HEAD;
    expect([height, await controlOf(`/api/v1/transactions/${hash}`)]).toEqual([height, control]);
    const balance = `/api/v1/accounts/${address}/balance-at?height=${height}`;
    expect([height, await controlOf(balance)]).toEqual([height, control]);
  }
});

test('everything else of the index is kept for a second, and what is not of the index not at all', async () => {
  await finalUpTo(blocks.at(-1)?.height ?? 0);
  const { from: address } = transactions[0] ?? { from: '' };
  for (const path of [
    '/api/v1/blocks',
    `/api/v1/blocks?cursor=${encodeCursor('blocks', 20n)}`,
    '/api/v1/transactions?block=10',
    `/api/v1/accounts/${address}`,
    `/api/v1/accounts/${address}/activity`,
    '/api/v1/validators',
    '/api/v1/search?q=10',
    '/api/v1/stats',
    '/api/v1/reserve/runs',
  ])
    expect([path, await controlOf(path)]).toEqual([path, AT_HEAD]);
  for (const path of ['/api/v1/reserve', '/api/v1/export/transactions.csv'])
    expect([path, await controlOf(path)]).toEqual([path, 'no-store']);
  // errors: the explorer of the tests holds each against no-store
  for (const path of ['/api/v1/blocks/1', '/api/v1/blocks?limit=0', '/nothing'])
    expect((await explorer.get(path)).status).toBeGreaterThanOrEqual(400);
});

test('a page is not sent again while it is the same', async () => {
  for (const path of ['/api/v1/blocks', `/api/v1/transactions/${transactions[0]?.hash}`]) {
    const { headers } = await explorer.get(path);
    const etag = headers.get('etag') ?? '';
    const again = await explorer.get(path, { 'if-none-match': etag });
    expect([again.status, again.text, again.headers.get('cache-control')]).toEqual([
      304,
      '',
      headers.get('cache-control'),
    ]);
    const other = await explorer.get(`${path}?limit=1`, { 'if-none-match': 'W/"other"' });
    expect(other.status).toBe(200);
  }
});
