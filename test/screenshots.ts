/**
 * `npm run screenshots [-- --url URL]`: every page of the console on the running local stack, light
 * and dark, phone and desktop, in `.local/screenshots`; those of the README in `docs/screenshots`.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { openChromium } from './support/chromium.ts';

const ROOT = join(import.meta.dirname, '..');
const ALL = join(ROOT, '.local/screenshots');
const README = join(ROOT, 'docs/screenshots');
const SIZES = {
  phone: { width: 390, height: 844 },
  desktop: { width: 1_280, height: 860 },
} as const;
const SCHEMES = ['light', 'dark'] as const;
/** Page and scheme; at the size of a desktop. */
const IN_README: readonly (readonly [string, (typeof SCHEMES)[number]])[] = [
  ['chain', 'light'],
  ['account', 'dark'],
  ['reserve', 'light'],
];
const WEBP_QUALITY = 80;
const SHOWN_MS = 20_000;

interface Items {
  readonly items: readonly Readonly<Record<string, unknown>>[];
}

const { values } = parseArgs({ options: { url: { type: 'string' } } });
const url = values.url ?? explorerOfStack();

function explorerOfStack(): string {
  const file = join(ROOT, '.local/stack.json');
  try {
    const stack: { readonly explorer_url: string } = JSON.parse(readFileSync(file, 'utf8'));
    return stack.explorer_url;
  } catch {
    return fail(`${file} cannot be read: run "npm run up" first, or give --url`);
  }
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

/** A field of the newest item of a list; undefined: the list is empty. */
async function newest(list: string, field: string): Promise<string | undefined> {
  const response = await fetch(`${url}/api/v1/${list}`);
  const { items }: Items = JSON.parse(await response.text());
  const value = items[0]?.[field];
  return typeof value === 'string' ? value : undefined;
}

/** Name and address of each page. */
async function pages(): Promise<readonly (readonly [string, string])[]> {
  const [payment, account, ride, run] = await Promise.all([
    newest('transactions?type=RidePay&limit=1', 'hash'),
    newest('transactions?type=RidePay&limit=1', 'to'),
    newest('transactions?type=RideAcceptance&limit=1', 'hash'),
    newest('reserve/runs?limit=1', 'run_id'),
  ]);
  return [
    ['chain', '/'],
    ['block', '/blocks/1'],
    ['transactions', '/transactions'],
    ['validators', '/validators'],
    ['charts', '/charts'],
    ['reserve', '/reserve'],
    ['market', '/market'],
    ['deposits', '/deposits'],
    ...(payment === undefined ? [] : [['transaction', `/transactions/${payment}`] as const]),
    ...(account === undefined ? [] : [['account', `/accounts/${account}`] as const]),
    ...(ride === undefined ? [] : [['ride', `/market/trips/${ride}`] as const]),
    ...(run === undefined ? [] : [['run', `/reserve/${encodeURIComponent(run)}`] as const]),
  ];
}

/** Returns once nothing is loading any more. */
async function show(page: Page, path: string): Promise<void> {
  await page.goto(url + path);
  await page.locator('h1').first().waitFor({ timeout: SHOWN_MS });
  await page.waitForFunction(
    () =>
      [...document.querySelectorAll('[role=status]')].every(
        ({ textContent }) => !textContent.startsWith('Loading'),
      ),
    undefined,
    { timeout: SHOWN_MS },
  );
}

async function webp(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', {
    format: 'webp',
    quality: WEBP_QUALITY,
  });
  return Buffer.from(data, 'base64');
}

async function take(browser: Browser): Promise<number> {
  const shown = await pages();
  let taken = 0;
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const colorScheme of SCHEMES) {
      const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' });
      const page = await context.newPage();
      for (const [name, path] of shown) {
        await show(page, path);
        const file = join(ALL, `${name}-${colorScheme}-${size}.png`);
        await page.screenshot({ path: file, fullPage: true });
        taken++;
        const isWanted = IN_README.some(([of, scheme]) => of === name && scheme === colorScheme);
        if (isWanted && size === 'desktop')
          writeFileSync(join(README, `${name}.webp`), await webp(page));
      }
      await context.close();
    }
  }
  return taken;
}

mkdirSync(ALL, { recursive: true });
mkdirSync(README, { recursive: true });
const browser = await openChromium();
if ('missing' in browser) fail(browser.missing);
const taken = await take(browser);
await browser.close();
process.stdout.write(`${taken} screenshots are in ${ALL}, those of the README in ${README}\n`);
