/** The console in Chromium, on the explorer gateway and its content security policy. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Axe from 'axe-core';
import { Client } from 'pg';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import {
  fillExplorer,
  mostFrequent,
  seededBlocks,
} from '../../../projections/explorer/seeded-rows.ts';
import { fillSeries } from '../../../projections/series/filled-series.ts';
import {
  openExplorer,
  type ExplorerServer,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { recordRuns, run } from '../../../services/explorer-gateway/reserve/recorded-runs.ts';
import { OPEN_CHROMIUM_MS, openChromium } from '../../../support/chromium.ts';
import { freshDatabase } from '../../../support/database.ts';

declare global {
  /** what `AXE` leaves in a page */
  const axe: typeof Axe;
}

const CONFIG = join(import.meta.dirname, '../../../../services/console/vite.config.ts');
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const SCRIPT_BYTES_MAX = 250_000;

const blocks = seededBlocks({ seed: 8, blocks: 60, transactions_max: 9, first_height: 0 });
const newest = blocks.length - 1;
const [transaction] = blocks.flatMap((block) => block.transactions);
const address = toHex(mostFrequent(blocks));
const hash = toHex(transaction?.hash ?? Buffer.alloc(32));

/** Address of each page, and its heading. */
const PAGES: readonly (readonly [string, string])[] = [
  ['/', 'Chain'],
  [`/blocks/${transaction?.block_height}`, `Block ${transaction?.block_height}`],
  [`/transactions/${hash}`, 'Transaction'],
  ['/transactions', 'Transactions'],
  [`/accounts/${address}`, 'Account'],
  ['/validators', 'Validators'],
  ['/charts', 'Charts'],
  ['/charts?span=30d', 'Charts'],
  ['/reserve', 'Reserve'],
];

let browser: Browser | undefined;
let missing = '';
let folder: string;
let explorer: ExplorerServer;
let writer: Client;
let context: BrowserContext;
let page: Page;
let problems: string[] = [];

beforeAll(async () => {
  const opened = await openChromium();
  if ('missing' in opened) {
    ({ missing } = opened);
    process.stderr.write(`tests in a browser are skipped: ${missing}\n`);
    return;
  }
  browser = opened;
  folder = await mkdtemp(join(tmpdir(), 'clt-console-'));
  await build({ configFile: CONFIG, logLevel: 'error', build: { outDir: folder } });
  const urls = await freshDatabase(inject('stack'));
  await recordRuns(
    urls.writer_url,
    Array.from({ length: 5 }, (_, at) => run(at)),
  );
  await fillExplorer(urls.writer_url, blocks);
  await fillSeries(urls.writer_url);
  writer = new Client({ connectionString: urls.writer_url });
  await writer.connect();
  const console = pathToFileURL(`${folder}/`);
  explorer = await openExplorer({ postgres_reader_url: urls.reader_url, console });
  await open(browser, {});
}, OPEN_CHROMIUM_MS + 120_000);
afterAll(async () => {
  if (browser === undefined) return;
  await browser.close();
  await writer.end();
  await explorer.close();
  await rm(folder, { recursive: true });
});

beforeEach(({ skip }) => {
  if (missing !== '') skip(missing);
  problems = [];
});

/** A context of its own; what a page complains of is in `problems`. */
async function open(of: Browser, options: Parameters<Browser['newContext']>[0]): Promise<void> {
  context = await of.newContext({ ...options, permissions: ['clipboard-read', 'clipboard-write'] });
  page = await context.newPage();
  page.on('pageerror', ({ message }) => problems.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(explorer.url)) problems.push(`asks ${request.url()}`);
  });
}

/** Returns once the page has its script. */
async function show(path: string): Promise<void> {
  await page.goto(explorer.url + path);
  await expect.poll(() => page.locator('.bar').count()).toBe(1);
}

async function heading(): Promise<string> {
  return page.locator('h1').first().innerText();
}

/** Ids of the rules of WCAG 2.1 AA that the page breaks, with the first element. */
async function violations(): Promise<readonly string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { violations: found } = await axe.run({
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'],
    });
    return found.map(({ id, nodes: [first] }) => `${id}: ${first?.html ?? ''}`);
  });
}

test.each(['light', 'dark'] as const)(
  'every page is shown without an error, a request outside or a violation of AA, %s',
  async (colorScheme) => {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    for (const [path, title] of PAGES) {
      await show(path);
      await expect.poll(heading).toBe(title);
      await expect.poll(() => page.getByText('Loading').count()).toBe(0);
      expect([path, await violations()]).toEqual([path, []]);
    }
    expect(problems).toEqual([]);
  },
);

test('no page is wider than a phone', async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  for (const [path, title] of PAGES) {
    await show(path);
    await expect.poll(heading).toBe(title);
    await expect.poll(() => page.getByText('Loading').count()).toBe(0);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect([path, width]).toEqual([path, 360]);
  }
  await page.setViewportSize({ width: 1_280, height: 800 });
});

test('the first load of the chain has less than 250 KB of compressed script', async () => {
  const scripts: Promise<{ readonly responseBodySize: number }>[] = [];
  // nothing is cached in it
  await using fresh = await browser?.newContext();
  const first = await fresh?.newPage();
  if (first === undefined) return;
  first.on('requestfinished', (request) => {
    if (request.resourceType() === 'script') scripts.push(request.sizes());
  });
  await first.goto(explorer.url);
  await expect.poll(() => first.locator('h1').innerText()).toBe('Chain');
  const sizes = await Promise.all(scripts);
  const bytes = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(SCRIPT_BYTES_MAX);
});

