/**
 * Claims of the console that a reader acts upon, in Chromium: titles, names, final, empty, copied,
 * not over.
 */
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import {
  positionOf,
  statusOf,
  surplusOf,
  type LedgerPosition,
} from '../../../../projections/reserve/position.ts';
import { SERIES_ITEM, VALIDATOR_SERIES_ITEM } from '../../../../schemas/explorer-api/network.ts';
import { RECORDED_RUN } from '../../../../schemas/explorer-api/reserve.ts';
import { exampleOf } from '../../../../schemas/http-api/answer.ts';
import {
  fillExplorer,
  mostFrequent,
  seededBlocks,
} from '../../../projections/explorer/seeded-rows.ts';
import {
  openExplorer,
  type ExplorerServer,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { openChromium, openContext } from '../../../support/chromium.ts';
import { freshDatabase } from '../../../support/database.ts';
import { builtPages, violationsOf } from '../../../support/pages.ts';

const blocks = seededBlocks({ seed: 8, blocks: 60, transactions_max: 9, first_height: 0 });
const newest = blocks.length - 1;
const transactions = blocks.flatMap((block) => block.transactions);
const last = transactions.at(-1);
const address = toHex(mostFrequent(blocks));

let browser: Browser | undefined;
let missing = '';
let explorer: ExplorerServer;
let writer: Client;
let context: BrowserContext;
let page: Page;
/** as the explorer says it to the page */
let finalHeight: number | null;

beforeAll(async () => {
  const opened = await openChromium();
  if ('missing' in opened) {
    ({ missing } = opened);
    return;
  }
  browser = opened;
  const urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, blocks);
  writer = new Client({ connectionString: urls.writer_url });
  await writer.connect();
  const folder = await builtPages('vite');
  explorer = await openExplorer({
    postgres_reader_url: urls.reader_url,
    treasury_public_reconciliation_url: 'http://127.0.0.1:1',
    console: pathToFileURL(`${folder}/`),
  });
  explorer.head = newest;
});
afterAll(async () => {
  if (browser === undefined) return;
  await browser.close();
  await writer.end();
  await explorer.close();
});

beforeEach(async ({ skip }) => {
  if (browser === undefined) {
    skip(missing);
    return;
  }
  context = await openContext(browser);
  page = await context.newPage();
  finalHeight = newest - 3;
  await page.route('**/api/v1/status*', async (route) => {
    const indexed = { height: newest, finalized_height: finalHeight };
    await route.fulfill({ json: { head: indexed, indexed, lag_blocks: 0, projections: [] } });
  });
});
afterEach(async () => {
  if (browser === undefined) return;
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await context.close();
});

async function show(path: string): Promise<void> {
  await page.goto(explorer.url + path);
}

/** The text of a column of the first table of this name, by the name of the column. */
async function columnOf(table: string, column: string): Promise<readonly string[]> {
  const region = page.getByRole('region', { name: table, exact: true }).last();
  const names = await region.locator('th').allTextContents();
  const at = names.indexOf(column) + 1;
  return at === 0 ? [] : region.locator(`tbody td:nth-child(${at})`).allTextContents();
}

function statesOf(heights: readonly number[]): readonly string[] {
  return heights.map((height) => (height <= newest - 3 ? 'final' : 'not final'));
}

/** Whether the heading has the focus. */
function isHeadingFocused(): Promise<boolean> {
  return page.evaluate(() => document.activeElement?.tagName === 'H1');
}

