/** The tables and the menu of the console on a phone, with amounts as long as they become. */
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import { mostFrequent } from '../../../projections/explorer/seeded-rows.ts';
import {
  addHub,
  BLOCKS,
  LONG,
  openExplorerConsole,
  type ExplorerConsole,
} from '../../../services/console/explorer-console.ts';
import { openChromium, openContext } from '../../../support/chromium.ts';
import { widthOf } from '../../../support/pages.ts';

const PHONE = { width: 390, height: 844 };

const [transaction] = BLOCKS.flatMap((block) => block.transactions);
const height = transaction?.block_height ?? 0;
const hash = toHex(transaction?.hash ?? Buffer.alloc(32));
const address = toHex(mostFrequent(BLOCKS));

const AMOUNT = String.raw`9,007,208,147\.943211`;
const AGE = String.raw`\d+ (?:s|min|h|d)`;
const STATE = '(?:not final|final|not known yet)';
const CALL = `0x\\S+\\s+\\S[^\\n]* ${STATE}\\s+${AMOUNT} CLT\\s+${AGE}`;
const EFFECT = `\\S[^\\n]*\\n[A-Z][^\\n]+\\s+[+−]?${AMOUNT} CLT\\s+then ${AMOUNT} CLT`;

/** Address, table, the columns that are left, and the text of a row. */
const TABLES: readonly (readonly [string, string, readonly string[], string])[] = [
  ['/', 'Transactions', ['Hash', 'In one sentence'], `0x\\S+\\s+${STATE}\\s+\\S[^]+\\.`],
  ['/transactions', 'Transactions', ['Hash', 'Amount'], CALL],
  [`/blocks/${height}`, 'Transactions', ['Hash', 'Amount'], CALL],
  [`/blocks/${height}`, 'Balance effects', ['Account', 'Change'], EFFECT],
  [`/transactions/${hash}`, 'Balance effects', ['Account', 'Change'], EFFECT],
  [
    `/accounts/${address}`,
    'Activity',
    ['Kind', 'Change'],
    `[A-Z][^]+${STATE}\\s+[+−]?${AMOUNT} CLT\\s+\\S[^\\n]+\\s+${AGE}`,
  ],
  [
    '/validators',
    'Validators',
    ['Address', 'State', 'Blocks', 'Share of those shown'],
    `Validator \\d\\s+(?:active|idle)\\s+\\d+\\s+[\\d.]+ %`,
  ],
  [
    '/reserve',
    'Runs',
    ['Run at', 'Liability'],
    `[^]+\\s(?:no )?mismatch\\s+${AMOUNT} USDT\\s+Surplus −?[\\d,.]+ USDT`,
  ],
  ['/market', 'Open requests', ['Request', 'Fare'], `0x\\S+\\s+${AMOUNT} CLT`],
  ['/market', 'Active trips', ['Trip', 'Paid', 'Fare'], `0x\\S+\\s+0 %\\s+${AMOUNT} CLT`],
];

let missing = '';
let world: ExplorerConsole;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  const browser = await openChromium();
  if ('missing' in browser) {
    ({ missing } = browser);
    return;
  }
  world = await openExplorerConsole(inject('stack'), browser);
  await world.writer.query(
    `UPDATE explorer.transactions SET amount = ${LONG};
     UPDATE explorer.activity SET delta = sign(delta) * ${LONG}, balance = ${LONG};
     UPDATE reserve.runs SET ledger_liability = ${LONG}`,
  );
  context = await openContext(browser, { viewport: PHONE });
  page = await context.newPage();
  await addHub(page, world.explorer);
});
afterAll(() => world?.close());
beforeEach(({ skip }) => {
  if (missing !== '') skip(missing);
});

async function show(path: string): Promise<void> {
  await page.goto(world.explorer.url + path);
}

/** How many amounts are broken within. */
function brokenAmounts(): Promise<number> {
  return page.locator('.digits:visible').evaluateAll(
    (amounts) =>
      amounts.filter((amount) => {
        const lines = [...amount.getClientRects()].map(({ top }) => top);
        return new Set(lines).size > 1;
      }).length,
  );
}

/** How much wider than its place it is. */
function overflowOf(of: Locator): Promise<number> {
  return of.evaluate((element) => element.scrollWidth - element.clientWidth);
}

test.each(TABLES)('%s: the table %s has the columns %j', async (path, name, columns, row) => {
  await show(path);
  const table = page.locator(`.table[aria-label="${name}"]`);
  await expect.poll(() => table.locator('th:visible').allInnerTexts()).toEqual(columns);
  await expect.poll(() => table.locator('tbody tr').count()).toBeGreaterThan(0);
  const rows = await table.locator('tbody tr').allInnerTexts();
  for (const text of rows) expect(text).toMatch(new RegExp(`^${row}$`));
  expect(await overflowOf(table)).toBe(0);
  expect(await widthOf(page)).toBe(PHONE.width);
  expect(await brokenAmounts()).toBe(0);
});

test('a name is whole in the tables', async () => {
  await show(`/blocks/${height}`);
  const links = page.locator('.table[aria-label="Balance effects"] [data-address]');
  await links.first().waitFor();
  const named = await links.evaluateAll((all) =>
    all.map((each) => [each.getAttribute('data-address'), 'Reward pool of Zanzibar']),
  );
  await page.evaluate((names) => localStorage.setItem('names', names), JSON.stringify(named));
  await page.reload();
  await expect.poll(() => links.filter({ hasText: 'Reward pool' }).count()).toBe(named.length);
  for (const link of await links.all()) expect(await overflowOf(link)).toBe(0);
  expect(await widthOf(page)).toBe(PHONE.width);
  await page.evaluate(() => localStorage.removeItem('names'));
});

test('the values of a chart as a table need no scroll to the side', async () => {
  for (const path of ['/charts', '/validators']) {
    await show(path);
    await page.locator('.rows summary').last().click();
    const table = page.locator('.rows .table');
    await expect.poll(() => table.count()).toBe(1);
    expect([path, await overflowOf(table)]).toEqual([path, 0]);
  }
});

test('the menu keeps the link of its page in sight, also after a resize', async () => {
  await show('/deposits');
  const link = page.locator('.bar nav [aria-current=page]');
  const isInSight = async (): Promise<boolean> => {
    const box = await link.boundingBox();
    const width = await page.evaluate(() => document.documentElement.clientWidth);
    return box !== null && box.x >= 0 && box.x + box.width <= width;
  };
  await expect.poll(isInSight).toBe(true);
  await page.setViewportSize({ width: 900, height: 500 });
  await expect.poll(isInSight).toBe(true);
  await page.setViewportSize(PHONE);
  await expect.poll(isInSight).toBe(true);
});
