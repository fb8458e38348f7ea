/** The console in Chromium, on the explorer gateway and its content security policy. */
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import { transactionTitle } from '../../../../schemas/explorer-api/words.ts';
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
import {
  firstScriptBytes,
  openChromium,
  openContext,
  SCRIPT_BYTES_MAX,
} from '../../../support/chromium.ts';
import { freshDatabase } from '../../../support/database.ts';
import {
  builtPages,
  DESKTOP,
  PHONE,
  violationsOf,
  violationsOfBothSchemes,
  watchPage,
  widthOf,
} from '../../../support/pages.ts';

const blocks = seededBlocks({ seed: 8, blocks: 60, transactions_max: 9, first_height: 0 });
const newest = blocks.length - 1;
const [transaction] = blocks.flatMap((block) => block.transactions);
const address = toHex(mostFrequent(blocks));
const hash = toHex(transaction?.hash ?? Buffer.alloc(32));

const RUN = run(0).run_id;
/** No run has it. */
const OTHER_ID = '6db65fd5-9fd3-86f6-b291-40571b5bcd6b';

const BLOCK = `Block ${transaction?.block_height}`;
const CALL = transactionTitle({
  function_call_type: transaction?.type ?? '',
  amount: String(transaction?.amount),
});

/** Address of each page, its heading, and the title of its tab. */
const PAGES: readonly (readonly [string, string, string | RegExp])[] = [
  ['/', 'Chain', 'Chain'],
  [`/blocks/${transaction?.block_height}`, BLOCK, BLOCK],
  [`/transactions/${hash}`, 'Transaction', CALL],
  ['/transactions', 'Transactions', 'Transactions'],
  ['/transactions?type=RidePay&block=3', 'Transactions', 'Transactions: RidePay, Block 3'],
  [`/accounts/${address}`, 'Account', /^Account Validator \d$/],
  ['/validators', 'Validators', 'Validators'],
  ['/charts', 'Charts', 'Charts: 7 days'],
  ['/charts?span=30d', 'Charts', 'Charts: 30 days'],
  // its treasury does not answer
  ['/reserve', 'Reserve', 'Reserve: not known now'],
  [`/reserve/${RUN}`, 'Reserve run', 'Reserve run: mismatch'],
  // without a hub and deposits, which these pages say
  ['/market', 'Market', 'Market'],
  [`/market/trips/${hash}`, 'Ride', 'Ride'],
  ['/deposits', 'Deposits', 'Deposits'],
  ['/deposits/6db65fd5-9fd3-86f6-b291-40571b5bcd6b', 'Deposit', 'Deposit'],
];

let browser: Browser | undefined;
let missing = '';
let explorer: ExplorerServer;
/** serves pages that React checks, of the same read models */
let development: ExplorerServer;
let writer: Client;
let context: BrowserContext;
let page: Page;
const problems: string[] = [];

beforeAll(async () => {
  const opened = await openChromium();
  if ('missing' in opened) {
    ({ missing } = opened);
    process.stderr.write(`tests in a browser are skipped: ${missing}\n`);
    return;
  }
  browser = opened;
  const urls = await freshDatabase(inject('stack'));
  await recordRuns(
    urls.writer_url,
    Array.from({ length: 5 }, (_, at) => run(at)),
  );
  await fillExplorer(urls.writer_url, blocks);
  await fillSeries(urls.writer_url);
  writer = new Client({ connectionString: urls.writer_url });
  await writer.connect();
  [explorer, development] = [
    await openPages(urls.reader_url, 'production'),
    await openPages(urls.reader_url, 'development'),
  ];
  await open(browser, {});
});
afterAll(async () => {
  if (browser === undefined) return;
  await browser.close();
  await writer.end();
  await Promise.all([explorer.close(), development.close()]);
});

beforeEach(({ skip }) => {
  if (missing !== '') skip(missing);
  problems.length = 0;
});

/** An explorer whose node has the newest block, with a build of the console. */
async function openPages(
  postgres_reader_url: string,
  mode: 'production' | 'development',
): Promise<ExplorerServer> {
  const folder = await builtPages('vite', mode);
  const opened = await openExplorer({
    postgres_reader_url,
    treasury_public_reconciliation_url: 'http://127.0.0.1:1',
    console: pathToFileURL(`${folder}/`),
  });
  opened.head = newest;
  return opened;
}

