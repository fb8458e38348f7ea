/**
 * Beyond the specification: records, effects, past balances, filters, suggestions, single runs,
 * amounts as text.
 */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import { activityLabel } from '../../../../services/explorer-gateway/routes/json.ts';
import {
  effectsOf,
  exactJson,
  movements,
  plainActivity,
  plainBalance,
} from '../../../projections/explorer/plain-answers.ts';
import { POOL } from '../../../projections/explorer/seeded-effects.ts';
import {
  fillExplorer,
  mostFrequent,
  seededBlocks,
} from '../../../projections/explorer/seeded-rows.ts';
import {
  openExplorer,
  openIndexed,
  type ExplorerServer,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { recordRuns, run } from '../../../services/explorer-gateway/reserve/recorded-runs.ts';
import { freshDatabase } from '../../../support/database.ts';

const FIRST = 3;
const blocks = seededBlocks({ seed: 90, blocks: 120, transactions_max: 9, first_height: FIRST });
const hot = mostFrequent(blocks);
const changes = movements(blocks, hot);
let sum = 0n;
const balances = changes.map(({ effect }) => (sum += effect.delta));
const account = `/api/v1/accounts/${toHex(hot)}`;

interface Answer {
  readonly items: readonly Readonly<Record<string, string | number | null>>[];
}

let explorer: ExplorerServer;
beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  await recordRuns(
    urls.writer_url,
    Array.from({ length: 3 }, (_, at) => run(at)),
  );
  await fillExplorer(urls.writer_url, blocks);
  explorer = await openExplorer({
    postgres_reader_url: urls.reader_url,
    treasury_public_reconciliation_url: 'http://127.0.0.1:1',
  });
});
afterAll(() => explorer.close());

async function itemsAt(path: string): Promise<Answer['items']> {
  const { status, text } = await explorer.get(path);
  expect({ path, status }).toEqual({ path, status: 200 });
  const { items }: Answer = JSON.parse(text);
  return items;
}

test('a block names its record in the log, by height and by hash', async () => {
  for (const [at, { height, hash }] of blocks.slice(0, 9).entries()) {
    const body = exactJson({
      height,
      hash: toHex(hash),
      topic: 'chain.blocks',
      partition: 0,
      offset: at + 1,
    });
    for (const id of [height, toHex(hash)])
      expect((await explorer.get(`/api/v1/blocks/${id}/record`)).text).toBe(body);
  }
  expect((await explorer.get('/api/v1/blocks/1/record')).status).toBe(404);
});

test('a transaction and a block list their balance effects with the balance after each', async () => {
  for (const block of blocks.slice(0, 8)) {
    const wanted = effectsOf(blocks, block, activityLabel);
    for (const id of [block.height, toHex(block.hash)]) {
      const { text } = await explorer.get(`/api/v1/blocks/${id}/effects?limit=100`);
      expect(text).toContain(`{"items":${exactJson(wanted.ofBlock)},"paging"`);
    }
    for (const { hash, tx_index: txIndex } of block.transactions) {
      const { text } = await explorer.get(`/api/v1/transactions/${toHex(hash)}/effects?limit=100`);
      expect(text).toContain(`{"items":${exactJson(wanted.ofTransaction(txIndex))},"paging"`);
    }
  }
  expect(await itemsAt(`/api/v1/transactions/0x${'00'.repeat(32)}/effects`)).toEqual([]);
});

test('effects are walked page by page', async () => {
  const block = blocks.find((each) => effectsOf(blocks, each, activityLabel).ofBlock.length > 1);
  const path = `/api/v1/blocks/${block?.height}/effects`;
  const { headers } = await explorer.get(`${path}?limit=1`);
  const next = /<([^>]*)>/.exec(headers.get('link') ?? '')?.[1] ?? '';
  expect([...(await itemsAt(`${path}?limit=1`)), ...(await itemsAt(next))]).toEqual(
    (await itemsAt(path)).slice(0, 2),
  );
});

const newest = FIRST + blocks.length - 1;
const nobody = Buffer.alloc(20, 1);

