/** The operations page in Chromium, on `ops console` and its content security policy. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { encryptKeystoreJsonSync } from 'ethers';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import {
  firstScriptBytes,
  openChromium,
  openContext,
  SCRIPT_BYTES_MAX,
} from '../../../../support/chromium.ts';
import { alice, bob, mallory } from '../../../../support/operators.ts';
import {
  builtPages,
  DESKTOP,
  PHONE,
  violationsOfBothSchemes,
  watchPage,
  widthOf,
} from '../../../../support/pages.ts';
import {
  openOperations,
  type OperationsServer,
} from '../../../../services/ops/console/operations-server.ts';

let browser: Browser | undefined;
let missing = '';
let server: OperationsServer;
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
  const folder = await builtPages('operations');
  server = await openOperations(inject('stack'), pathToFileURL(join(folder, 'operations.html')));
  context = await openContext(browser);
  page = await openPage(context);
});
afterAll(async () => {
  if (browser === undefined) return;
  await browser.close();
  await server.close();
});

beforeEach(({ skip }) => {
  if (missing !== '') skip(missing);
  problems.length = 0;
});

/** A page whose complaints are in `problems`. */
async function openPage(of: BrowserContext): Promise<Page> {
  const opened = await of.newPage();
  watchPage(opened, problems, (url) => url.startsWith(server.url));
  return opened;
}

/** Fills the form of a key in the page's memory. */
async function enterKey(of: Page, key = alice.privateKey): Promise<void> {
  await of.getByLabel('Private key', { exact: true }).last().fill(key);
  await of.getByRole('button', { name: 'Sign in with the key' }).click();
}

async function signIn(of: Page, key = alice.privateKey): Promise<void> {
  await of.goto(server.url);
  await enterKey(of, key);
  await expect.poll(() => of.locator('h1').first().innerText()).toBe('Overview');
}

/** Without a reload, which would end the session. */
async function go(path: string, title: string): Promise<void> {
  await page.evaluate((to) => void (location.hash = to), `#${path}`);
  await expect.poll(() => page.locator('h1').first().innerText()).toBe(title);
  await expect.poll(() => page.getByText('Loading').count()).toBe(0);
}

function pages(): readonly (readonly [string, string])[] {
  return [
    ['/', 'Overview'],
    ['/deposits', 'Deposits that wait for a decision'],
    [`/deposits/${server.held[0]}`, 'Deposit'],
    ['/records?topic=treasury.ledger', 'Records'],
  ];
}

test('a stranger stays outside, and is told why', async () => {
  await page.goto(server.url);
  await enterKey(page, mallory.privateKey);
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('of nobody');
  await enterKey(page, '0x12');
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('invalid');
});

test('every page fits a phone, and has no error, request outside or violation of AA, light and dark', async () => {
  await page.goto(server.url);
  expect(await violationsOfBothSchemes(page)).toEqual([]);
  await signIn(page);
  for (const [path, title] of pages()) {
    await page.setViewportSize(PHONE);
    await go(path, title);
    expect([path, await widthOf(page)]).toEqual([path, PHONE.width]);
    await page.setViewportSize(DESKTOP);
    expect([path, await violationsOfBothSchemes(page)]).toEqual([path, []]);
  }
  expect(problems).toEqual([]);
});

test('the first load has less than 250 KB of compressed script', async () => {
  if (browser === undefined) return;
  const bytes = await firstScriptBytes(browser, server.url, 'Sign in');
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(SCRIPT_BYTES_MAX);
});

async function panel(name: string): Promise<string> {
  return page.getByRole('region', { name, exact: true }).first().innerText();
}

test('quarantine, rebuilds, leases, alerts and deposits that wait are shown', async () => {
  await go('/', 'Overview');
  await expect.poll(() => panel('Quarantine')).toContain('chain.blocks/0@41');
  expect(await panel('Rebuilds and verifications')).toContain('deposits v9');
  expect(await panel('Leases')).toContain('works');
  expect(await panel('Alerts')).toContain('look at ops reserve runs');
  expect(await panel('Projections')).toContain('deposits v');
  expect(await panel('Deposits that wait for a decision')).toContain(server.held[0].slice(0, 8));
});

/** As the treasury and Postgres would say it. */
const MONEY = {
  amounts: [
    { name: 'custody', amount: '9007208249143211', unit: 'USDT' },
    { name: 'left of the rolling cap', amount: '0', unit: 'CLT' },
  ],
  states: [
    { name: 'reserve run', text: 'more custody than needed, 13 min ago', tone: 'warn' },
    { name: 'minting', text: 'closed', tone: 'bad' },
  ],
  waiting: [
    {
      reason: 'there is no proof yet that it arrived',
      deposits: 1_200,
      amount: '9007203165940995',
    },
  ],
};

