/** The Chromium of this machine, for tests in a browser. */
import { chromium, type Browser, type BrowserContext } from 'playwright-core';
import { systemProgram } from './system-program.ts';
import { HANG_MS } from './limits.ts';

const NAMES = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The most that the first load of a page may have. */
export const SCRIPT_BYTES_MAX = 250_000;

/** Opens Chromium; the result may say why there is none. */
export async function openChromium(): Promise<Browser | { readonly missing: string }> {
  const executablePath = await systemProgram(NAMES, 'chromium');
  if (executablePath === undefined)
    return { missing: 'there is no Chromium on this machine: install the package chromium' };
  try {
    return await chromium.launch({
      executablePath,
      timeout: HANG_MS,
      // maps are drawn without a graphics card
      args: ['--enable-unsafe-swiftshader'],
    });
  } catch (error) {
    const [reason = ''] = String(error).split('\n', 1);
    return { missing: `${executablePath} does not start: ${reason}` };
  }
}

/** A context whose pages wait without regard to the speed of the machine. */
export async function openContext(
  browser: Browser,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(HANG_MS);
  return context;
}

/** Bytes of script, as they are sent, until a page has this heading; nothing is cached before. */
export async function firstScriptBytes(
  browser: Browser,
  url: string,
  heading: string,
): Promise<number> {
  await using context = await openContext(browser);
  const page = await context.newPage();
  const scripts: Promise<{ readonly responseBodySize: number }>[] = [];
  page.on('requestfinished', (request) => {
    if (request.resourceType() === 'script') scripts.push(request.sizes());
  });
  await page.goto(url);
  await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
  const sizes = await Promise.all(scripts);
  return sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
}
