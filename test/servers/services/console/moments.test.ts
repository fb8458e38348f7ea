/** The moments that the parts of a page are of, in Chromium. */
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import { SERIES_ITEM } from '../../../../schemas/explorer-api/network.ts';
import { exampleOf } from '../../../../schemas/http-api/answer.ts';
import { mostFrequent } from '../../../projections/explorer/seeded-rows.ts';
import {
  addHub,
  BLOCKS,
  NEWEST,
  openExplorerConsole,
  type ExplorerConsole,
} from '../../../services/console/explorer-console.ts';
import { openChromium, openContext } from '../../../support/chromium.ts';

const address = toHex(mostFrequent(BLOCKS));

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
});
afterAll(() => world?.close());
beforeEach(async ({ skip }) => {
  if (missing !== '') skip(missing);
  context = await openContext(world.browser);
  page = await context.newPage();
});
afterEach(async () => {
  await page?.unrouteAll({ behavior: 'ignoreErrors' });
  await context?.close();
});

/** The explorer says from now on that blocks up to this height are final. */
async function say(finalHeight: number): Promise<void> {
  const indexed = { height: NEWEST, finalized_height: finalHeight };
  await page.route('**/api/v1/status*', (route) =>
    route.fulfill({ json: { head: indexed, indexed, lag_blocks: 0, projections: [] } }),
  );
}

async function show(path: string, finalHeight: number): Promise<void> {
  await say(finalHeight);
  await page.goto(world.explorer.url + path);
}

/** The values of an account by their names. */
function figures(): Promise<Readonly<Record<string, string>>> {
  return page
    .locator('.figures > div')
    .evaluateAll((all) =>
      Object.fromEntries(
        all.map((each) => [
          each.querySelector('dt')?.textContent ?? '',
          each.querySelector('dd')?.textContent ?? '',
        ]),
      ),
    );
}

test('the balance of an account names the block after which it is so, and whether that is final', async () => {
  const { rows } = await world.writer.query<{ readonly at: string }>(
    `SELECT max(block_height) AS at FROM explorer.activity WHERE address = '\\x${address.slice(2)}'`,
  );
  const changed = Number(rows[0]?.at);
  await show(`/accounts/${address}`, changed - 1);
  await expect
    .poll(figures)
    .toMatchObject({ 'After block': String(changed), State: 'may still be replaced' });
  expect(await page.locator('.moment').innerText()).toContain(`block ${NEWEST}, or of a later one`);
  const plot = page.getByRole('region', { name: 'Balance over time' });
  await expect.poll(() => plot.locator('header').innerText()).toContain(`up to block ${changed}`);
  expect(await plot.locator('header').innerText()).toContain('behind the line');
  expect(await plot.locator('.u-legend').innerText()).toContain('(not final)');
  await page.unrouteAll({ behavior: 'wait' });
  await show(`/accounts/${address}`, changed);
  await expect.poll(figures).toMatchObject({ 'After block': String(changed), State: 'final' });
  await expect.poll(() => plot.locator('header').innerText()).toMatch(/final$/);
  expect(await plot.locator('.u-legend').innerText()).not.toContain('not final');
});

test('the balance is that of the height beside it, whatever the account says at another moment', async () => {
  const point = { timestamp: '2026-11-21T00:00:00.000Z' };
  await page.route('**/balance-history*', (route) =>
    route.fulfill({
      json: {
        items: [
          { ...point, block_height: 3, balance: '1000000' },
          { ...point, block_height: 7, balance: '5000000' },
        ],
      },
    }),
  );
  await show(`/accounts/${address}`, 10);
  await expect
    .poll(figures)
    .toMatchObject({ Balance: '5.000000 CLT', 'After block': '7', State: 'final' });
});

test('a block that is replaced before its transactions are read shows none of others', async () => {
  const height = BLOCKS.findLast(({ transactions }) => transactions.length > 0)?.height ?? 0;
  await page.route('**/api/v1/blocks/0x*', (route) =>
    route.request().url().includes('/effects') || route.request().url().includes('/record')
      ? route.continue()
      : route.fulfill({ status: 404, json: { code: 'not_found', message: 'no such block' } }),
  );
  await show(`/blocks/${height}`, NEWEST);
  const panel = page.getByRole('region', { name: 'Transactions' });
  await expect.poll(() => panel.innerText()).toContain('Not found');
  expect(await panel.locator('tbody tr').count()).toBe(0);
});

const LATEST = BLOCKS.flatMap(({ transactions }) => transactions).slice(-5);

test('the page of a transaction says that a reorganisation moved it, until it is final', async () => {
  const hash = toHex(LATEST.at(-1)?.hash ?? Buffer.alloc(32));
  let tx_index = 2;
  await page.route(`**/api/v1/transactions/${hash}*`, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), tx_index } });
  });
  await show(`/transactions/${hash}`, NEWEST - 3);
  await expect.poll(() => page.locator('.answer').count()).toBe(1);
  expect(await page.locator('.note').count()).toBe(0);
  tx_index = 9;
  await expect
    .poll(() => page.locator('.note').allInnerTexts())
    .toEqual([expect.stringMatching(/moved this transaction .* it was number 2 of block /)]);
  await say(NEWEST);
  await expect.poll(() => page.locator('.answer .tag').allInnerTexts()).toEqual(['final']);
  expect(await page.locator('.note').count()).toBe(0);
});

