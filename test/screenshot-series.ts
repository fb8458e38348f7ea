/**
 * Series of pictures for `npm run screenshots`: pages that stay open while something happens to
 * chain and money, which the devnet's operator and two people of this file let happen.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import {
  ask,
  privateKeySigner,
  randomPrivateKey,
  send,
  signIn,
  signTransaction,
  waitForOutcome,
  type Signer,
} from '../packages/wallet/src/index.ts';
import { RUN_WORDS } from '../schemas/explorer-api/words.ts';
import { TEXT } from '../services/console/src/text.ts';
import { openContext } from './support/chromium.ts';
import { until } from './support/until.ts';

const WIDTHS = [390, 1_440];
const HEIGHT = 900;
const SCHEMES = ['light', 'dark'] as const;

/** The fields of a local stack's `stack.json` that series need. */
export interface DevnetStack {
  readonly explorer_url: string;
  readonly hub_url: string;
  /** of the devnet's operator */
  readonly devnet_url: string;
  readonly chain_id: number;
  /** separated by commas */
  readonly custody_addresses: string;
}

type Answer = Readonly<Record<string, unknown>>;

class Series {
  readonly stack: DevnetStack;
  readonly #context: BrowserContext;
  readonly #folder: string;
  #moments = 0;

  constructor(stack: DevnetStack, context: BrowserContext, folder: string) {
    this.stack = stack;
    this.#context = context;
    this.#folder = folder;
  }

  /** Opens a page that stays open; nothing in it is loading any more. */
  async open(path: string): Promise<Page> {
    const page = await this.#context.newPage();
    await page.goto(this.stack.explorer_url + path);
    await page.locator('h1').first().waitFor();
    await settled(page);
    return page;
  }

  /** Opens a page of the market, of which the map is drawn. */
  async openMap(path: string): Promise<Page> {
    const page = await this.open(path);
    await page.locator('.map[data-drawn]').waitFor();
    return page;
  }

  /** Takes these pages as they are now, in each width and scheme. */
  async take(moment: string, pages: Readonly<Record<string, Page>>): Promise<void> {
    const number = ++this.#moments;
    for (const [name, page] of Object.entries(pages)) {
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: HEIGHT });
        for (const colorScheme of SCHEMES) {
          await page.emulateMedia({ colorScheme });
          const file = `${number}-${moment}-${name}-${colorScheme}-${width}.png`;
          await page.screenshot({ path: join(this.#folder, file), fullPage: true });
        }
      }
      process.stdout.write(`  ${number} ${moment}: ${name}\n`);
    }
  }

