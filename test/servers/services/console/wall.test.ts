/** The first page in Chromium: all parts at a glance, on a screen on the wall, and in the tab. */
import type { Page, WebSocketRoute } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { depositIdOf } from '../../../../schemas/deposit-id.ts';
import { RECORDED_RUN, type RecordedRun } from '../../../../schemas/explorer-api/reserve.ts';
import { exampleOf } from '../../../../schemas/http-api/answer.ts';
import { TEXT } from '../../../../services/console/src/text.ts';
import { CHAIN } from '../../../../services/console/src/chain/text.ts';
import type { Mark } from '../../../../services/console/src/design/mark.ts';
import { addWallet, iconOf } from '../../../services/console/browser-parts.ts';
import {
  DEPOSIT_ADDRESS,
  openConsoleWorld,
  openPage,
  type ConsoleWorld,
  type Opened,
} from '../../../services/console/console-world.ts';
import { openChromium } from '../../../support/chromium.ts';
import { confirmedEvent, depositEvents } from '../../../support/deposit-events.ts';
import { PHONE, violationsOfBothSchemes, widthOf } from '../../../support/pages.ts';
import { walletOf } from '../../../support/wallets.ts';

const PARTS = [
  TEXT.reserve.title,
  CHAIN.home.deposits,
  TEXT.home.strip,
  TEXT.home.transactions,
  CHAIN.rides.title,
];
const BROWSER_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;
const rider = walletOf('browser', 'wall rider');
let missing = '';
let world: ConsoleWorld;
let opened: Opened;
/** of the reserve, as the explorer says it to the page */
let run: RecordedRun | undefined;
let reserve: object | undefined;

beforeAll(async () => {
  const browser = await openChromium();
  if ('missing' in browser) {
    ({ missing } = browser);
    process.stderr.write(`tests in a browser are skipped: ${missing}\n`);
    return;
  }
  world = await openConsoleWorld(inject('stack'), browser);
  const { hub } = world;
  await hub.fund(rider.account, 500_000_000n);
  const token = await hub.signIn(rider);
  await hub.send(
    rider,
    token,
    'createUnsignedRideRequest(pickupLatitude: 52.52, pickupLongitude: 13.4, dropoffLatitude: 52.36, dropoffLongitude: 13.5, fare: "12500000")',
  );
  await hub.block();
  opened = await openPage(world);
  await opened.context.addInitScript(
    `window.locks = 0;
     Object.defineProperty(navigator, 'wakeLock', {
       value: { request: async () => { window.locks += 1; return { release: async () => { window.locks -= 1; } }; } },
     });`,
  );
  await opened.page.route(/\/api\/v1\/reserve\/runs\?/, (route) =>
    route.fulfill({ json: { items: run === undefined ? [] : [run] } }),
  );
  await opened.page.route(/\/api\/v1\/reserve\?/, (route) =>
    reserve === undefined ? route.abort() : route.fulfill({ json: reserve }),
  );
});
afterAll(() => world?.close());

beforeEach(({ skip }) => {
  if (missing !== '') skip(missing);
  opened.problems.length = 0;
  reserve = { configured: true, available: true, cache_age_seconds: 0, last_run: null };
  run = runOf({});
});

function runOf(changed: Partial<RecordedRun>): RecordedRun {
  const example: RecordedRun = JSON.parse(
    JSON.stringify(exampleOf(RECORDED_RUN), (name, value: unknown) =>
      typeof value === 'number' && name !== 'block_height' ? String(value) : value,
    ),
  );
  return { ...example, status: 'ok', run_at: new Date().toISOString(), ...changed };
}

const DRIFT = { status: 'over_backed_drift', surplus: '5000000' } as const;

/** Chromium without a window shows every tab. */
async function hide(page: Page): Promise<void> {
  await page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { value: 'hidden' });
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
  });
}

function tell(socket: WebSocketRoute, said: object): void {
  socket.send(JSON.stringify(said));
}

const part = (name: string) => opened.page.getByRole('region', { name, exact: true }).first();