test('after a navigation the title is told, and the focus is on the heading', async () => {
  const told = page.locator('[aria-live=polite].unseen');
  await show('/');
  await expect.poll(() => page.title()).toBe('Chain · CLT');
  expect([await told.innerText(), await isHeadingFocused()]).toEqual(['', false]);
  await page.getByRole('link', { name: 'Validators' }).click();
  await expect.poll(() => told.innerText()).toBe('Validators · CLT');
  await expect.poll(isHeadingFocused).toBe(true);
  await page.locator('tbody a').first().click();
  await expect.poll(() => page.title()).toMatch(/^Account Validator \d · CLT$/);
  await expect.poll(isHeadingFocused).toBe(true);
  await page.goBack();
  await expect.poll(() => told.innerText()).toBe('Validators · CLT');
  await expect.poll(isHeadingFocused).toBe(true);
  // what changes on a page leaves the focus where it is
  await page.getByRole('link', { name: 'Charts' }).click();
  await expect.poll(() => told.innerText()).toBe('Charts: 7 days · CLT');
  await page.getByRole('link', { name: '30 days' }).click();
  await expect.poll(() => told.innerText()).toBe('Charts: 30 days · CLT');
  expect(await isHeadingFocused()).toBe(false);
});

/** How many places of the address are marked, of how many. */
function marked(of: string): Promise<readonly [number, number]> {
  return page.locator(`[data-address="${of}"]`).evaluateAll((places) => {
    const grounds = places.map((place) => getComputedStyle(place).backgroundColor);
    return [grounds.filter((ground) => ground !== 'rgba(0, 0, 0, 0)').length, places.length];
  });
}

test('times are those of the named zone, in English in a German browser, and UTC when chosen', async () => {
  if (browser === undefined) return;
  await context.close();
  context = await openContext(browser, { locale: 'de-DE', timezoneId: 'Asia/Kolkata' });
  page = await context.newPage();
  await show(`/transactions/${toHex(last?.hash ?? Buffer.alloc(32))}`);
  const time = page.locator('dd time').first();
  const isIn = (timeZone: string): Promise<boolean> =>
    time.evaluate((shown, zone) => {
      const style = { dateStyle: 'medium', timeStyle: 'medium', timeZone: zone } as const;
      const at = new Date(shown.getAttribute('datetime') ?? '');
      return shown.textContent === new Intl.DateTimeFormat('en-GB', style).format(at);
    }, timeZone);
  await expect.poll(() => isIn('Asia/Kolkata')).toBe(true);
  // by its older name in some versions of the browser
  expect(await page.locator('.foot').innerText()).toMatch(/Times in Asia\/(?:Kolkata|Calcutta)/);
  await page.getByRole('button', { name: 'Show UTC' }).click();
  await expect.poll(() => page.locator('.foot').innerText()).toContain('Times in UTC');
  await expect.poll(() => isIn('UTC')).toBe(true);
});

test('an address is marked in all its places while one of them is pointed at or has the focus', async () => {
  await show('/transactions');
  const places = page.locator(`td [data-address="${address}"]`);
  await expect.poll(() => places.count()).toBeGreaterThan(1);
  expect((await marked(address))[0]).toBe(0);
  await places.first().hover();
  await expect
    .poll(async () => {
      const [are, of] = await marked(address);
      return are > 1 && are === of;
    })
    .toBe(true);
  await page.mouse.move(0, 0);
  await expect.poll(async () => (await marked(address))[0]).toBe(0);
  await places.last().focus();
  await expect.poll(async () => (await marked(address))[0]).toBeGreaterThan(1);
});

test('a name that a reader gives stands for the address, stays, is sent to nobody, and is removed', async () => {
  const sent: string[] = [];
  page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
  await show(`/accounts/${address}`);
  await page.getByLabel('Your name for it').fill('Sparebøsse <b>');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(() => page.title()).toBe('Account Sparebøsse <b> · CLT');
  await show('/transactions');
  const own = page.locator('td').getByText('Sparebøsse <b>', { exact: true });
  await expect.poll(() => own.count()).toBeGreaterThan(1);
  await page.reload();
  await expect.poll(() => own.count()).toBeGreaterThan(1);
  await own.first().click();
  await page.getByRole('button', { name: 'Remove' }).click();
  await expect.poll(() => page.title()).toMatch(/^Account Validator \d · CLT$/);
  expect(await page.getByLabel('Your name for it').inputValue()).toBe('');
  expect(sent.filter((each) => /spareb/i.test(decodeURIComponent(each)))).toEqual([]);
});

