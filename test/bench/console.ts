/**
 * The console in Chromium while a chain makes 50 blocks a second: how soon it is there, how soon it
 * answers a hand, and whether its memory stays as it is.
 */
import { join } from 'node:path';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { build } from 'vite';
import { openChromium } from '../support/chromium.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { say, type Bench } from './bench.ts';
import { median, type BenchReport } from './report.ts';

type Option = 'minutes' | 'visits' | 'rounds';
const SERVICES = ['chain-ingester', 'projector-explorer', 'explorer-gateway'];
const CONFIG = join(import.meta.dirname, '../../services/console/vite.config.ts');
const BLOCKS_PER_SECOND = 50;
const WARM_BLOCKS = 200;
const PATIENCE_MS = 60_000;
const LOOK_MS = 5_000;

const PAINT_MS_MAX = 1_500;
const INTERACTION_MS_MAX = 100;
/** INP leaves out the slowest of so many: https://web.dev/articles/inp#what-is-inp */
const INTERACTIONS_AN_OUTLIER = 50;
const SLOW_SHOWN = 12;
/** The memory of the last third of the time, compared with the first. */
const GROWTH_MAX = 1.1;

export const consoleBench: Bench<Option> = {
  about: 'the console in Chromium while 50 blocks a second arrive',
  options: {
    minutes: { about: 'of live view, for its memory', default: 30 },
    visits: { about: 'of the first page, each with an empty cache', default: 5 },
    rounds: { about: 'of keys and clicks, a dozen in each', default: 10 },
  },
  run,
};

async function run(given: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const browser = await openChromium();
  if ('missing' in browser) throw new Error(browser.missing);
  await build({ configFile: CONFIG, logLevel: 'error' });
  const stack = await startStack();
  try {
    return await measure(browser, await startServices(stack), given);
  } finally {
    await browser.close();
    await stack.stop();
  }
}

/** Returns the explorer's address, once there is a chain to show. */
async function startServices(stack: Stack): Promise<string> {
  await (
    await stack.spawnService('devnet', {
      APP_BLOCK_INTERVAL_MS: String(1_000 / BLOCKS_PER_SECOND),
      APP_TRAFFIC_PER_SECOND: '100',
      APP_LOG_LEVEL: 'warn',
    })
  ).ready();
  let url = '';
  for (const name of SERVICES) {
    const service = await stack.spawnService(name, {
      APP_LOG_LEVEL: 'warn',
      ...(name === 'explorer-gateway' ? { APP_RATE_PER_SECOND: '0' } : {}),
    });
    await service.ready();
    ({ url } = service);
  }
  await until(async () => (await heightAt(url)) > WARM_BLOCKS, `${WARM_BLOCKS} blocks`);
  return url;
}

