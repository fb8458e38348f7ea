/** The verification of a reserve run in Chromium, by the explorer's answers alone. */
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { explorer as explorerProjection } from '../../../../projections/explorer/explorer.ts';
import { parseHash } from '../../../../schemas/address.ts';
import type { ChainEvent } from '../../../../schemas/chain.blocks/events.ts';
import { applyStretch, openTables } from '../../../projections/deposits/applied.ts';
import { openPage, type Opened } from '../../../services/console/console-world.ts';
import { AUTHORITY, HEALTHY, RUN, USD } from '../../../services/console/verified-run.ts';
import {
  openExplorer,
  type ExplorerServer,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { recordRuns, run } from '../../../services/explorer-gateway/reserve/recorded-runs.ts';
import { openChromium } from '../../../support/chromium.ts';
import { freshDatabase } from '../../../support/database.ts';
import { builtPages, PHONE, violationsOfBothSchemes, widthOf } from '../../../support/pages.ts';
import { ScriptedNode } from '../../../support/scripted-node.ts';

const node = new ScriptedNode();
const OTHER = Buffer.alloc(32, 9);
let browser: Browser | undefined;
let missing = '';
let explorer: ExplorerServer;
let writer: Client;
let opened: Opened;

beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  await recordRuns(urls.writer_url, [
    {
      ...run(3),
      run_id: RUN.run_id,
      block_hash: parseHash(RUN.block_hash) ?? Buffer.alloc(32),
      onchain_supply: BigInt(RUN.onchain_supply),
      genesis_allocation: BigInt(RUN.genesis_allocation),
      treasury_minted: BigInt(RUN.treasury_minted),
      burned: BigInt(RUN.burned),
      ledger_liability: BigInt(RUN.ledger_liability),
      custody_reported: BigInt(RUN.custody_reported),
      held: BigInt(RUN.held),
      minting: BigInt(RUN.minting),
      waiting: BigInt(RUN.waiting),
      retained_fees: BigInt(RUN.retained_fees),
    },
  ]);
  const tables = await openTables(urls.writer_url, explorerProjection);
  const last = HEALTHY.at(-1);
  const events: ChainEvent[] = [...HEALTHY];
  if (last !== undefined)
    events.push({ ...last, type: 'BlocksFinalized', sequence: HEALTHY.length });
  await applyStretch(tables, explorerProjection, {
    topic: 'chain.blocks',
    partition: 0,
    from: 0,
    events,
  });
  await tables.end();
  writer = new Client({ connectionString: urls.writer_url });
  await writer.connect();
  node.mint_authority = AUTHORITY.address;
  const folder = await builtPages('vite');
  explorer = await openExplorer({
    postgres_reader_url: urls.reader_url,
    node_url: await node.listen(),
    treasury_public_reconciliation_url: 'http://127.0.0.1:1',
    console: pathToFileURL(`${folder}/`),
  });
  const chromium = await openChromium();
  if ('missing' in chromium) {
    ({ missing } = chromium);
    return;
  }
  browser = chromium;
});
afterAll(async () => {
  await browser?.close();
  await writer.end();
  await explorer.close();
  await node.close();
});
beforeEach(async () => {
  node.blocks = HEALTHY;
  if (browser === undefined) return;
  // with a cache of its own, which keeps a run for ever
  opened = await openPage({ browser, explorer });
  await opened.page.route('**/api/v1/reserve/tolerance*', async (route) => {
    await route.fulfill({ json: { tolerance: String(USD) } });
  });
});
afterEach(async () => {
  if (browser === undefined) return;
  await opened.page.unrouteAll({ behavior: 'ignoreErrors' });
  await opened.context.close();
});

test('the explorer streams whole blocks up to a height, and says whose they are', async () => {
  const { status, text, headers } = await explorer.get('/api/v1/export/blocks.ndjson?to_height=3');
  expect([status, text.trimEnd().split('\n').length]).toEqual([200, 4]);
  expect([headers.get('x-clt-chain-id'), headers.get('x-clt-mint-authority')]).toEqual([
    '7777',
    AUTHORITY.address,
  ]);
});