test('the page of a block that was replaced says so until the new one is final', async () => {
  const asked = new RegExp(String.raw`/api/v1/blocks/${NEWEST}(?:\?|$)`);
  await page.route(asked, async (route) => {
    const response = await route.fetch();
    const json = { ...(await response.json()), hash: `0x${'ab'.repeat(32)}` };
    await route.fulfill({ response, json });
  });
  await show(`/blocks/${NEWEST}`, NEWEST - 3);
  await expect.poll(() => page.locator('main h1').innerText()).toBe(`Block ${NEWEST}`);
  await page.unroute(asked);
  await expect
    .poll(() => page.locator('.note').allInnerTexts())
    .toEqual([expect.stringContaining('A reorganisation replaced block')]);
  await say(NEWEST);
  await expect.poll(() => page.locator('.note').count()).toBe(0);
});

test.each(['open', 'withdrawn', 'active', 'completed', 'cancelled'])(
  'a ride that is %s is amber until all its steps are final, and so is each step',
  async (status) => {
    const names = ['requested', 'offered', 'accepted', 'paid', 'cancelled'];
    const steps = LATEST.map(({ hash, block_height }, at) => ({
      step: names[at],
      tx_hash: toHex(hash),
      block_height,
      amount: null,
    }));
    await addHub(page, world.explorer, false, { status, steps });
    await show(`/market/trips/0x${'ab'.repeat(32)}`, (LATEST[0]?.block_height ?? 0) - 1);
    const tones = async (): Promise<ReadonlySet<string | null>> =>
      new Set(
        await page
          .locator('.figures .tag, .timeline > li:not([data-tone=next])')
          .evaluateAll((all) => all.map((each) => each.getAttribute('data-tone'))),
      );
    await expect.poll(tones).toEqual(new Set(['warn']));
    await say(NEWEST);
    await expect.poll(async () => (await tones()).has('warn')).toBe(false);
  },
);

test('validators say up to which block theirs are counted', async () => {
  await show('/validators', NEWEST);
  await expect
    .poll(() => page.locator('.moment').innerText())
    .toContain(`${BLOCKS.length} blocks are counted, up to ${NEWEST}`);
});

test('a chart whose address ends after the newest block says so, and shows the newest', async () => {
  for (const path of ['/charts', '/validators']) {
    await show(`${path}?span=24h&to=2100-01-01T00:00:00Z`, NEWEST);
    await expect
      .poll(() => page.locator('.note').allInnerTexts())
      .toEqual([
        'This address names an end after the newest block: the newest 24 hours are shown.',
      ]);
    const over = page.locator('.u-over').first();
    await over.waitFor();
    const readout = page.locator('.readout').first();
    const summary = await readout.innerText();
    const width = (await over.boundingBox())?.width ?? 0;
    await over.hover({ position: { x: width - 4, y: 40 } });
    await expect.poll(() => readout.innerText()).not.toBe(summary);
  }
});

function hour(start: string, transactions: number): object {
  return { ...Object(exampleOf(SERIES_ITEM)), start, transactions, is_final: true };
}

test('an hour without a block is none, beside one without a transaction', async () => {
  const items = [
    hour('2026-11-21T05:00:00.000Z', 7),
    hour('2026-11-21T03:00:00.000Z', 0),
    hour('2026-11-21T02:00:00.000Z', 5),
  ];
  await page.route('**/api/v1/series?*', (route) => route.fulfill({ json: { by: 'hour', items } }));
  await show('/charts?span=24h', NEWEST);
  const chart = page.getByRole('region', { name: 'Transactions an hour' }).first();
  await chart.getByText('Table').click();
  const values = (): Promise<readonly string[]> =>
    chart.locator('tbody td:last-child').allInnerTexts();
  await expect.poll(values).toEqual(['7', 'no block', '0', '5']);
});

test('a link shows at once that it was followed, before the next page is rendered', async () => {
  await show('/', NEWEST);
  await page.getByRole('heading', { name: 'Chain', level: 1 }).waitFor();
  const link = page.getByRole('navigation').getByRole('link', { name: 'Transactions' });
  // what the next frame shows: it is asked after the handlers of the click
  const frame = await link.evaluate((element: HTMLElement) => {
    element.click();
    return new Promise<readonly unknown[]>((resolve) => {
      requestAnimationFrame(() =>
        resolve([
          document.querySelector('nav [aria-current=page]')?.textContent,
          document.querySelector('h1')?.textContent,
        ]),
      );
    });
  });
  expect(frame).toEqual(['Transactions', 'Chain']);
  await page.getByRole('heading', { name: 'Transactions', level: 1 }).waitFor();
});