async function heightAt(url: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/stats`);
  const { latest_height: height }: { readonly latest_height: number } = JSON.parse(
    await response.text(),
  );
  return height;
}

async function measure(
  browser: Browser,
  url: string,
  { minutes, visits, rounds }: Readonly<Record<Option, number>>,
): Promise<BenchReport> {
  const begun = { height: await heightAt(url), at: performance.now() };
  const paints: number[] = [];
  for (let visit = 0; visit < visits; visit++) paints.push(await paintOf(browser, url));
  say(`largest contentful paint after ${Math.round(median(paints))} ms`);
  const page = await browser.newPage();
  await page.addInitScript(noteInteractions);
  await show(page, url);
  const interactions = await interact(page, rounds);
  const slow = slowest(interactions.noted);
  const [worst] = slow;
  const inp = slow[Math.floor(interactions.made / INTERACTIONS_AN_OUTLIER)];
  if (worst === undefined || inp === undefined)
    throw new Error('Chromium noted no interaction; run the bench again with more --rounds');
  say(`${interactions.made} interactions, INP ${inp.duration} ms, slowest ${worst.duration} ms`);
  await page.getByRole('link', { name: 'Chain', exact: true }).click();
  const looks = await watch(page, minutes);
  const rate = ((await heightAt(url)) - begun.height) / ((performance.now() - begun.at) / 1_000);
  const third = Math.max(1, Math.floor(looks.length / 3));
  const heap = looks.map(({ bytes }) => bytes / 2 ** 20);
  const growth = median(heap.slice(-third)) / median(heap.slice(0, third));
  return {
    bench: 'console',
    about: consoleBench.about,
    measured: [
      { what: 'blocks that arrived', unit: '/s', rounds: [rate] },
      { what: 'largest contentful paint of the first page', unit: 'ms', rounds: paints },
      { what: 'interaction to next paint (INP)', unit: 'ms', rounds: [inp.duration] },
      { what: 'from a click until its page is there', unit: 'ms', rounds: interactions.pages },
      { what: 'slowest interaction', unit: 'ms', rounds: [worst.duration] },
      { what: 'interactions', unit: '', rounds: [interactions.made] },
      { what: 'memory of scripts after a collection', unit: 'MiB', rounds: heap },
      { what: 'nodes of the document', unit: '', rounds: looks.map(({ nodes }) => nodes) },
    ],
    detail: slow.slice(0, SLOW_SHOWN).map((entry) => ({
      'slowest interactions': `${entry.name} ${entry.target}`,
      ms: entry.duration,
      waits: entry.waits,
      runs: entry.runs,
      'until the next frame': entry.duration - entry.waits - entry.runs,
    })),
    ratios: [
      {
        what: `blocks a second / ${BLOCKS_PER_SECOND}`,
        ratio: rate / BLOCKS_PER_SECOND,
        goal: '>= 0.9',
      },
      {
        what: 'largest contentful paint / 1.5 s',
        ratio: median(paints) / PAINT_MS_MAX,
        goal: '<= 1',
      },
      { what: 'INP / 100 ms', ratio: inp.duration / INTERACTION_MS_MAX, goal: '<= 1' },
      { what: 'slowest interaction / 100 ms', ratio: worst.duration / INTERACTION_MS_MAX },
      {
        what: 'memory of the last third of the time / the first',
        ratio: growth,
        goal: `<= ${GROWTH_MAX}`,
      },
    ],
  };
}

async function show(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.locator('.block').first().waitFor({ timeout: PATIENCE_MS });
}

/** ms */
async function paintOf(browser: Browser, url: string): Promise<number> {
  const page = await browser.newPage();
  await show(page, url);
  const paint = await page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        new PerformanceObserver((list) =>
          resolve(list.getEntries().at(-1)?.startTime ?? 0),
        ).observe({ type: 'largest-contentful-paint', buffered: true });
      }),
  );
  await page.close();
  return paint;
}

/** An event of an interaction, as the browser timed it. Times in ms. */
interface TimedEvent {
  readonly interaction: number;
  /** such as `keydown` */
  readonly name: string;
  /** the element, and its text if it has nothing else */
  readonly target: string;
  /** until the next paint, in steps of 8 ms */
  readonly duration: number;
  /** until its handlers begin */
  readonly waits: number;
  /** in its handlers */
  readonly runs: number;
}

declare global {
  /** The events of interactions, which `noteInteractions` collects in a page. */
  var timedEvents: TimedEvent[];
}

/** Runs in the page. Events of less than 16 ms are not reported. */
function noteInteractions(): void {
  globalThis.timedEvents = [];
  const options: PerformanceObserverInit & { readonly durationThreshold: number } = {
    type: 'event',
    buffered: true,
    durationThreshold: 16,
  };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntriesByType('event')) {
      if (!(entry instanceof PerformanceEventTiming) || entry.interactionId === 0) continue;
      const { name, target, duration, startTime, processingStart, processingEnd } = entry;
      const element = target instanceof Element ? target : undefined;
      globalThis.timedEvents.push({
        interaction: entry.interactionId,
        name,
        target: `${element?.localName ?? 'gone'} ${element?.childElementCount === 0 ? element.textContent : ''}`,
        duration,
        waits: Math.round(processingStart - startTime),
        runs: Math.round(processingEnd - processingStart),
      });
    }
  }).observe(options);
}

/** The longest event of each interaction, the slowest first. */
function slowest(events: readonly TimedEvent[]): readonly TimedEvent[] {
  const longest = new Map<number, TimedEvent>();
  for (const event of events.toSorted((a, b) => a.duration - b.duration))
    longest.set(event.interaction, event);
  return [...longest.values()].toSorted((a, b) => b.duration - a.duration);
}

/** with their headings */
const PAGES = [
  ['/transactions', 'Transactions'],
  ['/validators', 'Validators'],
  ['/', 'Chain'],
] as const;
const MOVES = ['j', 'j', 'k'];
const SEARCHED = '0x1';
const LEAVES = ['ArrowDown', 'Escape', 'Escape'];
/** a click or a key each */
const INTERACTIONS_A_ROUND =
  PAGES.length * (1 + MOVES.length) + 1 + SEARCHED.length + LEAVES.length;

/**
 * `noted`: the events that took 16 ms or more; `made`: all interactions; `pages`: ms from each
 * click to the first row of its page, as this process sees it. Clicks are of the mouse: the work of
 * Playwright in the page would be timed with the page's.
 */
async function interact(
  page: Page,
  rounds: number,
): Promise<{
  readonly made: number;
  readonly noted: readonly TimedEvent[];
  readonly pages: readonly number[];
}> {
  const pages: number[] = [];
  const places = await Promise.all(
    PAGES.map(async ([path, heading]) => {
      const { x, y } = await placeOf(page, `nav a[href="${path}"]`);
      return { heading, x, y };
    }),
  );
  for (let round = 0; round < rounds; round++) {
    for (const { heading, x, y } of places) {
      const clicked = performance.now();
      await page.mouse.click(x, y);
      await page
        .locator(`main:has(h1:text-is("${heading}")) tbody tr`)
        .first()
        .waitFor({ timeout: PATIENCE_MS });
      pages.push(performance.now() - clicked);
      for (const key of MOVES) await page.keyboard.press(key);
    }
    await page.keyboard.press('/');
    await page.keyboard.type(SEARCHED);
    await page.locator('[role=option]').first().waitFor({ timeout: PATIENCE_MS });
    for (const key of LEAVES) await page.keyboard.press(key);
  }
  return {
    made: rounds * INTERACTIONS_A_ROUND,
    pages,
    noted: await page.evaluate(() => globalThis.timedEvents),
  };
}

/** The middle of an element, in pixels. */
async function placeOf(
  page: Page,
  selector: string,
): Promise<{ readonly x: number; readonly y: number }> {
  const box = await page.locator(selector).boundingBox();
  if (box === null) throw new Error(`the page has no visible ${selector}: is it another page?`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

interface Look {
  readonly bytes: number;
  readonly nodes: number;
}

async function watch(page: Page, minutes: number): Promise<readonly Look[]> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const looks: Look[] = [];
  const end = performance.now() + minutes * 60_000;
  while (performance.now() < end) {
    await page.waitForTimeout(LOOK_MS);
    looks.push(await lookAt(session));
    if (looks.length % 12 === 0) {
      const { bytes, nodes } = looks.at(-1) ?? { bytes: 0, nodes: 0 };
      say(`${(bytes / 2 ** 20).toFixed(1)} MiB, ${nodes} nodes`);
    }
  }
  return looks;
}

async function lookAt(session: CDPSession): Promise<Look> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  const { metrics } = await session.send('Performance.getMetrics');
  return { bytes: usedSize, nodes: metrics.find(({ name }) => name === 'Nodes')?.value ?? 0 };
}
