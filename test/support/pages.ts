/** Pages in Chromium: built for a test, watched for problems, and tried by the rules of WCAG. */
import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as Axe from 'axe-core';
import type { Page } from 'playwright-core';
import { build } from 'vite';

const CONFIGS = join(import.meta.dirname, '../../services/console');
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const AA = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'];

/** Builds the pages of the console, or of `ops console`, into a folder that the caller removes. */
export async function buildPages(config: 'vite' | 'operations'): Promise<string> {
  const outDir = await mkdtemp(join(tmpdir(), 'clt-console-'));
  const configFile = join(CONFIGS, `${config}.config.ts`);
  await build({ configFile, logLevel: 'error', build: { outDir } });
  return outDir;
}

/** From now on the page's errors, and what it asks of others, are added to `problems`. */
export function watchPage(page: Page, problems: string[], isOurs: (url: string) => boolean): void {
  page.on('pageerror', ({ message }) => problems.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('request', (request) => {
    if (!isOurs(request.url())) problems.push(`asks ${request.url()}`);
  });
}

/** Ids of the rules of WCAG 2.1 AA that the page breaks, with the first element. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async (rules) => {
    // the script has left it there
    const axe: typeof Axe = Reflect.get(window, 'axe');
    // what a page does right would take as long again to be described
    const { violations: found } = await axe.run({ runOnly: rules, resultTypes: ['violations'] });
    return found.map(({ id, nodes: [first] }) => `${id}: ${first?.html ?? ''}`);
  }, AA);
}