test('the first page shows reserve, deposits, blocks, transactions and rides, and links to each', async () => {
  const { page, show, problems } = opened;
  await show('/');
  await expect
    .poll(() => part(TEXT.reserve.title).innerText())
    .toMatch(/Covered [0-9.]+ : 1, \d+ s ago/);
  await expect.poll(() => part(CHAIN.home.deposits).innerText()).toContain('0 deposits');
  await expect
    .poll(() => part(TEXT.home.transactions).innerText())
    .toContain('asked for a ride at 12.50 CLT');
  await expect.poll(() => part(CHAIN.rides.open).innerText()).toContain('12.50');
  for (const [name, path] of [
    [TEXT.reserve.title, '/reserve'],
    [CHAIN.home.deposits, '/deposits'],
    [TEXT.home.transactions, '/transactions'],
    [CHAIN.rides.title, '/market'],
  ] as const)
    expect(await part(name).locator('header a').getAttribute('href')).toBe(path);
  expect(await page.getByText(/^Blocks and transactions of /).count()).toBe(1);
  expect(await violationsOfBothSchemes(page)).toEqual([]);
  await page.setViewportSize(PHONE);
  expect(await widthOf(page)).toBe(PHONE.width);
  expect(problems).toEqual([]);
});

test('a deposit that waits is counted as the deposit service counts it', async () => {
  await world.ledger(confirmedEvent());
  await opened.show('/');
  await expect.poll(() => part(CHAIN.home.deposits).innerText()).toContain('1 deposit');
});

function figure(name: string): Promise<string> {
  return part(CHAIN.home.deposits).locator('.figures > div').filter({ hasText: name }).innerText();
}

test('the first page says by how much the reserve is off, and has one figure for each name', async () => {
  const { page, show } = opened;
  run = runOf({ ...DRIFT, waiting: '500000' });
  await show('/');
  await expect
    .poll(() => part(TEXT.reserve.title).innerText())
    .toMatch(/more custody than needed[^]*5\.00 USDT more than expected, /);
  const { waiting } = TEXT.reserve.parts;
  expect(await figure(waiting)).toMatch(/0\.50/);
  expect(await figure(CHAIN.home.next)).toMatch(/deposit/);
  await page.goto(`${world.explorer.url}/reserve`);
  await expect.poll(() => page.locator('.facts [data-part=waiting]').innerText()).toMatch(/0\.50/);
  expect(await page.locator('.facts').first().innerText()).toContain(waiting);
});

test('a part that is away says so, and the others go on', async () => {
  const { page, show } = opened;
  await show('/');
  await expect.poll(() => part(CHAIN.rides.open).innerText()).toContain('12.50');
  world.away('hub', true);
  world.away('deposits', true);
  await expect.poll(() => part(CHAIN.rides.title).innerText()).toContain('No answer from the hub');
  await expect.poll(() => part(CHAIN.home.deposits).innerText()).toContain(TEXT.away.deposits.down);
  // the sums of the run stay
  expect(await part(CHAIN.home.deposits).innerText()).toContain(TEXT.reserve.parts.minting);
  const newest = (): Promise<string> => page.locator('.block strong').first().innerText();
  const before = await newest();
  await world.hub.block();
  await expect.poll(newest).not.toBe(before);
  await page.reload();
  await expect.poll(() => part(CHAIN.rides.title).innerText()).toContain(TEXT.away.hub.down);
  expect(await page.locator('main').innerText()).not.toContain(TEXT.market.noRequests);
  expect(await violationsOfBothSchemes(page)).toEqual([]);
  world.away('hub', false);
  world.away('deposits', false);
  await expect.poll(() => part(CHAIN.rides.open).innerText()).toContain('12.50');
});