test.each([
  ['/', 'Transactions', 12],
  ['/transactions', 'Transactions', 50],
])(
  'each transaction of a list of %s says whether its block is final',
  async (path, table, count) => {
    const heights = transactions.toReversed().map(({ block_height: height }) => height);
    await show(path);
    await expect.poll(() => columnOf(table, 'State')).toEqual(statesOf(heights.slice(0, count)));
    finalHeight = newest;
    await expect
      .poll(async () => new Set(await columnOf(table, 'State')))
      .toEqual(new Set(['final']));
  },
);

async function changed(): Promise<readonly number[]> {
  const texts = await columnOf('Activity', 'Block');
  return texts.map((text) => Number(text.replaceAll(',', '')));
}

test('each block and each change of a balance says whether it is final', async () => {
  await show('/');
  const open = page.locator('.block[data-open]');
  await expect
    .poll(() => open.locator('strong').allInnerTexts())
    .toEqual([newest, newest - 1, newest - 2].map(String));
  expect(await page.locator('.block').count()).toBeGreaterThan(3);
  await show(`/accounts/${address}`);
  await expect.poll(async () => (await changed()).length).toBe(25);
  await expect.poll(() => columnOf('Activity', 'State')).toEqual(statesOf(await changed()));
});

test('a transaction and its block say the same: not final, then final', async () => {
  const { hash = Buffer.alloc(32), block_height: height = 0 } = last ?? {};
  for (const path of [`/transactions/${toHex(hash)}`, `/blocks/${height}`]) {
    finalHeight = height - 1;
    await show(path);
    const state = (text: string): Promise<number> =>
      page.locator('main .tag').getByText(text, { exact: true }).count();
    await expect.poll(() => state('may still be replaced')).toBe(1);
    expect(await page.getByText('confirmed', { exact: true }).count()).toBe(0);
    finalHeight = height;
    await expect.poll(() => state('final')).toBe(1);
    expect(await state('may still be replaced')).toBe(0);
  }
});

test('while nobody knows what is final no page says that anything is, or is not', async () => {
  finalHeight = null;
  for (const path of ['/', '/transactions', `/blocks/0`, `/accounts/${address}`]) {
    await show(path);
    await expect.poll(() => page.getByText('not known yet').count()).toBeGreaterThan(0);
    expect(
      await page
        .locator('main .tag')
        .getByText(/final|replaced/)
        .count(),
    ).toBe(0);
    expect(await page.locator('main td').getByText('final', { exact: true }).count()).toBe(0);
  }
});

