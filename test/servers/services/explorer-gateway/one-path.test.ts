/** There is one path to an answer: Express. */
import express from 'express';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { EXPLORER_API } from '../../../../schemas/explorer-api/document.ts';
import { seededBlocks } from '../../../projections/explorer/seeded-rows.ts';
import {
  openIndexed,
  type ExplorerServer,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { gettable } from '../../../support/openapi.ts';

const blocks = seededBlocks({ seed: 8, blocks: 10, transactions_max: 5, first_height: 5 });
const [block] = blocks;

/** every application of Express has its methods */
const methods: { handle(request: { readonly url: string }): unknown } = Object(express.application);
const handled = vi.spyOn(methods, 'handle');
let explorer: ExplorerServer;
beforeAll(async () => {
  explorer = await openIndexed(blocks);
});
afterAll(async () => {
  await explorer.close();
  handled.mockRestore();
});

test.each([
  ...gettable(EXPLORER_API).map(({ path, query }) => `${path}?${query}`),
  `/api/v1/blocks/${block?.height}`,
  '/nowhere',
])('each request for %s goes through Express, made or cached', async (path) => {
  const before = handled.mock.calls.length;
  const ids = new Set<string | null>();
  for (let times = 0; times < 4; times++)
    ids.add((await explorer.get(path)).headers.get('x-request-id'));
  expect([handled.mock.calls.length - before, ids.size, ids.has(null)]).toEqual([4, 4, false]);
});
