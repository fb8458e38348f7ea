/**
 * `npm run screenshots [-- --url URL] [NAME ...]`: every page of the console on the running local
 * stack, light and dark, phone and desktop, in `.local/screenshots`; those of the README in
 * `docs/screenshots`; and the series of `screenshot-series.ts`, which only a devnet of this machine
 * can make. With names only those pages and series. The operations page is that of an `ops console`
 * of its own, for which a local stack has a key.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { takeSeries, type DevnetStack } from './screenshot-series.ts';
import { openChromium, openContext } from './support/chromium.ts';

const ROOT = join(import.meta.dirname, '..');
const ALL = join(ROOT, '.local/screenshots');
const README = join(ROOT, 'docs/screenshots');
const SIZES = {
  phone: { width: 390, height: 844 },
  desktop: { width: 1_280, height: 860 },
} as const;
const SCHEMES = ['light', 'dark'] as const;
/** Page and scheme; of a phone, whose texts can be read side by side in the README. */
const IN_README: readonly (readonly [string, (typeof SCHEMES)[number]])[] = [
  ['chain', 'light'],
  ['market', 'dark'],
  ['reserve', 'light'],
];
const WEBP_QUALITY = 80;

interface Items {
  readonly items: readonly Readonly<Record<string, unknown>>[];
}

interface LocalStack extends DevnetStack {
  readonly operator_key: string;
}

const { values, positionals: wanted } = parseArgs({
  options: { url: { type: 'string' } },
  allowPositionals: true,
});
const local = values.url === undefined ? localStack() : undefined;
const url = local?.explorer_url ?? values.url ?? '';
const isWanted = (name: string): boolean => wanted.length === 0 || wanted.includes(name);

function localStack(): LocalStack {
  const file = join(ROOT, '.local/stack.json');
  try {
    const read: LocalStack = JSON.parse(readFileSync(file, 'utf8'));
    return read;
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
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

interface Shown {
  readonly name: string;
  readonly url: string;
  /** what a person does before the picture */
  readonly act?: (page: Page) => Promise<void>;
}

/** The pages of the console, as far as the chain has something for them. */
async function pages(): Promise<readonly Shown[]> {
  const [payment, account, trip, run, block] = await Promise.all([
    newest('transactions?type=RidePay&limit=1', 'hash'),
    newest('transactions?type=RidePay&limit=1', 'from'),
    newest('transactions?type=RideAcceptance&limit=1', 'hash'),
    newest('reserve/runs?limit=1', 'run_id'),
    newest('transactions?limit=1', 'block_height'),
  ]);
  const paths: readonly (readonly [string, string, string | undefined])[] = [
    ['chain', '/', ''],
    ['block', '/blocks/', block],
    ['transactions', '/transactions', ''],
    ['transaction', '/transactions/', payment],
    ['account', '/accounts/', account],
    ['validators', '/validators?span=24h', ''],
    ['charts', '/charts?span=24h', ''],
    ['reserve', '/reserve', ''],
    ['run', '/reserve/', run],
    ['ride', '/market/trips/', trip],
    ['sign-in', '/deposits', ''],
  ];
  return [
    ...paths.flatMap(([name, path, id]) =>
      id === undefined ? [] : [{ name, url: `${url}${path}${encodeURIComponent(id)}` }],
    ),
    {
      name: 'market',
      url: `${url}/market`,
      act: (page) => page.locator('.map[data-drawn]').waitFor(),
    },
    {
      name: 'deposits',
      url: `${url}/deposits`,
      act: async (page) => {
        await page.getByRole('button', { name: 'Throw-away key' }).click();
        await page.locator('.qr').waitFor();
      },
    },
  ];
}

function operationsPages(operations: string, key: string): readonly Shown[] {
  const signedIn = (heading: string, path: string) => async (page: Page) => {
    await page.locator('input[name=key]').fill(key);
    await page.locator('form:has(input[name=key]) button').click();
    await page.locator('nav').waitFor();
    await page.evaluate((to) => void (location.hash = to), path);
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
  };
  return [
    { name: 'operations-sign-in', url: operations },
    { name: 'operations', url: operations, act: signedIn('Overview', '/') },
    { name: 'operations-deposits', url: operations, act: signedIn('Deposits', '/deposits') },
    { name: 'operations-records', url: operations, act: signedIn('Records', '/records') },
  ];
}

/** Returns once nothing is loading any more, and it is known what is final. */
async function show(page: Page, shown: Shown): Promise<void> {
  // a page of a session keeps it in its memory
  await page.goto('about:blank');
  await page.goto(shown.url);
  await page.locator('h1').first().waitFor();
  await shown.act?.(page);
  await page.waitForFunction(
    () =>
      ![...document.querySelectorAll('.nothing')].some(({ textContent }) =>
        /^(Loading|The topic is being read)/.test(textContent),
      ) && !document.body.innerText.includes('not known yet'),
  );
}

async function webp(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', {
    format: 'webp',
    quality: WEBP_QUALITY,
    clip: { x: 0, y: 0, ...SIZES.phone, scale: 2 },
  });
  return Buffer.from(data, 'base64');
}

async function take(browser: Browser, all: readonly Shown[]): Promise<number> {
  let taken = 0;
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const colorScheme of SCHEMES) {
      const options = {
        viewport,
        colorScheme,
        reducedMotion: 'reduce',
      } as const;
      const context = await openContext(browser, options);
      const page = await context.newPage();
      for (const shown of all) {
        const { name } = shown;
        await show(page, shown);
        const file = join(ALL, `${name}-${colorScheme}-${size}.png`);
        await page.screenshot({ path: file, fullPage: true });
        taken++;
        process.stdout.write(`  ${name}-${colorScheme}-${size}\n`);
        const isInReadme = IN_README.some(([of, scheme]) => of === name && scheme === colorScheme);
        if (isInReadme && size === 'phone')
          writeFileSync(join(README, `${name}.webp`), await webp(page));
      }
      await context.close();
    }
  }
  return taken;
}

interface Operations {
  readonly pages: readonly Shown[];
  stop(): void;
}

/** The pages of an `ops console`; none of another stack than the local one. */
async function openOperations(stack: LocalStack | undefined): Promise<Operations> {
  if (stack === undefined) return { pages: [], stop: () => undefined };
  const ops = spawn('services/ops/ops', ['console', '--port', '0', '--json'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(ops.stdout, 'data');
  const answer: { readonly url: string } = JSON.parse(String(line));
  return { pages: operationsPages(answer.url, stack.operator_key), stop: () => void ops.kill() };
}

mkdirSync(ALL, { recursive: true });
mkdirSync(README, { recursive: true });
const browser = await openChromium();
if ('missing' in browser) fail(browser.missing);
const operations = await openOperations(local);
try {
  const all = [...(await pages()), ...operations.pages].filter(({ name }) => isWanted(name));
  const taken = await take(browser, all);
  if (local !== undefined) await takeSeries(browser, local, join(ALL, 'series'), isWanted);
  process.stdout.write(
    `${taken} screenshots are in ${ALL}, series in ${join(ALL, 'series')}, those of the README in ${README}\n`,
  );
} finally {
  operations.stop();
  await browser.close();
}