test('rides that the hub ends are old until it sends them again', async () => {
  const { page, context, show } = await openPage(world);
  const ended = { code: 'RATE_LIMITED' };
  let refused = '';
  let fare = '12500000';
  const sockets: WebSocketRoute[] = [];
  await page.routeWebSocket('**/graphql/ws', (socket) => {
    sockets.push(socket);
    socket.onMessage((message) => {
      const { type, id, payload } = JSON.parse(String(message));
      if (type === 'connection_init') tell(socket, { type: 'connection_ack' });
      if (type === 'ping') tell(socket, { type: 'pong' });
      if (type !== 'subscribe') return;
      const isOpen = String(payload.query).includes('rideRequestsUpdated');
      if (isOpen && refused !== '')
        return tell(socket, {
          type: 'error',
          id,
          payload: [{ message: refused, extensions: ended }],
        });
      const result = isOpen ? [{ txHash: `0x${'ab'.repeat(32)}`, fare }] : [];
      tell(socket, { type: 'next', id, payload: { data: { result } } });
    });
  });
  const of = (name: string) => page.getByRole('region', { name, exact: true }).first();
  const moment = (): Promise<string> => page.locator('.rides > .moment').innerText();
  await show('/');
  await expect.poll(() => of(CHAIN.rides.open).innerText()).toContain('12.50');
  refused = 'too many different subscriptions are open: try again later';
  for (const opens of [2, 3]) {
    await sockets.at(-1)?.close({ code: 1012 });
    await expect.poll(() => sockets.length).toBe(opens);
    // the others are of the new socket
    await expect.poll(() => of(CHAIN.rides.active).innerText()).not.toContain('No answer');
    expect(await of(CHAIN.rides.open).innerText()).toContain('No answer from the hub');
  }
  expect(await moment()).toContain(CHAIN.rides.moment(''));
  refused = '';
  fare = '13500000';
  await expect.poll(() => of(CHAIN.rides.open).innerText()).toContain('13.50');
  expect(await of(CHAIN.rides.open).innerText()).not.toContain('No answer');
  await context.close();
});

test.each([
  [1_920, 1_080],
  [3_840, 2_160],
])(
  'on a wall of %d by %d pixels all of it is in sight, and the screen stays on',
  async (width, height) => {
    const { page, problems } = opened;
    // with its reasons the reserve is longest
    run = runOf(DRIFT);
    await page.setViewportSize({ width, height });
    await page.goto(`${world.explorer.url}/?wall`);
    await expect.poll(() => part(TEXT.reserve.title).innerText()).toContain('more than expected');
    await expect.poll(() => part(CHAIN.rides.open).innerText()).toContain('12.50');
    await expect.poll(() => page.locator('.block').count()).toBeGreaterThan(0);
    expect(await page.locator('.bar, .foot').count()).toBe(0);
    const hidden = await page.evaluate(() =>
      [document.documentElement, ...document.querySelectorAll('.wall > *')]
        .filter(
          (each) =>
            each.scrollHeight > each.clientHeight + 1 ||
            each.getBoundingClientRect().bottom > innerHeight,
        )
        .map((each) => each.getAttribute('aria-label') ?? each.tagName),
    );
    expect(hidden).toEqual([]);
    for (const name of PARTS) expect(await part(name).isVisible()).toBe(true);
    expect(await page.evaluate(() => Reflect.get(window, 'locks'))).toBe(1);
    expect(await violationsOfBothSchemes(page)).toEqual([]);
    expect(await page.getByText(CHAIN.home.zone(BROWSER_ZONE)).count()).toBe(1);
    // closes the list of keys alone
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(new URL(page.url()).search).toMatch(/^\?wall/);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('.bar').count()).toBe(1);
    expect(new URL(page.url()).search).toBe('');
    await expect.poll(() => page.evaluate(() => Reflect.get(window, 'locks'))).toBe(0);
    await page.getByRole('link', { name: CHAIN.home.wall }).click();
    await page.getByRole('link', { name: CHAIN.home.leave }).click();
    await expect.poll(() => page.locator('.bar').count()).toBe(1);
    expect(problems).toEqual([]);
  },
);

test.each<readonly [string, Partial<RecordedRun>, Mark, string]>([
  ['covers all', {}, 'good', 'covered'],
  ['has more than is needed', { status: 'over_backed_drift' }, 'warn', 'more custody than needed'],
  ['is old', { run_at: '2026-01-01T00:00:00.000Z' }, 'warn', CHAIN.tabs.old],
  ['does not cover all', { uncovered: '1' }, 'bad', 'not covered'],
])('the icon and the title tell of a newest run that %s', async (_, changed, mark, word) => {
  const { page, show } = opened;
  run = runOf(changed);
  await show('/reserve');
  await expect.poll(() => page.title()).toBe(`Reserve: ${word} · CLT`);
  await expect.poll(() => iconOf(opened.page)).toBe(mark);
  await page.getByRole('link', { name: TEXT.nav.chain, exact: true }).click();
  await expect.poll(() => page.title()).toBe('Chain · CLT');
  await expect.poll(() => iconOf(opened.page)).toBe(mark);
  const steps = Object.values(TEXT.reserve.next);
  const shown = (text: string): readonly string[] => steps.filter((step) => text.includes(step));
  expect(shown(await part(TEXT.reserve.title).innerText())).toHaveLength(mark === 'good' ? 0 : 1);
  if (mark !== 'good') expect(await part(TEXT.reserve.title).innerText()).toContain(word);
  expect(await part(TEXT.reserve.title).locator('.figures dd').allInnerTexts()).not.toContain('');
  await page.getByRole('link', { name: TEXT.nav.validators, exact: true }).click();
  await expect.poll(() => iconOf(opened.page)).toBeUndefined();
});