  /** Asks the devnet's operator; throws where it refuses. */
  async admin(path: string, body?: object, method = 'POST'): Promise<Answer> {
    const response = await fetch(`${this.stack.devnet_url}/admin${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return Object(JSON.parse(text));
  }

  async explorer(path: string): Promise<Answer> {
    const response = await fetch(`${this.stack.explorer_url}/api/v1/${path}`);
    return Object(await response.json());
  }

  blocks(enabled: boolean): Promise<Answer> {
    return this.admin('/clt/auto', { enabled });
  }
}

async function settled(page: Page): Promise<void> {
  await page.waitForFunction(
    () =>
      ![...document.querySelectorAll('.nothing')].some(({ textContent }) =>
        /^(Loading|The topic is being read)/.test(textContent),
      ) && !document.body.innerText.includes('not known yet'),
  );
}

/** Waits until the page shows what the explorer says now. */
async function asked(page: Page, path: string): Promise<void> {
  await page.waitForResponse((response) => response.url().includes(path));
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
}

const SOMEBODY = `0x${'5e'.repeat(20)}`;
const USD = 1_000_000n;

async function reorganisation(series: Series): Promise<void> {
  await series.blocks(false);
  const paid = await series.admin('/clt/fund', { to: SOMEBODY, amount: String(12n * USD) });
  const hash = String(paid['transaction_hash']);
  const { height } = await series.admin('/clt/block');
  await series.admin('/clt/block');
  await until(
    async () => (await series.explorer('status'))['indexed'],
    'the explorer to have both blocks',
    (indexed) => Object(indexed).height === Number(height) + 1,
  );
  const pages = {
    home: await series.open('/'),
    block: await series.open(`/blocks/${String(height)}`),
    transaction: await series.open(`/transactions/${hash}`),
  };
  await pages.home.locator('.strip .block').first().waitFor();
  await series.take('before', pages);
  await series.admin('/clt/reorg', { depth: 2 });
  await pages.home.locator('.orphan').first().waitFor();
  await pages.block.locator('main .note').first().waitFor();
  await asked(pages.transaction, `transactions/${hash}`);
  await series.take('replaced', pages);
  await series.blocks(true);
  await until(
    async () => (await series.explorer('status'))['indexed'],
    'the block to be final',
    (indexed) => Object(indexed).finalized_height >= Number(height),
  );
  await asked(pages.transaction, `transactions/${hash}`);
  await series.take('final', pages);
}

async function credit(series: Series): Promise<void> {
  const { statuses } = TEXT.deposits;
  const page = await series.open('/deposits');
  await page.getByRole('button', { name: 'Throw-away key' }).click();
  await page.locator('.qr').waitFor();
  await settled(page);
  await series.take('address', { deposits: page });
  const [to] = /T[1-9A-HJ-NP-Za-km-z]{33}/.exec(await page.locator('main').innerText()) ?? [];
  await series.admin('/tron/transfers', { to, value: String(10n * USD), solidified: false });
  await asked(page, '/deposits');
  await series.take('paid', { deposits: page });
  await series.admin('/tron/solidify');
  await page.locator('main').getByText(statuses.mint_requested, { exact: true }).first().waitFor();
  // before its block is final
  await series.blocks(false);
  await series.take('minting', { deposits: page });
  await series.blocks(true);
  await page.locator('main').getByText(statuses.credited, { exact: true }).first().waitFor();
  await series.take('credited', { deposits: page });
  await series.admin('/tron/transfers', { to, value: String(USD), solidified: true });
  await page.locator('main').getByText(statuses.needs_manual, { exact: true }).first().waitFor();
  await series.take('waits-for-a-person', { deposits: page });
}

/** Somebody who signs at the hub. */
class Person {
  readonly signer: Signer = privateKeySigner(randomPrivateKey());
  readonly #stack: DevnetStack;
  #token = '';

  constructor(stack: DevnetStack) {
    this.#stack = stack;
  }

  /** Has the hub build this, signs and sends it; its hash, once the explorer shows it. */
  async does(field: string): Promise<string> {
    const { explorer_url, hub_url: url, chain_id: chainId } = this.#stack;
    const hub = { url, chainId };
    if (this.#token === '') this.#token = (await signIn(hub, this.signer)).token;
    const [unsigned] = Object.values(await ask(hub, `mutation { ${field} }`, {}, this.#token));
    const signed = await signTransaction(chainId, unsigned, this.signer);
    await send(hub, this.#token, signed);
    await waitForOutcome(explorer_url, signed);
    return signed.hash;
  }
}

async function journey(series: Series): Promise<void> {
  const [rider, driver] = [new Person(series.stack), new Person(series.stack)];
  for (const { signer } of [rider, driver]) {
    await series.admin('/clt/fund', { to: signer.address, amount: String(100n * USD) });
    await until(
      () => series.explorer(`accounts/${signer.address}`),
      'the account to have its CLT',
      ({ balance }) => balance !== undefined,
    );
  }
  const request = await rider.does(
    'createUnsignedRideRequest(pickupLatitude: 52.52, pickupLongitude: 13.4, dropoffLatitude: 52.48, dropoffLongitude: 13.45, fare: "12500000")',
  );
  const market = await series.openMap(`/market?ride=${request}`);
  const story = await series.open(`/market/trips/${request}`);
  await series.take('request', { market, ride: story });
  const offer = await driver.does(
    `createUnsignedRideOffer(rideRequestTransactionHash: "${request}", fare: "12000000")`,
  );
  const trip = await rider.does(
    `createUnsignedRideAcceptance(rideOfferTransactionHash: "${offer}")`,
  );
  await story.goto(`${series.stack.explorer_url}/market/trips/${trip}`);
  await story.getByText(TEXT.ride.statuses.active, { exact: true }).first().waitFor();
  await market.goto(`${series.stack.explorer_url}/market?ride=${trip}`);
  await market.locator('.map[data-drawn]').waitFor();
  await series.take('trip', { market, ride: story });
  const pay = (fare: bigint): Promise<string> =>
    rider.does(`createUnsignedRidePay(rideAcceptanceTransactionHash: "${trip}", fare: "${fare}")`);
  await pay(5n * USD);
  await story.locator('main', { hasText: '7.00' }).waitFor();
  await series.take('part-paid', { ride: story });
  const payment = await pay(7n * USD);
  await story.getByText(TEXT.ride.statuses.completed, { exact: true }).first().waitFor();
  const transaction = await series.open(`/transactions/${payment}`);
  await series.take('paid', { ride: story, transaction });
}

async function drift(series: Series): Promise<void> {
  const [custody] = series.stack.custody_addresses.split(',');
  const value = String(5n * USD);
  const newest = async (): Promise<Answer> => {
    const { items } = await series.explorer('reserve/runs?limit=1');
    return Object(Array.isArray(items) ? items[0] : undefined);
  };
  const reaches = (status: string): Promise<void> =>
    until(newest, `a run that says ${status}`, (run) => run['status'] === status);
  const { holder } = await series.admin('/tron', undefined, 'GET');
  await reaches('ok');
  await series.take('covered', { reserve: await series.open('/reserve') });
  await series.admin('/tron/transfers', { to: custody, value });
  await reaches('over_backed_drift');
  const pages = {
    reserve: await series.open('/reserve'),
    run: await series.open(`/reserve/${String((await newest())['run_id'])}`),
    home: await series.open('/'),
    wall: await series.open('/?wall'),
  };
  for (const page of Object.values(pages))
    await page.locator('main').getByText(RUN_WORDS.over_backed_drift).first().waitFor();
  await series.take('drift', pages);
  // the books are as before
  await series.admin('/tron/transfers', { from: custody, to: holder, value });
  await reaches('ok');
}

const SERIES: Readonly<Record<string, (series: Series) => Promise<void>>> = {
  reorganisation,
  credit,
  journey,
  drift,
};

/** Makes those series that are wanted, each in a folder of its own name below this one. */
export async function takeSeries(
  browser: Browser,
  stack: DevnetStack,
  below: string,
  isWanted: (name: string) => boolean,
): Promise<void> {
  for (const [name, happen] of Object.entries(SERIES)) {
    if (!isWanted(name)) continue;
    process.stdout.write(`series ${name}\n`);
    const folder = join(below, name);
    mkdirSync(folder, { recursive: true });
    const context = await openContext(browser, { reducedMotion: 'reduce' });
    const series = new Series(stack, context, folder);
    try {
      await happen(series);
    } finally {
      await series.blocks(true);
      await context.close();
    }
  }
}