async function balanceAt(
  address: Buffer | string,
  height: bigint | number | string,
): Promise<unknown> {
  const named = typeof address === 'string' ? address : toHex(address);
  const { status, text } = await explorer.get(
    `/api/v1/accounts/${named}/balance-at?height=${height}`,
  );
  return { height, status, text };
}

test('the balance after any block is exact, and 0 before the first movement', async () => {
  const others = blocks.flatMap(({ effects }) => effects.map(({ address }) => address)).slice(3, 6);
  const digits = hot.toString('hex');
  const notations = [digits, digits.toUpperCase(), `0X${digits}`];
  for (const address of [hot, POOL, ...others])
    for (const height of [FIRST, FIRST + 1, 17, 100, newest - 1, newest]) {
      const text = exactJson({
        address: toHex(address),
        height,
        block_hash: toHex(blocks[height - FIRST]?.hash ?? nobody),
        balance: plainBalance(blocks, address, height),
      });
      for (const named of [address, ...(address === hot ? notations : [])])
        for (const asked of [height, `00${height}`])
          expect(await balanceAt(named, asked)).toEqual({ height: asked, status: 200, text });
    }
});

function notFound(message: string): object {
  return { status: 404, text: JSON.stringify({ code: 'not_found', message }) };
}

test('the balance at an unknown height is not found, and the message gives the known heights', async () => {
  const known = `no block is indexed at this height: there are the heights from ${FIRST} to ${newest}`;
  for (const height of [0, FIRST - 1, newest + 1, 2n ** 53n, 2n ** 63n - 1n, 2n ** 63n, 10n ** 40n])
    for (const address of [hot, nobody])
      expect(await balanceAt(address, height)).toMatchObject(notFound(known));
  expect(await balanceAt(nobody, newest)).toMatchObject(notFound('no such account is indexed'));
  const empty = await openIndexed([]);
  const path = `/api/v1/accounts/${toHex(hot)}/balance-at?height=0`;
  expect(await empty.get(path)).toMatchObject(notFound('no block is indexed yet'));
  await empty.close();
});

test('a balance history with as many points as changes has the balance after each', async () => {
  const { text } = await explorer.get(`${account}/balance-history?points=500`);
  expect(changes.length).toBeLessThanOrEqual(500);
  const wanted = changes.map(({ block: { height, timestamp } }, at) => ({
    block_height: height,
    timestamp: new Date(timestamp).toISOString(),
    balance: balances[at] ?? 0n,
  }));
  expect(text).toBe(exactJson({ items: wanted }));
});

test('a balance history with fewer points is spread from the first change to the newest', async () => {
  const items = await itemsAt(`${account}/balance-history?points=5&amounts=string`);
  const at = [0, 1, 2, 3, 4].map((point) => Math.floor((point * (changes.length - 1)) / 4));
  expect(items.map(({ balance }) => balance)).toEqual(at.map((place) => String(balances[place])));
  for (const points of ['1', '501', 'x'])
    expect((await explorer.get(`${account}/balance-history?points=${points}`)).status).toBe(400);
  expect(await itemsAt(`/api/v1/accounts/${'07'.repeat(20)}/balance-history`)).toEqual([]);
});

test('activity is filtered by kind and direction, by offset and by cursor', async () => {
  const kinds = [...new Set(changes.map(({ effect }) => effect.kind))];
  for (const kind of [undefined, ...kinds]) {
    for (const direction of [undefined, 'credit', 'debit'] as const) {
      const query = new URLSearchParams({
        limit: '7',
        ...(kind !== undefined && { kind }),
        ...(direction !== undefined && { direction }),
      }).toString();
      const wanted = (offset: bigint): string =>
        plainActivity(blocks, hot, activityLabel, 7, offset, { kind, direction });
      expect((await explorer.get(`${account}/activity?${query}`)).text).toBe(wanted(0n));
      const second = await explorer.get(`${account}/activity?${query}&offset=7`);
      expect(second.text).toBe(wanted(7n));
      const { headers } = await explorer.get(`${account}/activity?${query}`);
      const next = /<([^>]*)>/.exec(headers.get('link') ?? '')?.[1];
      if (next !== undefined) expect(await itemsAt(next)).toEqual(JSON.parse(second.text).items);
    }
  }
  const { headers } = await explorer.get(`${account}/activity?limit=1&direction=credit`);
  const other = /cursor=([\w-]+)/.exec(headers.get('link') ?? '')?.[1];
  for (const query of [`cursor=${other}`, 'direction=up', 'kind=%00'])
    expect((await explorer.get(`${account}/activity?${query}`)).status).toBe(400);
});