test('a node that is away, or has another block than the index, gives no file', async () => {
  const [last] = HEALTHY.slice(3);
  if (last !== undefined) node.blocks = [...HEALTHY.slice(0, 3), { ...last, hash: OTHER }];
  expect((await explorer.get('/api/v1/export/blocks.ndjson?to_height=3')).status).toBe(503);
  node.mint_authority = 'nobody';
  expect((await explorer.get('/api/v1/export/blocks.ndjson?to_height=3')).status).toBe(502);
  node.mint_authority = AUTHORITY.address;
});

/** Opens the page of the run, presses the button, and waits for the end. */
async function verified(): Promise<Readonly<Record<string, string | null>>> {
  const { page, show } = opened;
  await show(`/reserve/${encodeURIComponent(RUN.run_id)}`);
  await page.getByRole('button', { name: 'Verify in this browser' }).click();
  await page.getByRole('button', { name: 'Verify again' }).waitFor();
  const steps = await page.locator('[data-step]').all();
  return Object.fromEntries(
    await Promise.all(
      steps.map(async (step) => [
        (await step.getAttribute('data-step')) ?? '',
        await step.getAttribute('data-state'),
      ]),
    ),
  );
}

const GOOD = {
  blocks: 'good',
  transactions: 'good',
  effects: 'good',
  mints: 'good',
  supply: 'good',
  liability: 'good',
  verdict: 'good',
};

test('a healthy run has a tick at each step, and the page says what it believes', async ({
  skip,
}) => {
  if (missing !== '') skip(missing);
  const { page, problems } = opened;
  expect(await verified()).toEqual(GOOD);
  const panel = page.getByRole('region', { name: 'Verify here' });
  await expect
    .poll(() => panel.getByRole('status').innerText())
    .toBe('Blocks 0 to 3 are checked, and everything they show agrees with the run.');
  expect(await panel.innerText()).toContain('Custody and the part of it that is frozen');
  expect(await violationsOfBothSchemes(page)).toEqual([]);
  const size = page.viewportSize();
  await page.setViewportSize(PHONE);
  expect(await widthOf(page)).toBe(PHONE.width);
  if (size !== null) await page.setViewportSize(size);
  expect(problems).toEqual([]);
});

test('a figure that was changed in the tables is red, beside the one that was computed', async ({
  skip,
}) => {
  if (missing !== '') skip(missing);
  const change = 'UPDATE reserve.runs SET onchain_supply = onchain_supply';
  await writer.query(`${change} + 1000000`);
  const states = await verified();
  await writer.query(`${change} - 1000000`);
  expect(states).toEqual({ ...GOOD, supply: 'bad' });
  const shown = await opened.page.locator('[data-step=supply]').innerText();
  expect(shown).toContain('1,115');
  expect(shown).toContain('1,116');
});

test('a transaction of the node that was changed is red at its step', async ({ skip }) => {
  if (missing !== '') skip(missing);
  const [first, second, ...others] = HEALTHY;
  const [mint] = second?.transactions ?? [];
  if (first === undefined || second === undefined || mint === undefined)
    throw new Error('the second block of the chain has a mint');
  const changed = { ...mint, raw: Buffer.from('c0', 'hex') };
  node.blocks = [first, { ...second, transactions: [changed] }, ...others];
  expect(await verified()).toMatchObject({ blocks: 'good', transactions: 'bad' });
});

test('a reader who stops it is told how far it came', async ({ skip }) => {
  if (missing !== '') skip(missing);
  const { page, show } = opened;
  await page.route('**/api/v1/export/blocks.ndjson*', () => undefined);
  await show('/reserve');
  await page.getByRole('button', { name: 'Verify in this browser' }).click();
  await page.getByRole('button', { name: 'Stop' }).click();
  await expect
    .poll(() => page.getByRole('region', { name: 'Verify here' }).getByRole('status').innerText())
    .toBe('No block was checked. You stopped it.');
});
