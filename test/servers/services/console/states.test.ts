/** Each state of the pages and each part that opens, by the rules of AA, light and dark. */
import type { BrowserContext, Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import {
  ADDRESS_CHECK,
  DEPOSIT,
  DEPOSIT_ADDRESS,
  MINT_QUEUE,
  POLICY,
  TIMELINE,
} from '../../../../schemas/deposit-api/deposits.ts';
import { exampleOf } from '../../../../schemas/http-api/answer.ts';
import { mostFrequent } from '../../../projections/explorer/seeded-rows.ts';
import {
  addHub,
  BLOCKS,
  openExplorerConsole,
  RUN,
  type ExplorerConsole,
} from '../../../services/console/explorer-console.ts';
import { openChromium, openContext } from '../../../support/chromium.ts';
import { violationsOf, violationsOfBothSchemes } from '../../../support/pages.ts';

const [transaction] = BLOCKS.flatMap((block) => block.transactions);
const hash = toHex(transaction?.hash ?? Buffer.alloc(32));
const address = toHex(mostFrequent(BLOCKS));
const NONE = '9'.repeat(64);

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

async function show(path: string): Promise<void> {
  await page.goto(world.explorer.url + path);
}

function emptyAnswer(url: string): object {
  const { pathname } = new URL(url);
  if (pathname.endsWith('/status'))
    return { head: null, indexed: null, lag_blocks: null, projections: [] };
  if (pathname.endsWith('/reserve')) return { configured: false, available: false, last_run: null };
  const stats = { latest_height: 0, total_transactions: 0, active_validators: 0 };
  if (pathname.endsWith('/stats')) return { ...stats, tx_per_second: 0, avg_block_time_seconds: 0 };
  if (pathname.endsWith('/tolerance')) return { tolerance: null };
  return { by: 'hour', items: [] };
}

/** State, the answers of the explorer in it, words of it, and the pages that have it. */
const STATES: readonly (readonly [
  string,
  (route: Route) => Promise<void> | undefined,
  RegExp,
  readonly string[],
])[] = [
  [
    'loading',
    () => undefined,
    /Loading/,
    ['/', '/transactions', `/transactions/${hash}`, '/charts', '/reserve', '/market'],
  ],
  [
    'empty',
    (route) => route.fulfill({ json: emptyAnswer(route.request().url()) }),
    /There is nothing yet|No transaction matches|no block in this time|No run yet|No open request/,
    ['/', '/transactions', '/validators', '/charts', '/reserve', '/market'],
  ],
  [
    'away',
    (route) => route.abort(),
    /does not answer/,
    ['/', '/transactions', `/accounts/${address}`, '/charts', '/reserve'],
  ],
  [
    'refusing',
    (route) => route.fulfill({ status: 503, json: { code: 'storage_error', message: 'busy' } }),
    /does not answer/,
    ['/', `/blocks/3`, '/validators', '/reserve'],
  ],
];

test.each(STATES)('each page that is %s has no violation', async (state, answer, words, paths) => {
  for (const path of paths) {
    await addHub(page, world.explorer, state === 'empty');
    await page.route('**/api/**', answer);
    await show(path);
    await expect.poll(() => page.locator('main').innerText()).toMatch(words);
    expect([path, await violationsOfBothSchemes(page)]).toEqual([path, []]);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  }
});

test.each([
  '/nowhere',
  '/blocks/999999',
  `/transactions/0x${NONE}`,
  '/accounts/0x12',
  `/reserve/${NONE}`,
  `/market/trips/0x${NONE}`,
])('%s, where nothing is, has no violation', async (path) => {
  await addHub(page, world.explorer, false);
  await show(path);
  await expect.poll(() => page.locator('main').innerText()).toMatch(/Not found|No step of a ride/);
  expect(await violationsOfBothSchemes(page)).toEqual([]);
});

test.each(['/', `/accounts/${address}`, '/reserve', '/charts'])(
  '%s with old figures has no violation',
  async (path) => {
    await show(path);
    await expect.poll(() => page.locator('.figures, .facts, .u-over').count()).toBeGreaterThan(0);
    await page.route('**/api/**', (route) => route.abort());
    await expect
      .poll(() => page.locator('.health').allInnerTexts())
      .toEqual([expect.stringContaining('No answer')]);
    expect(await violationsOfBothSchemes(page)).toEqual([]);
  },
);

/** A part that opens, the page with it, and how it is opened. */
const OPENED: readonly (readonly [string, string, () => Promise<void>])[] = [
  [
    'the list of keys',
    '/',
    async () => {
      await page.locator('.strip .block').first().waitFor();
      await page.keyboard.press('?');
      await page.getByRole('dialog').waitFor();
    },
  ],
  [
    'a search without a find',
    '/validators',
    async () => {
      await page.getByRole('combobox', { name: 'Search' }).fill('nothing');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
    },
  ],
  [
    'a value of a chart, and its table',
    '/charts?span=30d',
    async () => {
      await page.locator('.rows summary').first().click();
      await page.locator('.rows .table').waitFor();
      const over = page.locator('.u-over').first();
      const width = (await over.boundingBox())?.width ?? 0;
      await over.hover({ position: { x: width - 4, y: 40 } });
    },
  ],
  [
    'a chart of parts as a table',
    '/validators?span=30d',
    async () => {
      await page.locator('.rows summary').click();
      await page.locator('.rows .table').waitFor();
    },
  ],
  [
    'a chart whose end is later',
    '/charts?to=2100-01-01',
    () => page.locator('.note').first().waitFor(),
  ],
  [
    'an address that was not copied',
    `/accounts/${address}`,
    async () => {
      await page.evaluate(() => {
        Object.defineProperty(navigator, 'clipboard', { value: undefined });
        document.execCommand = () => false;
      });
      await page.getByRole('button', { name: 'Copy address' }).first().click();
      await page.getByRole('alert').waitFor();
    },
  ],
  [
    'a name of its own',
    `/accounts/${address}`,
    async () => {
      await page.getByLabel('Your name for it').fill('Savings');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('button', { name: 'Remove' }).waitFor();
    },
  ],
  [
    'a filter that matches nothing',
    `/accounts/${address}?kind=none_such`,
    () => page.getByText('No change matches').waitFor(),
  ],
  ['a run', `/reserve/${RUN}`, () => page.getByText('Check it yourself').waitFor()],
];

test.each(OPENED)('%s has no violation', async (_, path, open) => {
  await show(path);
  await expect.poll(() => page.locator('h1').count()).toBe(1);
  await expect.poll(() => page.getByText('Loading').count()).toBe(0);
  await open();
  expect(await violationsOfBothSchemes(page)).toEqual([]);
});

const STATUSES = ['confirmed', 'mint_requested', 'credited', 'needs_manual'];

test('deposits of an account that is signed in, and of one that is signed out, have no violation', async () => {
  const { url } = world.explorer;
  const services = { hub_url: url, deposits_url: url, tiles_url: null, tron_url: null };
  await page.route('**/console.json', (route) =>
    route.fulfill({ json: { chain_id: 7_777, ...services } }),
  );
  const answers: Readonly<Record<string, unknown>> = {
    '**/graphql': { data: { chainInfo: { isTestnet: true } } },
    '**/public/policy': exampleOf(POLICY),
    '**/public/mint-queue': exampleOf(MINT_QUEUE),
    '**/api/v1/address-check': exampleOf(ADDRESS_CHECK),
    '**/api/v1/deposits': {
      ...Object(exampleOf(DEPOSIT_ADDRESS)),
      deposits: STATUSES.map((status, at) => ({
        ...Object(exampleOf(DEPOSIT)),
        id: `6db65fd5-9fd3-86f6-b291-40571b5bcd6${at}`,
        status,
      })),
    },
    '**/api/v1/deposits/*/events': exampleOf(TIMELINE),
  };
  for (const [path, json] of Object.entries(answers))
    await page.route(path, (route) => route.fulfill({ json }));
  await show('/deposits');
  await page.getByRole('button', { name: 'Throw-away key' }).waitFor();
  expect(await violationsOfBothSchemes(page)).toEqual([]);
  await page.evaluate((account) => {
    const expiresAt = Math.floor(Date.now() / 1_000) + 3_600;
    sessionStorage.setItem('clt-session', JSON.stringify({ account, token: 'one', expiresAt }));
  }, address);
  await page.reload();
  const deposits = page.locator('.deposit');
  await expect.poll(() => deposits.count()).toBe(STATUSES.length);
  await deposits.last().locator('summary').click();
  await expect.poll(() => page.locator('.deposit .timeline').count()).toBeGreaterThan(0);
  expect(await violationsOfBothSchemes(page)).toEqual([]);
});

test('the search for a time of a run leads to it', async () => {
  await show('/');
  await page.getByRole('combobox', { name: 'Search' }).fill('2100-01-01T00:00:00Z');
  await expect.poll(() => page.getByRole('option').count()).toBe(1);
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await expect.poll(() => new URL(page.url()).pathname).toMatch(/^\/reserve\/4/);
});

test('the search for a name that the console shows leads to its account', async () => {
  await show('/');
  await page.getByRole('combobox', { name: 'Search' }).fill('zero');
  await expect.poll(() => page.getByRole('option').count()).toBe(1);
  await page.keyboard.press('Enter');
  await expect.poll(() => new URL(page.url()).pathname).toBe(`/accounts/0x${'0'.repeat(40)}`);
});

test('the search for the number of a block that is not there finds no hash that begins so', async () => {
  const other = { kind: 'block', identifier: `0x${'9'.repeat(64)}`, summary: 'block 1' };
  await show('/');
  await page.route(/\/search/, (route) => route.fulfill({ json: { items: [other] } }));
  const box = page.getByRole('combobox', { name: 'Search' });
  await box.fill('#9');
  await box.press('Enter');
  await expect.poll(() => page.locator('.search-problem').count()).toBe(1);
  await page.unroute(/\/search/);
});
