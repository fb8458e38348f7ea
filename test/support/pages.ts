/** Pages in Chromium: built for a test, watched for problems, and tried by the rules of WCAG. */
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as Axe from 'axe-core';
import type { Page } from 'playwright-core';
import { build } from 'vite';

const CONFIGS = join(import.meta.dirname, '../../services/console');
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const AA = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'];
/** Those of AA that colours decide. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];

type Config = 'vite' | 'operations';
type Mode = 'production' | 'development';

/** The folder of `builtPages` in all workers of a run; the end of the run removes it. */
export function pagesOfRun(pid: number): string {
  return join(tmpdir(), `clt-pages-${pid}`);
}

const built = new Map<string, Promise<string>>();

/** As `buildPages`, once for all files of a worker, which leave the folder as it is. */
export function builtPages(config: Config, mode: Mode = 'production'): Promise<string> {
  const folder = pagesOfRun(process.ppid);
  const key = `${config} ${mode}`;
  return built.getOrInsertComputed(key, () =>
    buildPages(config, mode, folder).catch((error: unknown) => {
      built.delete(key);
      throw error;
    }),
  );
}

/**
 * Builds the pages of the console, or of `ops console`, into a new folder. As `production` they are
 * those that people see. As `development` React checks itself: it logs keys that are missing and
 * the like as errors, and takes three times as long for a look at the services.
 */
export async function buildPages(
  config: Config,
  mode: Mode = 'production',
  within = tmpdir(),
): Promise<string> {
  await mkdir(within, { recursive: true });
  const outDir = await mkdtemp(join(within, 'clt-console-'));
  const configFile = join(CONFIGS, `${config}.config.ts`);
  // Vite takes it from nowhere else, and a test has a value of its own there
  const { NODE_ENV } = process.env;
  process.env['NODE_ENV'] = mode;
  try {
    await build({ configFile, mode, logLevel: 'error', build: { outDir } });
  } finally {
    if (NODE_ENV === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = NODE_ENV;
  }
  return outDir;
}

const BUSY = /^Failed to load resource: the server responded with a status of 503 /;

/** From now on the page's errors, and what it asks of others, are added to `problems`. */
export function watchPage(page: Page, problems: string[], isOurs: (url: string) => boolean): void {
  page.on('pageerror', ({ message }) => problems.push(message));
  page.on('console', (message) => {
    // on a busy machine a gateway may refuse for a while, and the page asks again
    if (message.type() === 'error' && !BUSY.test(message.text())) problems.push(message.text());
  });
  page.on('request', (request) => {
    if (!isOurs(request.url())) problems.push(`asks ${request.url()}`);
  });
}

/** Ids of the rules of WCAG 2.1 AA that the page breaks, with the first element. */
export async function violationsOf(
  page: Page,
  rules: readonly string[] = AA,
): Promise<readonly string[]> {
  // half a megabyte, which stays until the page is left
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  return page.evaluate(
    async (runOnly) => {
      // the script has left it there
      const axe: typeof Axe = Reflect.get(window, 'axe');
      // what a page does right would take as long again to be described
      const { violations: found } = await axe.run({ runOnly, resultTypes: ['violations'] });
      return found.map(({ id, nodes: [first] }) => `${id}: ${first?.html ?? ''}`);
    },
    [...rules],
  );
}

/** The same in light, and in dark where colours decide; the page stays in light. */
export async function violationsOfBothSchemes(page: Page): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  const dark = await violationsOf(page, OF_COLOURS);
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  const light = await violationsOf(page);
  return [...dark.map((each) => `dark: ${each}`), ...light];
}

/** Sizes of the window. */
export const PHONE = { width: 360, height: 740 };
export const DESKTOP = { width: 1_280, height: 800 };

/** The width of the page's content in pixels of CSS. */
export function widthOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth);
}
