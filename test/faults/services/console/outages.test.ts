/** The console in Chromium while the services, Redis and Kafka are away. */
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TEXT } from '../../../../services/console/src/text.ts';
import {
  startWholeSystem,
  type WholeSystem,
} from '../../../servers/services/treasury/whole-system.ts';
import { openSystemConsole, type SystemConsole } from '../../../services/console/system-console.ts';
import { openChromium } from '../../../support/chromium.ts';

const USD = 1_000_000n;

let system: WholeSystem;
/** Undefined where there is no Chromium. */
let pages: SystemConsole | undefined;

/** Changes a read model behind its projector's back. */
async function change(statement: string, values: readonly string[]): Promise<void> {
  const writer = new Client({ connectionString: system.stack.addresses.postgres_url });
  await writer.connect();
  await writer.query(statement, [...values]);
  await writer.end();
}

/** A person who has signed in, and whose first deposit is credited. */
beforeAll(async () => {
  const browser = await openChromium();
  if ('missing' in browser) {
    process.stderr.write(`tests in a browser are skipped: ${browser.missing}\n`);
    return;
  }
  system = await startWholeSystem();
  await system.start();
  await system.startHub();
  pages = await openSystemConsole(system.stack, browser);
  const { page, show } = pages;
  await show('/deposits');
  await page.getByRole('button', { name: TEXT.signIn.key }).click();
  await system.pay(await page.locator('.deposit-address .hash').innerText(), 10n * USD);
});
afterAll(async () => {
  await pages?.close();
  await system?.stack.stop();
});

const PROJECTORS = {
  'projector-explorer': TEXT.health.parts.explorer,
  'projector-ride-market': TEXT.health.parts.ride_market,
  'projector-series': TEXT.health.parts.series,
  'projector-reserve': TEXT.health.parts.reserve,
  'projector-deposits': TEXT.health.parts.deposits,
  'projector-watch': TEXT.health.parts.watch,
};

test('the console names the services that are killed, shows what it has, and goes on when they are back', async ({
  skip,
}) => {
  if (pages === undefined) return skip('there is no Chromium');
  const { page, show, faults, health } = pages;
  const text = (): Promise<string> => page.locator('main').innerText();
  const statuses = (): Promise<readonly string[]> => page.locator('summary .tag').allInnerTexts();
  const { statuses: words } = TEXT.deposits;
  await show('/deposits');
  const address = page.locator('.deposit-address .hash');
  await expect.poll(statuses).toEqual([words.credited]);
  await expect.poll(health).toBe('');

  const { 'projector-watch': search, ...others } = PROJECTORS;
  for (const service of Object.keys(others)) await system.end(service);
  await system.pay(await address.innerText(), 20n * USD);
  for (const part of Object.values(others)) await expect.poll(health).toContain(part);
  await system.end('projector-watch');
  await expect.poll(health).toContain(search);
  for (const service of ['tron-watcher', 'treasury', 'chain-ingester']) await system.end(service);
  expect(await statuses()).toEqual([words.credited]);
  for (const name of [TEXT.nav.chain, TEXT.nav.market, TEXT.nav.charts, TEXT.nav.reserve]) {
    await page.locator('.bar').getByRole('link', { name, exact: true }).click();
    await expect.poll(() => page.locator('h1').first().innerText()).toBe(name);
    await expect.poll(text).not.toContain(TEXT.states.loading);
  }
  await expect.poll(text).toContain('the treasury cannot be reached');
  await page.locator('.bar').getByRole('link', { name: TEXT.nav.deposits }).click();
  for (const [service, part] of Object.entries(PROJECTORS)) {
    await system.begin(service);
    await expect.poll(health).not.toContain(part);
  }
  await expect.poll(health).toContain(TEXT.health.parts.blocks);
  await expect.poll(text).toContain(TEXT.deposits.noTreasury);
  // instead of a wait of two minutes; the address was opened again 20 s ago
  await expect
    .poll(async () => {
      await change('UPDATE watch.queue SET checked_at = 1, due_at = $1', [
        String(Date.now() - 20_000),
      ]);
      return text();
    })
    .toContain(TEXT.deposits.overdue);
  for (const service of ['chain-ingester', 'treasury', 'tron-watcher']) await system.begin(service);
  await expect.poll(health).toBe('');
  await expect.poll(text).not.toContain(TEXT.deposits.noTreasury);
  await expect.poll(text).not.toContain(TEXT.deposits.overdue);
  await expect.poll(statuses).toEqual([words.credited, words.credited]);
  expect(faults()).toEqual([]);
});

test('the console goes on without Redis, says that Kafka is away, and needs no reload after either', async ({
  skip,
}) => {
  if (pages === undefined) return skip('there is no Chromium');
  const { page, show, faults, health } = pages;
  const { redis, kafka } = system.stack.servers;
  const newest = async (): Promise<number> =>
    Number((await page.locator('.block strong').first().innerText()).replaceAll(',', ''));
  const goesOn = async (): Promise<void> => {
    const before = await newest();
    await expect.poll(newest).toBeGreaterThan(before);
  };
  await show('/');
  await page.locator('.block').first().waitFor();
  await redis.kill();
  await goesOn();
  await expect.poll(health).toBe('');
  await redis.start();
  await kafka.kill();
  await expect.poll(health).toContain(TEXT.health.noLog);
  const shown = await newest();
  expect(shown).toBeGreaterThan(0);
  await kafka.start();
  await expect.poll(health).toBe('');
  await goesOn();
  await page.locator('.bar').getByRole('link', { name: TEXT.nav.deposits }).click();
  const address = page.locator('.deposit-address .hash');
  await system.pay(await address.innerText(), 30n * USD);
  const { credited } = TEXT.deposits.statuses;
  await expect
    .poll(() => page.locator('summary .tag').allInnerTexts())
    .toEqual([credited, credited, credited]);
  expect(faults()).toEqual([]);
});
