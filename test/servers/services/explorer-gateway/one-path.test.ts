/** There is one path to an answer: Express. */
import express from 'express';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import { fillExplorer, seededBlocks } from '../../../projections/explorer/seeded-rows.ts';
import {
  openExplorer,
  type ExplorerServer,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { freshDatabase } from '../../../support/database.ts';

const blocks = seededBlocks({ seed: 8, blocks: 10, transactions_max: 5, first_height: 5 });
const [transaction] = blocks.flatMap(({ transactions }) => transactions);
const hash = toHex(transaction?.hash ?? Buffer.of());
const address = toHex(transaction?.from ?? Buffer.of());

/** every application of Express has its methods */
const methods: { handle(request: { readonly url: string }): unknown } = Object(express.application);
const handled = vi.spyOn(methods, 'handle');
let explorer: ExplorerServer;
beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, blocks);
  explorer = await openExplorer({ postgres_reader_url: urls.reader_url });
});
afterAll(async () => {
  await explorer.close();
  handled.mockRestore();
});

test.each([
  '/api/v1/blocks',
  '/api/v1/blocks/5',
  '/api/v1/blocks/5/record',
  '/api/v1/blocks/5/effects',
  '/api/v1/transactions',
  `/api/v1/transactions/${hash}`,
  `/api/v1/accounts/${address}`,
  `/api/v1/accounts/${address}/activity`,
  `/api/v1/accounts/${address}/balance-history`,
  `/api/v1/accounts/${address}/balance-at?height=9`,
  '/api/v1/validators',
  '/api/v1/stats',
  '/api/v1/search?q=5',
  '/api/v1/search/suggestions?q=5',
  '/api/v1/series?metric=transactions',
  '/api/v1/status',
  '/api/v1/export/transactions.csv',
  '/api/v1/topics',
  '/health',
  '/nowhere',
])('each request for %s goes through Express, made or cached', async (path) => {
  const before = handled.mock.calls.length;
  const ids = new Set<string | null>();
  for (let times = 0; times < 4; times++)
    ids.add((await explorer.get(path)).headers.get('x-request-id'));
  expect([handled.mock.calls.length - before, ids.size, ids.has(null)]).toEqual([4, 4, false]);
});
