/** The console in Chromium, on the ports that the gateways publish. */
import { expect, test } from 'vitest';
import { openChromium, openContext } from '../support/chromium.ts';
import { watchPage } from '../support/pages.ts';
import { composed } from './composed.ts';

test('the console shows blocks, market and deposits without an error in the browser', async (context) => {
  const system = composed(context);
  const browser = await openChromium();
  if ('missing' in browser) return context.skip(browser.missing);
  try {
    const page = await (await openContext(browser)).newPage();
    const problems: string[] = [];
    const ours = (['explorer', 'hub', 'deposit'] as const).map((name) => system.url(name, '/'));
    watchPage(page, problems, (url) => ours.some((start) => url.startsWith(start)));
    await page.goto(system.url('explorer', '/'));
    await expect.poll(() => page.locator('.block strong').count()).toBeGreaterThan(2);
    for (const [path, asked] of [
      ['/market', 'Open requests'],
      ['/deposits', 'What would arrive'],
    ] as const) {
      await page.goto(system.url('explorer', path));
      const text = (): Promise<string> => page.locator('body').innerText();
      await expect.poll(text).toContain(asked);
      await expect.poll(text).not.toContain('does not answer');
    }
    expect(problems).toEqual([]);
  } finally {
    await browser.close();
  }
});