async function suggested(q: string): Promise<readonly string[]> {
  const items = await itemsAt(`/api/v1/search/suggestions?q=${q}`);
  return items.map(({ kind, identifier }) => `${kind} ${identifier}`);
}

test('suggestions are what begins with the digits, and the block at the height', async () => {
  const [block] = blocks;
  const transaction = blocks.flatMap(({ transactions }) => transactions)[0];
  if (block === undefined || transaction === undefined) throw new Error('the chain has none');
  for (const [subject, identifier] of [
    ['block', toHex(block.hash)],
    ['transaction', toHex(transaction.hash)],
    ['account', toHex(hot)],
  ] as const) {
    for (const q of [identifier, identifier.slice(0, 11), identifier.slice(2, 10).toUpperCase()])
      expect(await suggested(q)).toEqual([`${subject} ${identifier}`]);
  }
  expect((await suggested(String(FIRST)))[0]).toBe(`block ${FIRST}`);
  const digit = toHex(hot)[2] ?? '';
  const starting = (hashes: readonly Buffer[]): number =>
    Math.min(4, hashes.filter((hash) => toHex(hash).startsWith(`0x${digit}`)).length);
  const counted = await suggested(`0x${digit}`);
  expect(counted.filter((each) => each.startsWith('block ')).length).toBe(
    starting(blocks.map(({ hash }) => hash)),
  );
  for (const q of ['0x', 'nothing', '0'.repeat(65), '%00', 'x'.repeat(300)])
    expect(await suggested(q)).toEqual([]);
});

test('a reserve run is found by its id', async () => {
  const [first] = await itemsAt('/api/v1/reserve/runs');
  const path = `/api/v1/reserve/runs/${encodeURIComponent(String(first?.['run_id']))}`;
  const { text, headers } = await explorer.get(path);
  expect(JSON.parse(text)).toEqual(first);
  expect(headers.get('cache-control')).toContain('immutable');
  expect((await explorer.get('/api/v1/reserve/runs/none')).status).toBe(404);
});

test('amounts are text on request, everywhere and in links, and nothing else changes', async () => {
  const block = blocks.findLast(({ transactions }) => transactions.length > 0);
  const hash = toHex(block?.transactions[0]?.hash ?? nobody);
  for (const path of [
    '/api/v1/blocks?limit=1',
    `/api/v1/blocks/${block?.height}`,
    '/api/v1/transactions?limit=1&type=Transfer',
    `/api/v1/transactions/${hash}`,
    account,
    `${account}/activity`,
    `${account}/balance-at?height=${newest}`,
    '/api/v1/validators',
    '/api/v1/reserve/runs',
    '/api/v1/export/transactions.ndjson',
    '/api/v1/export/transactions.csv',
    '/api/v1/export/activity.ndjson',
    '/api/v1/export/activity.csv',
  ]) {
    const plain = await explorer.get(path);
    const asked = await explorer.get(`${path}${path.includes('?') ? '&' : '?'}amounts=string`);
    expect([path, asked.status]).toEqual([path, 200]);
    expect(asked.text.replaceAll(/"(-?\d+)"/g, '$1')).toBe(plain.text);
    if (!path.endsWith('.csv')) expect(asked.text).not.toMatch(/:-?\d{16}/);
    const next = plain.headers.get('link');
    expect(asked.headers.get('link')).toBe(next?.replace('?', '?amounts=string&') ?? null);
  }
});