test('the overview has the money first, then what waits for a person, then machines', async () => {
  await page.route('**/api/v1/operations*', async (route) => {
    const { status, ...others } = await (await route.fetch()).json();
    const is = { ...status.is, attention: [], money: MONEY };
    await route.fulfill({ json: { ...others, status: { ...status, problem: null, is } } });
  });
  await page.setViewportSize(PHONE);
  await go('/', 'Overview');
  await expect.poll(() => panel('Money')).toContain('9,007,208,249.143211 USDT');
  const money = await panel('Money');
  for (const text of ['Custody', 'more custody than needed, 13 min ago', 'closed', '0.00 CLT'])
    expect(money).toContain(text);
  expect(money).toMatch(/There is no proof yet that it arrived\s+1,200\s+9,007,203,165.940995/);
  expect(await widthOf(page)).toBe(PHONE.width);
  await page.setViewportSize(DESKTOP);
  const titles = await page.locator('h2').allInnerTexts();
  expect(titles.slice(0, 4)).toEqual([
    'Money',
    'Needs attention',
    'Deposits that wait for a decision',
    'Machines',
  ]);
  expect(await page.getByText('all is well').count()).toBe(0);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('all is well only while Prometheus answers where one is set', async () => {
  let problem: string | null = 'Prometheus does not answer: it answered 503';
  await page.route('**/api/v1/operations*', async (route) => {
    const { status, waiting, ...others } = await (await route.fetch()).json();
    const calm = { ...status, problem: null, is: { ...status.is, attention: [] } };
    const none = { ...waiting, is: { ...waiting.is, deposits: [] } };
    const alerts = { is: problem === null ? [] : null, problem };
    await route.fulfill({ json: { ...others, status: calm, waiting: none, alerts } });
  });
  await go('/', 'Overview');
  await expect.poll(() => panel('Needs attention')).toContain('Prometheus does not answer');
  expect(await page.getByText('all is well').count()).toBe(0);
  problem = null;
  await expect.poll(() => page.getByText('all is well').count()).toBe(1);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('reasons of deposits that wait are in words, with their number and sum', async () => {
  await go('/', 'Overview');
  await expect
    .poll(() => panel('Money'))
    .toMatch(/The credit is below the minimum\s+5\s+0\.750006 USDT/);
  const list = 'Deposits that wait for a decision';
  await expect.poll(() => panel(list)).toContain('the credit is below the minimum');
  expect(await panel(list)).not.toContain('below_minimum');
});

test('records arrive as they are written, and a filter is in the address', async () => {
  await go('/records?topic=treasury.ledger&type=DepositHeld', 'Records');
  await expect.poll(() => page.locator('tbody tr').count()).toBe(6);
  await page.getByLabel('Where').fill('reason = over_single_cap');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
  expect(new URL(page.url()).hash).toContain('where=reason+%3D+over_single_cap');
  await page.getByRole('button', { name: /Show the record/ }).click();
  await expect.poll(() => page.locator('pre').first().innerText()).toContain(server.held[2]);
  await page.getByLabel('Where').fill('reason =');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('expected');
});

test('an approval shows its effect and its text, is signed, and is in the ledger', async () => {
  const [id] = server.held;
  await go('/records?topic=treasury.ledger&type=DepositApproved', 'Records');
  await expect.poll(() => page.getByText('live', { exact: true }).count()).toBe(1);
  const watching = await openPage(context);
  await signIn(watching, bob.privateKey);
  await watching.evaluate((to) => void (location.hash = to), `#/deposits/${id}`);
  await watching.getByLabel('Your name').fill('bob');
  await watching.getByLabel('Reason').fill('known to us');
  await watching.getByRole('button', { name: 'Approve …' }).click();
  const dialog = watching.getByRole('dialog');
  await expect.poll(() => dialog.innerText()).toContain('mint 0.50 CLT to 0x');
  expect(await dialog.innerText()).toContain(`deposit_id: "${id}"`);
  await watching.getByRole('button', { name: 'Sign and approve' }).click();
  await expect
    .poll(() => watching.getByRole('status').innerText())
    .toContain(`treasury.ledger/0@${server.records}`);
  expect((await server.ledger()).deposit(id)).toMatchObject({ status: 'confirmed' });
  await watching.close();
  // and the tail of the other page has it
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
});

test('a browser wallet signs in and signs a decision', async () => {
  const own = browser && (await openContext(browser));
  if (own === undefined) return;
  await own.exposeFunction('signText', (hex: string) =>
    alice.signMessage(Buffer.from(hex.slice(2), 'hex')),
  );
  await own.addInitScript((address: string) => {
    const ethereum = {
      request: ({ method, params }: { method: string; params?: readonly unknown[] }): unknown => {
        if (method === 'eth_requestAccounts') return Promise.resolve([address]);
        const sign: unknown = Reflect.get(globalThis, 'signText');
        return typeof sign === 'function' ? sign(params?.[0]) : undefined;
      },
    };
    Object.assign(globalThis, { ethereum });
  }, alice.address);
  const wallet = await openPage(own);
  await wallet.goto(server.url);
  await wallet.getByRole('button', { name: 'Sign in with the wallet' }).click();
  await expect.poll(() => wallet.locator('h1').first().innerText()).toBe('Overview');
  const [, id] = server.held;
  await wallet.evaluate((to) => void (location.hash = to), `#/deposits/${id}`);
  await wallet.getByLabel('Your name').fill('alice');
  await wallet.getByLabel('Reason').fill('not known to us');
  await wallet.getByRole('button', { name: 'Reject …' }).click();
  await wallet.getByRole('button', { name: 'Sign and reject' }).click();
  await expect.poll(() => wallet.getByRole('status').innerText()).toContain('Recorded at');
  expect((await server.ledger()).deposit(id)).toMatchObject({ rejected: true });
  await own.close();
  expect(problems).toEqual([]);
});

test('a key file opens with its password alone, and approves a deposit', async () => {
  const own = await openPage(context);
  const [, , id] = server.held;
  // as `ops operators new-key` writes it, but for the cost of guessing the password
  const file = encryptKeystoreJsonSync(bob, 'right', { scrypt: { N: 1_024 } });
  const open = async (password: string): Promise<void> => {
    const buffer = Buffer.from(file);
    await own
      .getByLabel('File', { exact: true })
      .setInputFiles({ name: 'key.json', mimeType: 'application/json', buffer });
    await own.getByLabel('Password', { exact: true }).fill(password);
    await own.getByRole('button', { name: 'Open the file and sign in' }).click();
  };
  await own.goto(`${server.url}#/deposits/${id}`);
  await open('wrong');
  await expect.poll(() => own.getByRole('alert').innerText()).toContain('incorrect password');
  await open('right');
  // the page that the address names
  await expect.poll(() => own.locator('h1').first().innerText()).toBe('Deposit');
  await own.getByLabel('Your name').fill('bob');
  await own.getByLabel('Reason').fill('known to us');
  await own.getByRole('button', { name: 'Approve …' }).click();
  await own.getByRole('button', { name: 'Sign and approve' }).click();
  await expect.poll(() => own.getByRole('status').innerText()).toContain('Recorded at');
  expect((await server.ledger()).deposit(id)).toMatchObject({ status: 'confirmed' });
  await own.close();
  expect(problems).toEqual([]);
});

test('dust is counted beside the others, and all of it is rejected with one signature', async () => {
  const { dust, held } = server;
  await go('/deposits', 'Deposits that wait for a decision');
  await expect
    .poll(() => page.getByText('3 more wait, of less than 0.01 USDT each').count())
    .toBe(1);
  await expect.poll(() => page.locator('tbody tr').count()).toBe(held.length);
  await page.getByRole('button', { name: 'Show these' }).click();
  await expect
    .poll(() => panel('Deposits that wait for a decision'))
    .toContain(dust[0]?.slice(0, 8) ?? '');
  expect(await page.locator('tbody tr').count()).toBe(dust.length);
  await page.getByRole('button', { name: 'Choose all of them' }).click();
  await page.getByLabel('Your name').fill('alice');
  await page.getByLabel('Reason', { exact: true }).fill('dust of strangers');
  expect(await violationsOfBothSchemes(page)).toEqual([]);
  await page.getByRole('button', { name: 'Reject …' }).click();
  const dialog = page.getByRole('dialog');
  await expect.poll(() => dialog.innerText()).toContain('Reject these 3 deposits for good?');
  expect(await dialog.innerText()).toContain('deposit_ids: 3, SHA-256 0x');
  const before = (await server.ledger()).end;
  await page.getByRole('button', { name: 'Sign and reject' }).click();
  await expect
    .poll(() => page.getByRole('status').innerText())
    .toContain(`treasury.ledger/0@${before}`);
  const after = await server.ledger();
  expect(after.end).toBe(before + 1n);
  for (const id of dust) expect(after.deposit(id)).toMatchObject({ rejected: true });
  await page.getByRole('button', { name: 'Show the others' }).click();
  await expect.poll(() => page.locator('tbody tr').count()).toBe(held.length);
  expect(problems).toEqual([]);
});

test('after a reload and a sign-in the page shows what its address names', async () => {
  await go('/records?topic=treasury.ledger&type=DepositHeld', 'Records');
  await page.reload();
  await expect.poll(() => page.locator('h1').innerText()).toBe('Sign in');
  await enterKey(page);
  await expect.poll(() => page.locator('h1').first().innerText()).toBe('Records');
  expect(await page.getByLabel('Type').inputValue()).toBe('DepositHeld');
  await expect.poll(() => page.locator('tbody tr').count()).toBe(6);
});

test('a stop of a service and of the server itself shows as such', async () => {
  await go('/', 'Overview');
  server.stopService();
  await expect.poll(() => panel('Services')).toContain('unreachable');
  expect(await panel('Needs attention')).toContain('treasury');
  await context.setOffline(true);
  await expect
    .poll(async () => (await page.getByRole('status').allInnerTexts()).join(' '))
    .toContain('No answer from ops console since');
  await context.setOffline(false);
  await expect.poll(() => page.getByText('No answer from').count()).toBe(0);
});

test('signing out, and a reload, end the session', async () => {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect.poll(() => page.locator('h1').innerText()).toBe('Sign in');
  await signIn(page);
  await page.reload();
  await expect.poll(() => page.locator('h1').innerText()).toBe('Sign in');
});