function minutesAgo(minutes: number): string {
  return new Date(Date.now() - minutes * 60_000).toISOString();
}

test('the page of the reserve says one state and one age of its newest run', async () => {
  const { page, show } = opened;
  run = runOf({ run_at: minutesAgo(5) });
  const newer = { ...run, run_at: minutesAgo(3), status: 'mismatch' };
  reserve = { ...Object(reserve), last_run: newer };
  await show('/reserve');
  const equation = page.getByRole('region', { name: TEXT.reserve.equation });
  await expect.poll(() => equation.innerText()).toMatch(/ 5 min ago/);
  const header = page.locator('main header').first();
  await expect.poll(() => header.locator('.tag').allInnerTexts()).toEqual(['mismatch']);
  expect(await page.locator('main').innerText()).toContain(TEXT.reserve.next.mismatch);
  expect(await page.getByText(/ago/).count()).toBe(1);
  expect(await equation.locator('.tag').count()).toBe(0);
});

test('the icon goes on to tell of the reserve while the tab is hidden', async () => {
  const { page, show } = opened;
  for (const path of ['/', '/reserve']) {
    run = runOf({});
    await show(path);
    await expect.poll(() => iconOf(page)).toBe('good');
    await hide(page);
    run = runOf({ uncovered: '1' });
    await expect.poll(() => iconOf(page)).toBe('bad');
  }
});

test('another page than the first has its bar, whatever its address says', async () => {
  const { page } = opened;
  await page.goto(`${world.explorer.url}/reserve?wall`);
  await expect.poll(() => page.locator('main h1').count()).toBe(1);
  expect(await page.locator('.bar, .foot').count()).toBe(2);
});

test('without an answer of the treasury no page says that all is covered', async () => {
  const { page, show } = opened;
  reserve = {
    configured: true,
    available: false,
    cache_age_seconds: 0,
    error: 'x',
    last_run: null,
  };
  await show('/');
  await expect.poll(() => iconOf(opened.page)).toBe('warn');
  expect(await part(TEXT.reserve.title).innerText()).toContain(CHAIN.tabs.unknown);
  reserve = { configured: false, available: false, cache_age_seconds: 0, last_run: null };
  run = undefined;
  await show('/');
  await expect
    .poll(() => part(TEXT.reserve.title).innerText())
    .toContain(TEXT.reserve.notConfigured);
  await expect.poll(() => iconOf(page)).toBeUndefined();
  reserve = undefined;
  await show('/');
  await expect.poll(() => part(TEXT.reserve.title).innerText()).toContain(TEXT.states.down);
  expect(await page.locator('main').innerText()).not.toContain(TEXT.reserve.none);
  expect(await violationsOfBothSchemes(page)).toEqual([]);
});

test('the icon of a deposit tells whether it waits or is credited', async () => {
  const wallet = await openPage(world);
  const { page, show, problems } = wallet;
  await addWallet(wallet, rider);
  const account = Buffer.from(rider.account.slice(2), 'hex');
  const tx_id = Buffer.alloc(32, 0x21);
  const deposit_id = depositIdOf(tx_id, 0);
  await world.ledger(
    confirmedEvent({ clt_address: account, deposit_address: DEPOSIT_ADDRESS, tx_id, deposit_id }),
  );
  await show(`/deposits/${deposit_id}`);
  await page.getByRole('button', { name: 'Browser wallet' }).click();
  await expect.poll(() => iconOf(page)).toBe('warn');
  await hide(page);
  const mint = Buffer.alloc(32, 0x4e);
  const of = depositEvents(deposit_id);
  await world.ledger(
    of.intended({ to: account, amount: 8_000_000n, nonce: 6, tx_hash: mint }),
    of.credited(mint),
  );
  await expect.poll(() => iconOf(page)).toBe('good');
  expect(problems).toEqual([]);
  await wallet.context.close();
});
