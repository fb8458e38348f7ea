/**
 * The way of a deposit as its user sees it: from TRON's block with the transfer until the page of
 * the user shows it, and from there until the page shows it as credited. The whole system runs with
 * its own settings, and each deposit is that of a new user in Chromium.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { TEXT } from '../../services/console/src/text.ts';
import { Installation } from '../faults/installation.ts';
import { openChromium, openContext } from '../support/chromium.ts';
import { say, type Bench } from './bench.ts';
import type { BenchReport } from './report.ts';

/** In base units; a first deposit has a fee of 2 USDT. */
const VALUE = '5000000';
/** between two questions of the page */
const PAGE_MS = 5_000;

export const deposit: Bench<'deposits'> = {
  about: "a deposit from TRON's block to the page of its user, and from there until it is credited",
  options: { deposits: { about: 'of a new user each, one after the other', default: 12 } },
  run,
};

interface Way {
  readonly detection_ms: number;
  readonly credited_ms: number;
}

async function run({ deposits }: Readonly<Record<'deposits', number>>): Promise<BenchReport> {
  const browser = await openChromium();
  if ('missing' in browser) throw new Error(browser.missing);
  try {
    return await Installation.with(async (system) => {
      const { code, printed } = await system.main(['up']);
      if (code !== 0) throw new Error(`"up" ended with ${code}: ${printed}`);
      const ways: Way[] = [];
      // the first one is not counted: connections, plans and files of the page are new
      for (let number = 0; number <= deposits; number++) {
        const way = await follow(browser, system, (number / deposits) * PAGE_MS);
        say(
          `detection ${Math.round(way.detection_ms)} ms, credited ${Math.round(way.credited_ms)}`,
        );
        if (number > 0) ways.push(way);
      }
      return reportOf(ways);
    });
  } finally {
    await browser.close();
  }
}

/** The transfer is made so long after the page knows its address, which it asked for then. */
async function follow(browser: Browser, system: Installation, rest_ms: number): Promise<Way> {
  await using context = await openContext(browser);
  const page = await context.newPage();
  await page.goto(`${system.url('explorer')}/deposits`);
  await page.getByRole('button', { name: TEXT.signIn.key }).click();
  const to = await page.locator('.deposit-address .hash').innerText();
  // the watcher knows the address
  await page.getByText(TEXT.deposits.checked).waitFor();
  await after(rest_ms);
  const answer = await fetch(`${system.url('devnet')}/admin/tron/block`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ transfers: [{ to, value: VALUE }] }),
  });
  if (!answer.ok) throw new Error(`the devnet made no block: ${await answer.text()}`);
  const made = performance.now();
  const shown = page.locator('summary');
  await shown.first().waitFor();
  const detected = performance.now();
  await shown.filter({ hasText: TEXT.deposits.statuses.credited }).waitFor();
  return { detection_ms: detected - made, credited_ms: performance.now() - detected };
}

function reportOf(ways: readonly Way[]): BenchReport {
  const detection = ways.map(({ detection_ms: each }) => each);
  const credited = ways.map(({ credited_ms: each }) => each);
  return {
    bench: 'deposit',
    about: `${ways.length} deposits, each of a new user; the devnet's TRON makes a block each second, which is solid after 1.5 s, and the mainnet's takes about a minute; the page asks every ${PAGE_MS / 1_000} s, and the blocks are spread evenly over that time`,
    measured: [
      { what: 'detection', unit: 'ms', rounds: detection },
      { what: 'detection, slowest', unit: 'ms', rounds: [Math.max(...detection)] },
      { what: 'credited', unit: 'ms', rounds: credited },
      { what: 'credited, slowest', unit: 'ms', rounds: [Math.max(...credited)] },
    ],
    ratios: [],
  };
}