test('blocks that are replaced are shown and named', async () => {
  await show('/');
  await expect.poll(() => page.locator('.block strong').first().innerText()).toBe(String(newest));
  const other = '7'.repeat(62);
  await writer.query(
    `UPDATE explorer.blocks SET hash = ('\\x${other}' || lpad(to_hex(height % 256), 2, '0'))::bytea WHERE height > $1`,
    [newest - 2],
  );
  await expect
    .poll(() => page.getByRole('status').allInnerTexts())
    .toContain(`Blocks ${newest - 1} to ${newest} were replaced: the chain reorganised.`);
  expect(problems).toEqual([]);
});

test('while the explorer is away its old figures stay, and say so', async () => {
  await show('/');
  await expect.poll(() => page.locator('.block').count()).toBeGreaterThan(0);
  await context.setOffline(true);
  await expect
    .poll(async () => (await page.getByRole('status').allInnerTexts()).join(' '))
    .toContain('No answer from the explorer since');
  expect(await page.locator('.block').count()).toBeGreaterThan(0);
  await context.setOffline(false);
  await expect.poll(() => page.getByText('No answer from').count()).toBe(0);
});

test('a page that is opened while the explorer is away fills when it is back', async () => {
  await show('/');
  await expect.poll(() => page.locator('.block').count()).toBeGreaterThan(0);
  await context.setOffline(true);
  await page.getByRole('link', { name: 'Validators' }).click();
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('does not answer');
  await context.setOffline(false);
  await expect.poll(() => page.locator('tbody tr').count()).toBeGreaterThan(0);
});

test.each([
  [String(newest), `/blocks/${newest}`],
  [hash.toUpperCase().replace('0X', ''), `/transactions/${hash}`],
  [address, `/accounts/${address}`],
])('the search for %s leads to its page', async (text, path) => {
  await show('/');
  await page.keyboard.press('/');
  await page.keyboard.type(text);
  await page.keyboard.press('Enter');
  await expect.poll(() => new URL(page.url()).pathname).toBe(path);
});

test('a search that finds nothing says what can be found', async () => {
  await show('/');
  await page.getByRole('searchbox').fill('0x12');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('Nothing matches');
});

test('rows are walked by j and k and opened by Enter', async () => {
  await show('/validators');
  await expect.poll(() => page.locator('tbody tr').count()).toBeGreaterThan(1);
  const links = page.locator('tbody tr td:first-child a');
  for (const key of ['j', 'j', 'k']) await page.keyboard.press(key);
  const first = await links.first().getAttribute('href');
  await page.keyboard.press('Enter');
  await expect.poll(() => new URL(page.url()).pathname).toBe(first);
});

test('a filter and a page are in the address', async () => {
  await show('/transactions');
  await page.getByLabel('Type').selectOption('RidePay');
  await page.getByRole('button', { name: 'Filter' }).click();
  await expect.poll(() => new URL(page.url()).search).toBe('?type=RidePay');
  await expect
    .poll(async () => new Set(await page.locator('tbody tr td:nth-child(2)').allInnerTexts()))
    .toEqual(new Set(['RidePay']));
  await show('/transactions');
  await page.getByRole('link', { name: 'Older' }).click();
  await expect.poll(() => page.url()).toContain('cursor=');
  const rows = await page.locator('tbody tr').allInnerTexts();
  await page.reload();
  await expect.poll(() => page.locator('tbody tr').count()).toBe(rows.length);
});

test('a chart shows the value that is pointed at, and all values as a table', async () => {
  await show('/charts?span=30d');
  const chart = page.getByRole('region', { name: 'Transactions a day' }).first();
  await chart.getByText('Table').click();
  const cells = chart.locator('tbody tr').first().locator('td');
  const [day = '', count = ''] = await cells.allInnerTexts();
  const box = await chart.locator('.u-over').boundingBox();
  await chart.locator('.u-over').hover({ position: { x: (box?.width ?? 0) - 4, y: 40 } });
  await expect.poll(() => chart.locator('.readout').innerText()).toBe(`${day} ${count}`);
  await chart.getByRole('button', { name: 'Copy CSV' }).click();
  const rows = (await page.evaluate(() => navigator.clipboard.readText())).split('\n');
  expect(rows[0]).toBe('start,Transactions');
  expect(rows.at(-1)).toMatch(new RegExp(`^2026-03-0.T00:00:00.000Z,${count}$`));
});

test('the length of a chart is in the address, and leads to older hours', async () => {
  await show('/charts');
  await page.getByRole('link', { name: '24 hours' }).click();
  await expect.poll(() => new URL(page.url()).search).toBe('?span=24h');
  await expect.poll(() => page.getByRole('img').count()).toBe(7);
  await page.getByRole('link', { name: 'Older' }).click();
  await expect.poll(() => page.url()).toContain('to=');
  await expect.poll(() => page.getByRole('link', { name: 'Newest' }).count()).toBe(1);
  await page.reload();
  await expect.poll(() => page.getByRole('img').count()).toBe(7);
});

test('a hash is copied whole', async () => {
  await show(`/accounts/${address}`);
  await page.getByRole('button', { name: 'Copy address' }).first().click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(address);
});

test('an address that is none, and a block that is not there, are told apart from a fault', async () => {
  for (const path of ['/accounts/0x12', '/blocks/999999', '/nowhere']) {
    if (path === '/nowhere') {
      await show('/');
      await page.evaluate(() => history.pushState({}, '', '/nowhere'));
      await page.evaluate(() => dispatchEvent(new PopStateEvent('popstate')));
    } else await show(path);
    await expect.poll(() => page.getByText('Not found').count()).toBe(1);
  }
});
