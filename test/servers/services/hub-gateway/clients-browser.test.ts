/** Clients of the hub on a page of another origin, in Chromium. */
import { join } from 'node:path';
import { getBytes, Wallet } from 'ethers';
import type { Browser, Page } from 'playwright-core';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import type { Eip1193Provider, Hub } from '../../../../packages/wallet/src/index.ts';
import { openLocalServer } from '../../../packages/wallet/local-server.ts';
import type * as Clients from '../../../services/hub-gateway/clients-page.ts';
import { CHAIN_ID, HubWorld } from '../../../services/hub-gateway/hub-world.ts';
import { openChromium, openContext } from '../../../support/chromium.ts';
import { walletOf } from '../../../support/wallets.ts';

declare global {
  /** as the page's script names them */
  const clients: typeof Clients;
}

const PAGE = `<!doctype html>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="default-src 'none'; script-src 'self'; connect-src http://127.0.0.1:* ws://127.0.0.1:*">
<script src="/clients.js"></script>`;
const PRIVATE_KEY = `0x${'6b'.repeat(32)}`;

const person = new Wallet(PRIVATE_KEY);
const rider = walletOf('raw', 'page');
let browser: Browser | undefined;
let missing = '';
let world: HubWorld;
let hub: Hub;
let token: string;
let site: Awaited<ReturnType<typeof openLocalServer>>;
let page: Page;
let balance = 0n;

beforeAll(async () => {
  const opened = await openChromium();
  if ('missing' in opened) {
    ({ missing } = opened);
    process.stderr.write(`tests in a browser are skipped: ${missing}\n`);
    return;
  }
  browser = opened;
  world = await HubWorld.open(inject('stack'));
  hub = { url: `${world.url}/graphql`, chainId: CHAIN_ID };
  await change();
  token = await world.signIn(rider);
  const script = await bundle();
  site = await openLocalServer(({ path }) =>
    path === '/clients.js'
      ? { type: 'text/javascript', body: script }
      : { type: 'text/html', body: path === '/' ? PAGE : '' },
  );
  page = await (await openContext(browser)).newPage();
  await page.exposeFunction('personalSign', (text: string) => person.signMessage(getBytes(text)));
  await page.addInitScript((account) => {
    const provider = {
      request: async ({ method, params = [] }: Parameters<Eip1193Provider['request']>[0]) => {
        if (method === 'personal_sign') return personalSign(params[0]);
        return method === 'eth_chainId' ? '0x1' : [account];
      },
      on: () => undefined,
      removeListener: () => undefined,
    };
    Object.assign(globalThis, { ethereum: provider });
  }, person.address);
  await page.goto(site.url);
});
afterAll(async () => {
  if (browser === undefined) return;
  await browser.close();
  await site[Symbol.asyncDispose]();
  await world.close();
});

beforeEach(({ skip }) => {
  if (missing !== '') skip(missing);
});

async function bundle(): Promise<string> {
  const input = join(import.meta.dirname, '../../../services/hub-gateway/clients-page.ts');
  const bundled = await rolldown({ input, platform: 'browser', logLevel: 'silent' });
  const { output } = await bundled.generate({ format: 'iife', name: 'clients' });
  await bundled.close();
  return output[0].code;
}

/** The balance of the rider changes. */
async function change(): Promise<void> {
  await world.fund(rider.account, 1n);
  balance += 1n;
}

async function answers(client: Parameters<typeof Clients.answers>[0]): Promise<void> {
  const found = await page.evaluate(
    ([name, target, operations]) => clients.answers(name, target, operations),
    [
      client,
      hub,
      [
        ['{ chainInfo { chainId } }'],
        ['{ accountBalance }', token],
        ['mutation { createUnsignedBurn(amount: "1") }', token],
        ['{ accountBalance }'],
      ],
    ] as const,
  );
  expect(found).toMatchObject([
    { chainInfo: { chainId: '7777' } },
    { accountBalance: String(balance) },
    { createUnsignedBurn: { chain_id: 7777 } },
    expect.stringContaining('a token is needed'),
  ]);
}

test('Apollo Client asks and changes on a page', () => answers('apollo'));
test('urql asks and changes on a page', () => answers('urql'));
test('graphql-request asks and changes on a page', () => answers('graphql_request'));
test("Relay's network layer asks and changes on a page", () => answers('relay'));

/** All subscriptions of the page show the balance of now, and none has ended. */
async function shows(): Promise<void> {
  const all = Array.from({ length: 4 }, () => String(balance));
  await expect.poll(() => page.evaluate(() => clients.seen())).toEqual({ last: all, ended: 0 });
}

async function subscribe(isDefault: boolean): Promise<void> {
  await page.goto(site.url);
  await page.evaluate(
    ([target, account, asItComes]) => {
      for (const name of ['plain', 'apollo', 'urql', 'relay'] as const)
        clients.subscribe(name, target, account, asItComes);
    },
    [hub, rider.account, isDefault] as const,
  );
  await shows();
  await change();
  await shows();
}

test('graphql-ws with its defaults, alone and in Apollo Client, urql and Relay, shows each change on a page', () =>
  subscribe(true));

test('the client of the package, alone and in Apollo Client, urql and Relay, goes on after a restart of the hub on a page', async () => {
  await subscribe(false);
  await world.restart(change);
  await shows();
});

async function signsIn(library: Parameters<typeof Clients.signedIn>[0]): Promise<void> {
  const found = await page.evaluate(
    ([name, target, privateKey]) => clients.signedIn(name, target, ethereum, privateKey),
    [library, hub, PRIVATE_KEY] as const,
  );
  expect(found).toBe('0');
}

test('viem signs in on a page', () => signsIn('viem'));
test('ethers signs in on a page', () => signsIn('ethers'));
test('wagmi signs in on a page', () => signsIn('wagmi'));
test('TronWeb signs in on a page', () => signsIn('tron'));