/** A context of its own; what a page complains of is in `problems`. */
async function open(of: Browser, options: Parameters<Browser['newContext']>[0]): Promise<void> {
  context = await openContext(of, {
    ...options,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  page = await context.newPage();
  watchPage(page, problems, (url) =>
    [explorer, development].some((ours) => url.startsWith(ours.url)),
  );
}

/** Returns once the page has its script. */
async function show(path: string, { url } = explorer): Promise<void> {
  await page.goto(url + path);
  await expect.poll(() => page.locator('.bar').count()).toBe(1);
}

const heading = (): Promise<string> => page.locator('h1').first().innerText();
const newestShown = (): Promise<string> => page.locator('.block strong').first().innerText();

test.each(PAGES)(
  '%s fits a phone, and has a title, no error, request outside or violation of AA, light and dark',
  async (path, title, tab) => {
    await page.setViewportSize(PHONE);
    await show(path, development);
    await expect.poll(heading).toBe(title);
    await expect.poll(() => page.getByText('Loading').count()).toBe(0);
    await expect
      .poll(async () => (await page.title()).replace(/ · CLT$/, ''))
      .toEqual(typeof tab === 'string' ? tab : expect.stringMatching(tab));
    expect(await widthOf(page)).toBe(PHONE.width);
    await page.setViewportSize(DESKTOP);
    expect(await violationsOfBothSchemes(page)).toEqual([]);
    expect(problems).toEqual([]);
  },
);

test('the bar of a phone shows the link of its page', async () => {
  await page.setViewportSize(PHONE);
  // the last in the bar
  await show('/deposits');
  const link = page.locator('.bar nav [aria-current=page]');
  await expect
    .poll(async () => {
      const box = await link.boundingBox();
      return box !== null && box.x >= 0 && box.x + box.width <= PHONE.width;
    })
    .toBe(true);
  await page.setViewportSize(DESKTOP);
});

test('the first load of the chain has less than 250 KB of compressed script', async () => {
  if (browser === undefined) return;
  const bytes = await firstScriptBytes(browser, explorer.url, 'Chain');
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(SCRIPT_BYTES_MAX);
});

/** Puts other blocks at the heights above this one. */
async function replaceAbove(height: number, fill: string): Promise<void> {
  await writer.query(
    `UPDATE explorer.blocks SET hash = ('\\x${fill.repeat(62)}' || lpad(to_hex(height % 256), 2, '0'))::bytea WHERE height > $1`,
    [height],
  );
}

test('a block that arrives is shown as the newest', async () => {
  const client = writer;
  await client.query(
    `CREATE TABLE later AS SELECT * FROM explorer.blocks WHERE height = ${newest}`,
  );
  await client.query(
    `UPDATE explorer.head SET height = height - 1; DELETE FROM explorer.blocks WHERE height = ${newest}`,
  );
  await show('/');
  await expect.poll(newestShown).toBe(String(newest - 1));
  await client.query(
    'INSERT INTO explorer.blocks SELECT * FROM later; UPDATE explorer.head SET height = height + 1; DROP TABLE later',
  );
  await expect.poll(newestShown).toBe(String(newest));
  await expect.poll(() => page.locator('.block[data-new]').count()).toBeGreaterThan(0);
  expect(problems).toEqual([]);
});

test('blocks that are replaced hang below those that replaced them, and are named', async () => {
  await show('/');
  await expect.poll(newestShown).toBe(String(newest));
  expect(await page.locator('.orphan').count()).toBe(0);
  await replaceAbove(newest - 2, '7');
  await expect
    .poll(() => page.getByRole('status').allInnerTexts())
    .toContain(`The chain reorganised: blocks from ${newest - 1} on were replaced.`);
  expect(await page.locator('.orphan').count()).toBe(2);
  expect(problems).toEqual([]);
});

test('the page of a block that is replaced says so, and shows the new one', async () => {
  await show(`/blocks/${newest}`);
  await expect.poll(heading).toBe(`Block ${newest}`);
  await expect.poll(() => page.getByText('Loading').count()).toBe(0);
  await replaceAbove(newest - 1, '8');
  await expect
    .poll(async () => (await page.getByRole('status').allInnerTexts()).join(' '))
    .toContain('A reorganisation replaced block');
});

test('a transaction shows its balance effects and its place in the log', async () => {
  await show(`/transactions/${hash}`);
  const height = transaction?.block_height ?? 0;
  await expect
    .poll(() => page.locator('main').innerText())
    .toContain(`chain.blocks, partition 0, offset ${height + 1}`);
  const effects = blocks[height]?.effects.filter(
    ({ tx_index: txIndex, delta }) => txIndex === transaction?.tx_index && delta !== 0n,
  );
  await expect.poll(() => page.locator('tbody tr').count()).toBe(effects?.length);
});

test('while the explorer is away its old figures stay, and the page says so once', async () => {
  await show('/');
  await expect.poll(() => page.locator('.block').count()).toBeGreaterThan(0);
  await explorer.stop();
  await expect
    .poll(() => page.locator('.health').allInnerTexts())
    .toEqual([expect.stringContaining('No answer from the explorer. Figures are those of')]);
  expect(await page.locator('.block').count()).toBeGreaterThan(0);
  expect(await page.getByText('Not updated').count()).toBe(0);
  // neither its figures nor its script are here
  await page.getByRole('link', { name: 'Reserve' }).click();
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('does not answer');
  await explorer.start();
  await expect.poll(heading).toBe('Reserve');
  await expect.poll(() => page.locator('tbody tr').count()).toBeGreaterThan(0);
  await expect.poll(() => page.locator('.health').count()).toBe(0);
});

test('while Postgres is away the page says that the explorer has no data', async () => {
  await show('/validators');
  await expect.poll(() => page.locator('tbody tr').count()).toBeGreaterThan(0);
  await writer.query('ALTER SCHEMA explorer RENAME TO away');
  await expect
    .poll(() => page.locator('.health').allInnerTexts())
    .toEqual([expect.stringContaining('The explorer has no data')]);
  expect(await page.locator('tbody tr').count()).toBeGreaterThan(0);
  await page.getByRole('link', { name: 'Transactions' }).click();
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('cannot be read');
  await writer.query('ALTER SCHEMA away RENAME TO explorer');
  await expect.poll(() => page.locator('tbody tr').count()).toBeGreaterThan(0);
  await expect.poll(() => page.locator('.health').count()).toBe(0);
});

test('while the node of the chain is away the page says that there may be newer blocks', async () => {
  await show('/');
  explorer.head = undefined;
  await expect
    .poll(() => page.locator('.health').allInnerTexts())
    .toEqual([expect.stringContaining('The node of the chain does not answer')]);
  explorer.head = newest + 100;
  await expect
    .poll(() => page.locator('.health').allInnerTexts())
    .toEqual([expect.stringContaining('100 blocks behind')]);
  explorer.head = newest;
  await expect.poll(() => page.locator('.health').count()).toBe(0);
});

/** A page that has just appeared may not listen to keys yet. */
async function focusSearch(): Promise<void> {
  const box = page.getByRole('combobox', { name: 'Search' });
  const hasFocus = (): Promise<boolean> =>
    box.evaluate((element) => element === document.activeElement);
  await expect
    .poll(async () => {
      if (!(await hasFocus())) await page.keyboard.press('/');
      return hasFocus();
    })
    .toBe(true);
}

test('the search suggests as one types, and is walked by arrows', async () => {
  await show('/');
  await focusSearch();
  await page.keyboard.type('0');
  const options = page.getByRole('option');
  await expect.poll(() => options.count()).toBeGreaterThan(2);
  expect(await violationsOf(page)).toEqual([]);
  const selected = page.getByRole('option', { selected: true });
  const first = await selected.innerText();
  await page.keyboard.press('ArrowDown');
  expect(await selected.innerText()).not.toBe(first);
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await expect.poll(() => new URL(page.url()).pathname).toBe('/blocks/0');
  await focusSearch();
  await page.keyboard.type(address.slice(0, 9));
  await expect.poll(() => options.allInnerTexts()).toHaveLength(1);
  await page.keyboard.press('Escape');
  await expect.poll(() => options.count()).toBe(0);
});

test('activity is filtered in the address, and downloaded', async () => {
  await show(`/accounts/${address}`);
  await page.getByLabel('Direction').selectOption('In');
  await expect.poll(() => new URL(page.url()).search).toBe('?direction=credit');
  await expect
    .poll(async () => (await page.locator('tbody tr td:nth-child(3)').allInnerTexts()).join(' '))
    .not.toContain('−');
  const link = page.getByRole('link', { name: 'CSV' });
  const [file] = await Promise.all([page.waitForEvent('download'), link.click()]);
  expect(file.suggestedFilename()).toBe('activity.csv');
});

test('a run has its own address, its inputs and commands that check it', async () => {
  await show('/reserve');
  await page.locator('tbody tr td:first-child a').last().click();
  await expect.poll(heading).toBe('Reserve run');
  expect(new URL(page.url()).pathname).toBe(`/reserve/${encodeURIComponent(RUN)}`);
  await expect
    .poll(() => page.locator('.command').allInnerTexts())
    .toEqual([
      expect.stringContaining(`--key ${RUN}`),
      expect.stringContaining('treasury.ledger --to'),
      expect.stringContaining('npx ops audit'),
    ]);
});

test('light or dark is chosen, and stays', async () => {
  await page.emulateMedia({ colorScheme: 'light' });
  await show('/');
  const ground = (): Promise<string> =>
    page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  const choose = page.getByRole('button', { name: 'Colours' });
  await choose.click();
  expect(await ground()).toBe(light);
  await choose.click();
  const dark = await ground();
  expect(dark).not.toBe(light);
  await page.reload();
  await expect.poll(ground).toBe(dark);
  await choose.click();
  expect(await ground()).toBe(light);
});

test.each([
  [String(newest), `/blocks/${newest}`],
  [`#${newest}`, `/blocks/${newest}`],
  [RUN, `/reserve/${encodeURIComponent(RUN)}`],
  [OTHER_ID, `/deposits/${OTHER_ID}`],
  ['validat', '/validators'],
  ['ride pay', '/transactions'],
  [hash.toUpperCase().replace('0X', ''), `/transactions/${hash}`],
  [address, `/accounts/${address}`],
])('the search for %s leads to its page', async (text, path) => {
  await show('/');
  await focusSearch();
  await page.keyboard.type(text);
  await page.keyboard.press('Enter');
  await expect.poll(() => new URL(page.url()).pathname).toBe(path);
});

test('the search opens by Ctrl-K with what was opened before, and forgets it when told to', async () => {
  await show('/');
  await focusSearch();
  await page.keyboard.type('validat');
  await page.keyboard.press('Enter');
  await expect.poll(heading).toBe('Validators');
  await page.keyboard.press('Control+k');
  const options = page.getByRole('option');
  await expect.poll(() => options.first().innerText()).toContain('Validators');
  expect(await violationsOf(page)).toEqual([]);
  await options.last().click();
  await expect.poll(() => options.count()).toBe(0);
});

test('a search that finds nothing says what can be found', async () => {
  await show('/');
  await page.getByRole('combobox', { name: 'Search' }).fill('nothing');
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
    .poll(async () => new Set(await page.locator('tbody tr td:nth-child(3)').allInnerTexts()))
    .toEqual(new Set(['RidePay']));
  await show('/transactions');
  const rows = (): Promise<string[]> => page.locator('tbody tr td:first-child').allInnerTexts();
  // a page shows its first rows before the others
  await expect.poll(rows).toHaveLength(50);
  const first = await rows();
  await page.getByRole('link', { name: 'Older' }).click();
  await expect.poll(() => page.url()).toContain('cursor=');
  const older = async (): Promise<number> =>
    (await rows()).filter((row) => !first.includes(row)).length;
  await expect.poll(older).toBe(50);
  await page.reload();
  await expect.poll(older).toBe(50);
});

test('the transactions of a block have an address', async () => {
  const height = transaction?.block_height ?? 0;
  await show(`/transactions?block=${height}`);
  await expect
    .poll(() => page.locator('tbody tr').count())
    .toBe(blocks[height]?.transactions.length);
  expect(await page.getByLabel('Block').inputValue()).toBe(String(height));
});

test('a chart shows the value that is pointed at, and all values as a table', async () => {
  await show('/charts?span=30d');
  const chart = page.getByRole('region', { name: 'Transactions a day' }).first();
  await chart.getByText('Table').click();
  const cells = chart.locator('tbody tr').first().locator('td');
  await expect.poll(() => cells.count()).toBe(2);
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
    await show(path);
    await expect.poll(() => page.getByText('Not found').count()).toBe(1);
    await expect.poll(() => page.title()).toMatch(/not found · CLT$/i);
  }
});
