/** The package for wallets in Chromium, on a page that allows no more than scripts of its own. */
import { join } from 'node:path';
import { getBytes, Wallet } from 'ethers';
import type { Browser, Page } from 'playwright-core';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import type * as WalletPackage from '../../../../packages/wallet/src/index.ts';
import { openLocalServer } from '../../../packages/wallet/local-server.ts';
import {
  ADDRESS,
  CHAIN_ID,
  PRIVATE_KEY,
  SIGN_IN,
  CHALLENGE,
  TRANSACTIONS,
} from '../../../packages/wallet/vectors.ts';
import {
  openExplorer,
  type ExplorerServer,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { HubWorld } from '../../../services/hub-gateway/hub-world.ts';
import { openChromium, openContext } from '../../../support/chromium.ts';

declare global {
  /** the package, as the page's script names it */
  const wallet: typeof WalletPackage;
  /** what a browser wallet puts into a page */
  const ethereum: WalletPackage.Eip1193Provider;
  /** the browser wallet itself, outside of the page */
  function personalSign(text: unknown): Promise<string>;
}

const PAGE = `<!doctype html>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="default-src 'none'; script-src 'self'; connect-src http://127.0.0.1:*">
<script src="/wallet.js"></script>`;

const person = new Wallet(PRIVATE_KEY);
let browser: Browser | undefined;
let missing = '';
let world: HubWorld;
let explorer: ExplorerServer;
let site: Awaited<ReturnType<typeof openLocalServer>>;
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
  world = await HubWorld.open(inject('stack'));
  explorer = await openExplorer({ postgres_reader_url: world.postgres_reader_url });
  const script = await bundle();
  site = await openLocalServer(({ path }) =>
    path === '/wallet.js'
      ? { type: 'text/javascript', body: script }
      : { type: 'text/html', body: path === '/' ? PAGE : '' },
  );
  page = await (await openContext(browser)).newPage();
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    // the package asks for a transaction until it is there, and Chromium logs each 404
    const isAwaited = message.location().url.startsWith(`${explorer.url}/api/v1/transactions/`);
    if (!isAwaited) problems.push(`${message.text()} ${message.location().url}`);
  });
  await page.exposeFunction('personalSign', (text: string) => person.signMessage(getBytes(text)));
  await page.addInitScript((account) => {
    const provider: WalletPackage.Eip1193Provider = {
      request: async ({ method, params = [] }) =>
        method === 'personal_sign' ? personalSign(params[0]) : [account],
    };
    Object.assign(globalThis, { ethereum: provider });
  }, person.address);
  await page.goto(site.url);
});
afterAll(async () => {
  if (browser === undefined) return;
  await browser.close();
  await site[Symbol.asyncDispose]();
  await explorer.close();
  await world.close();
  expect(problems).toEqual([]);
});

beforeEach(({ skip }) => {
  if (missing !== '') skip(missing);
});

/** The package as a script that a page loads. */
async function bundle(): Promise<string> {
  const input = join(import.meta.dirname, '../../../../packages/wallet/src/index.ts');
  const bundled = await rolldown({ input, platform: 'browser' });
  const { output } = await bundled.generate({ format: 'iife', name: 'wallet', minify: true });
  await bundled.close();
  return output[0].code;
}

function hub(): WalletPackage.Hub {
  return { url: `${world.url}/graphql`, chainId: CHAIN_ID };
}

test('the page signs the vectors of the document', async () => {
  const signed = await page.evaluate(
    async ([privateKey, chainId, challenge, unsigned]) => {
      const signer = wallet.privateKeySigner(privateKey);
      return {
        challenge: await signer.signMessage(challenge),
        transactions: await Promise.all(
          unsigned.map((each) => wallet.signTransaction(chainId, each, signer)),
        ),
      };
    },
    [PRIVATE_KEY, CHAIN_ID, CHALLENGE, TRANSACTIONS.map(({ unsigned }) => unsigned)] as const,
  );
  const [raw] = SIGN_IN;
  expect(signed).toEqual({
    challenge: { r: raw?.r, s: raw?.s, v: raw?.v },
    transactions: TRANSACTIONS.map(({ unsigned: { nonce }, ...vector }) => ({
      from: ADDRESS,
      nonce,
      raw: vector.raw,
      hash: vector.hash,
    })),
  });
});

test('a browser wallet signs in from the page', async () => {
  const answer = await page.evaluate(async (target) => {
    const signer = await wallet.browserSigner(ethereum);
    const { token } = await wallet.signIn(target, signer);
    return wallet.ask(target, '{ accountBalance }', {}, token);
  }, hub());
  expect(answer).toEqual({ accountBalance: '0' });
});

test('with a key derived from the wallet the page asks for a ride and sees it included', async () => {
  const derived = await page.evaluate(async (target) => {
    const signer = await wallet.browserSigner(ethereum);
    const key = await wallet.derivePrivateKey(target.chainId, signer);
    return { key, account: wallet.privateKeySigner(key).address };
  }, hub());
  await world.fund(derived.account, 50_000_000n);
  const signed = await page.evaluate(
    async ([target, key]) => {
      const signer = wallet.privateKeySigner(key);
      const { token } = await wallet.signIn(target, signer);
      const field =
        'createUnsignedRideRequest(pickupLatitude: 1, pickupLongitude: 2, dropoffLatitude: 3, dropoffLongitude: 4, fare: "5")';
      const built = await wallet.ask(target, `mutation { unsigned: ${field} }`, {}, token);
      const transaction = await wallet.signTransaction(target.chainId, built['unsigned'], signer);
      await wallet.send(target, token, transaction);
      return transaction;
    },
    [hub(), derived.key] as const,
  );
  const asked = page.waitForResponse((response) =>
    response.url().startsWith(`${explorer.url}/api/v1/transactions/${signed.hash}?`),
  );
  const outcome = page.evaluate(
    ([url, transaction]) => wallet.waitForOutcome(url, transaction, { pollMs: 50 }),
    [explorer.url, signed] as const,
  );
  expect((await asked).status()).toBe(404);
  await world.block();
  expect(await outcome).toMatchObject({ outcome: 'included' });
  expect((await world.ask('{ listRideRequests { txHash } }')).data).toEqual({
    listRideRequests: [{ txHash: signed.hash }],
  });
});
