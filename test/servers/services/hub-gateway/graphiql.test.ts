/** GraphiQL in Chromium, on the hub and its content security policy. */
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import type { Browser } from 'playwright-core';
import { openChromium, openContext } from '../../../support/chromium.ts';
import { watchPage } from '../../../support/pages.ts';
import { HubWorld } from '../../../services/hub-gateway/hub-world.ts';

let browser: Browser;
let missing = '';
let hub: HubWorld;

beforeAll(async () => {
  const opened = await openChromium();
  if ('missing' in opened) {
    ({ missing } = opened);
    return;
  }
  browser = opened;
  hub = await HubWorld.open(inject('stack'));
});
afterAll(async () => {
  if (missing !== '') return;
  await browser.close();
  await hub.close();
});
beforeEach(({ skip }) => {
  if (missing !== '') skip(missing);
});

test.each(['light', 'dark'] as const)(
  'GraphiQL has the colours of the console in %s, the schema beside it, and a way back',
  async (colorScheme) => {
    await using context = await openContext(browser, { colorScheme });
    const page = await context.newPage();
    const problems: string[] = [];
    watchPage(page, problems, (url) => url.startsWith(hub.url) || url.startsWith('blob:'));
    await page.goto(`${hub.url}/graphql`);
    expect(await page.title()).toBe('CLT hub: GraphQL');
    const documents = page.getByRole('region', { name: 'Documentation Explorer' });
    await expect.poll(() => documents.innerText()).toContain('AvailableRideRequest');
    await page.locator('.graphiql-execute-button').waitFor();
    const [own, ours] = await page.evaluate(() => {
      const button = document.querySelector('.graphiql-execute-button') ?? document.body;
      const link = document.querySelector('header a') ?? document.body;
      return [getComputedStyle(button).backgroundColor, getComputedStyle(link).color].map((text) =>
        (text.match(/[\d.]+/g) ?? []).map(Number),
      );
    });
    expect(own).toHaveLength(3);
    // hue and lightness have one decimal
    for (const [at, value] of (own ?? []).entries())
      expect(Math.abs(value - (ours?.[at] ?? 0))).toBeLessThan(2);
    await page.getByRole('link', { name: 'CLT: start page' }).click();
    await expect.poll(() => new URL(page.url()).pathname).toBe('/');
    expect(problems).toEqual([]);
  },
);