test('the chain is never said to be empty before it is known, and has one height', async () => {
  await writer.query(
    `CREATE TABLE later AS SELECT * FROM explorer.blocks WHERE height = ${newest};
     DELETE FROM explorer.blocks WHERE height = ${newest}; UPDATE explorer.head SET height = height - 1`,
  );
  await page.addInitScript(() => {
    const seen = new Set<string>();
    Reflect.set(window, 'seen', seen);
    const look = (): void => {
      const places = ['.panel:has(.strip) .figures dd', '.strip strong'];
      const heights = new Set(
        places.map((place) =>
          (document.querySelector(place)?.textContent ?? '').replaceAll(',', ''),
        ),
      );
      const isEmpty = document.documentElement.textContent.includes('There is nothing yet');
      if (isEmpty || heights.size > 1) seen.add([...heights, isEmpty].join());
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await show('/');
  const shown = (): Promise<string> =>
    page.locator('.panel:has(.strip) .figures dd').first().innerText();
  await expect.poll(shown).toBe(String(newest - 1));
  await writer.query(
    'INSERT INTO explorer.blocks SELECT * FROM later; UPDATE explorer.head SET height = height + 1; DROP TABLE later',
  );
  await expect.poll(shown).toBe(String(newest));
  expect(await page.evaluate(() => [...Reflect.get(window, 'seen')])).toEqual([]);
});

/** The page is told that its clipboard is missing or refuses; what is copied is in `copied`. */
async function withClipboard(is: 'missing' | 'refusing', way: boolean): Promise<void> {
  await page.addInitScript(
    ([kind, works]) => {
      const value =
        kind === 'missing'
          ? undefined
          : { writeText: () => Promise.reject(new DOMException('no', 'NotAllowedError')) };
      Object.defineProperty(navigator, 'clipboard', { value, configurable: true });
      document.execCommand = () => {
        const field = document.activeElement;
        if (works && field instanceof HTMLTextAreaElement)
          Reflect.set(window, 'copied', field.value);
        return works;
      };
    },
    [is, way] as const,
  );
  await show(`/accounts/${address}`);
  await page.getByRole('button', { name: 'Copy address' }).first().click();
}

test.each(['missing', 'refusing'] as const)(
  'copying works while the clipboard is %s, or says that it did not',
  async (is) => {
    await withClipboard(is, true);
    await expect.poll(() => page.getByRole('button', { name: 'Copied' }).count()).toBe(1);
    expect(await page.evaluate(() => Reflect.get(window, 'copied'))).toBe(address);
    await withClipboard(is, false);
    await expect.poll(() => page.getByRole('alert').innerText()).toContain('Not copied');
    expect(await page.getByRole('alert').innerText()).toContain(address);
  },
);

test('a map whose rides are not known counts none', async () => {
  // an address where no hub is
  const services = { hub_url: explorer.url, tiles_url: null };
  await page.route('**/console.json', (route) => route.fulfill({ json: services }));
  await page.goto(`${explorer.url}/market?at=52.4,13.4,9`);
  await expect.poll(() => page.locator('.map[data-drawn]').count()).toBe(1);
  expect(await page.locator('.map-count').count()).toBe(0);
});

test('a browser that keeps nothing shows the pages', async () => {
  await page.addInitScript(() => {
    for (const name of ['localStorage', 'sessionStorage'])
      Object.defineProperty(window, name, {
        get: () => {
          throw new DOMException('refused', 'SecurityError');
        },
      });
  });
  await show('/deposits');
  await page.getByRole('button', { name: 'Colours' }).click();
  await expect.poll(() => page.getByRole('button', { name: 'Colours: light' }).count()).toBe(1);
});

test.each([
  ['/charts?span=24h', 'series', SERIES_ITEM, 'Transactions an hour'],
  [
    '/validators?span=24h',
    'series/validators',
    VALIDATOR_SERIES_ITEM,
    'Share of blocks in each hour',
  ],
])(
  'the only hour of %s is at the end of its axis, and marked',
  async (path, asked, item, title) => {
    const json = { by: 'hour', items: [{ ...Object(exampleOf(item)), is_final: false }] };
    await page.route(`**/api/v1/${asked}?*`, (route) => route.fulfill({ json }));
    await show(path);
    const chart = page.getByRole('region', { name: title, exact: true }).first();
    const over = chart.locator('.u-over');
    await over.waitFor();
    const readout = (): Promise<string> => chart.locator('.readout').innerText();
    const summary = await readout();
    const width = (await over.boundingBox())?.width ?? 0;
    await over.hover({ position: { x: width - 4, y: 40 } });
    await expect.poll(readout).toContain('may still change');
    await over.hover({ position: { x: width * 0.9, y: 40 } });
    await expect.poll(readout).toBe(summary);
    await chart.getByText('Table').click();
    await expect
      .poll(() => chart.locator('tbody td').first().innerText())
      .toContain('may still change');
  },
);

/** The ledger of a run in which 9 billion are held. */
const LEDGER: LedgerPosition = {
  ledger_offset: 1n,
  treasury_minted: 4_998_989_800n,
  held: 9_007_203_165_940_995n,
  minting: 0n,
  waiting: 0n,
  unproven: 0n,
  unminted: 0n,
  retained_fees: 83_202_216n,
  booked_surplus: 0n,
  refunded: 0n,
  unproven_refunds: 0n,
};
const EXPECTED = LEDGER.treasury_minted + LEDGER.held + LEDGER.retained_fees;
const GENESIS = 1_000_000_000_000_000n;

interface Figures {
  /** above what is expected */
  readonly more?: bigint;
  readonly frozen?: bigint;
  readonly waiting?: bigint;
  readonly supply_missing?: bigint;
  readonly tolerance?: bigint;
}

/** A run as the treasury judges these figures. */
function judgedRun(figures: Figures): Readonly<Record<string, unknown>> {
  const { more = 0n, frozen = 0n, waiting = 0n, supply_missing: missed = 0n } = figures;
  const final = {
    height: 1,
    hash: Buffer.alloc(32),
    timestamp: 0,
    genesis_allocation: GENESIS,
    supply: GENESIS + LEDGER.treasury_minted - missed,
    burned: 0n,
  };
  const ledger = { ...LEDGER, waiting };
  const position = positionOf(ledger, final, EXPECTED + more, frozen);
  const amounts = Object.entries({ ...position, surplus: surplusOf(position) });
  return {
    ...Object(exampleOf(RECORDED_RUN)),
    ...Object.fromEntries(amounts.map(([name, amount]) => [name, String(amount)])),
    status: statusOf(position, figures.tolerance ?? 1_000_000n),
  };
}

async function showRun(run: object, tolerance: bigint | undefined): Promise<void> {
  await page.route('**/api/v1/reserve/runs**', (route) =>
    route.fulfill({ json: route.request().url().includes('/runs?') ? { items: [run] } : run }),
  );
  await page.route('**/api/v1/reserve/tolerance?*', (route) =>
    route.fulfill({ json: { tolerance: tolerance === undefined ? null : String(tolerance) } }),
  );
}

test.each<[Figures, string, string]>([
  [
    { more: 1_010_200n, tolerance: 1_000_000n },
    'Covered 1.0002 : 1',
    'more custody than needed, 1.0102 USDT more than expected, tolerance 1.00.',
  ],
  [
    { more: 1_010_200n, tolerance: 2_000_000n },
    'Covered 1.0002 : 1',
    'no mismatch, 1.0102 USDT more than expected, tolerance 2.00.',
  ],
  [{ more: 1n }, 'Covered', 'no mismatch, 0.000001 USDT more than expected, tolerance not known.'],
  [{}, 'Covered', 'no mismatch.'],
  [{ more: -10n }, 'Covered', 'no mismatch, 0.00001 USDT less than expected.'],
  [
    { more: -10n, waiting: LEDGER.held + LEDGER.retained_fees },
    'Custody does not cover 0.00001 USDT',
    'no mismatch, 0.00001 USDT less than expected.',
  ],
  [
    { frozen: EXPECTED },
    'Custody does not cover 4,998.9898 USDT',
    'no mismatch, 9,007,208,248.133011 USDT of custody are frozen.',
  ],
  [{ supply_missing: 5n }, 'Covered', 'mismatch, 0.000005 CLT of supply less than expected.'],
])(
  'a run of %o says on both of its pages what it covers, and why',
  async (figures, covers, why) => {
    const run = judgedRun(figures);
    await showRun(run, figures.tolerance);
    for (const [path, now] of [
      ['/reserve', ''],
      [`/reserve/${String(run['run_id'])}`, 'now '],
    ] as const) {
      await show(path);
      const panel = page.getByRole('region', { name: 'Custody is the sum of these' });
      const text = why.replace(/(tolerance )(?=[0-9])/, `$1${now}`);
      await expect.poll(() => panel.locator('p').innerText()).toContain(text);
      expect(await panel.locator('p').innerText()).toContain(covers);
      expect(await panel.locator('dd').count()).toBe(7);
      expect(await panel.getByRole('link').count()).toBe(6);
      expect(await violationsOf(page)).toEqual([]);
    }
  },
);

test('runs of a gateway of an older version are shown without the sum', async () => {
  const { surplus: _surplus, uncovered: _uncovered, frozen: _frozen, ...run } = judgedRun({});
  await showRun(run, undefined);
  for (const path of ['/reserve', `/reserve/${String(run['run_id'])}`]) {
    await show(path);
    await expect.poll(() => page.getByText('Check it yourself').count()).toBe(1);
    expect(await page.getByText('Custody is the sum of these').count()).toBe(0);
  }
});
