/** Streets of the map in Chromium, from archives that are made here. */
import { rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openChromium } from '../../../../support/chromium.ts';
import { takePort } from '../../../../support/free-ports.ts';
import { buildPages, violationsOfBothSchemes } from '../../../../support/pages.ts';
import { pmtiles } from '../../../../support/pmtiles.ts';
import { openExplorer } from '../../../explorer-gateway/explorer-server.ts';
import { openPage, type Opened } from '../../console-world.ts';

/** Where the archive has its one tile. */
const CITY = '/market?at=52.7000,13.7109,10';

let missing = '';
let browser: Browser;
let folder: string;
let server: Server;
let port: number;
beforeAll(async () => {
  const opened = await openChromium();
  if ('missing' in opened) {
    ({ missing } = opened);
    process.stderr.write(`tests in a browser are skipped: ${missing}\n`);
    return;
  }
  browser = opened;
  folder = await buildPages('vite');
  await writeFile(join(folder, 'city.pmtiles'), pmtiles());
  ({ port } = await takePort());
  server = createServer(({ url, headers }, response) => {
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('access-control-allow-headers', 'range');
    const archive = url === '/others.pmtiles' ? pmtiles(['transportation']) : pmtiles();
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
    if (url === '/away.pmtiles') response.destroy();
    else if (url === '/absent.pmtiles') response.writeHead(404).end();
    else if (url === '/page.pmtiles') response.writeHead(206).end('<!doctype html>');
    else if (url === '/whole.pmtiles' || from === undefined) response.end(archive);
    else response.writeHead(206).end(archive.subarray(Number(from), Number(to) + 1));
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  if (missing !== '') return;
  await browser.close();
  server.close();
  await rm(folder, { recursive: true });
});

beforeEach(({ skip }) => {
  if (missing !== '') skip(missing);
});

/** The market with these tiles; the hub is away, and the map goes without it. */
async function openMarket(
  tiles: string,
  look: (opened: Opened) => Promise<void>,
  path = CITY,
): Promise<void> {
  const explorer = await openExplorer({
    postgres_reader_url: 'postgres://127.0.0.1:1/clt',
    console: pathToFileURL(`${folder}/`),
    console_hub_url: 'http://127.0.0.1:1',
    console_tiles_url: tiles,
  });
  const opened = await openPage({ browser, explorer });
  await opened.show(path);
  await look(opened);
  await opened.context.close();
  await explorer.close();
}

const file = (name: string): string => `http://127.0.0.1:${port}/${name}.pmtiles`;

const REST = 'The map has outlines alone: ';
const text = ({ page }: Opened): Promise<string> => page.locator('.market-map').innerText();

test('streets of a file that the gateway serves are drawn, in light and in dark', async () => {
  await openMarket(join(folder, 'city.pmtiles'), async ({ page, problems }) => {
    const drawn = (): Promise<number> =>
      page.locator('.map').evaluate(({ dataset: { ground } }) => Number(ground));
    await expect.poll(drawn).toBeGreaterThan(50);
    expect(await page.locator('.maplibregl-ctrl-attrib').innerText()).toContain('OpenStreetMap');
    expect(await page.locator('.market-map').innerText()).not.toContain(REST);
    expect(await violationsOfBothSchemes(page)).toEqual([]);
    // the hub is away; nobody else was asked
    expect(problems.filter((problem) => problem.startsWith('asks'))).toEqual([]);
  });
});

test('streets of another server are drawn', async () => {
  await openMarket(file('city'), async ({ page }) => {
    await expect
      .poll(() => page.locator('.map').evaluate(({ dataset: { ground } }) => Number(ground)))
      .toBeGreaterThan(50);
  });
});

test.each([
  ['absent', 'the file of its streets is answered with status 404'],
  ['page', 'the file of its streets is no PMTiles archive'],
  ['whole', 'the server of its streets sends whole files only'],
  ['others', 'the file of its streets has none of the layers of Protomaps'],
  ['away', 'where its streets are, does not answer this page'],
])(
  'with an archive that is %s the page says so, and the map has its outlines',
  async (name, why) => {
    await openMarket(file(name), async (opened) => {
      await expect.poll(() => text(opened)).toContain(REST);
      expect(await text(opened)).toContain(why);
      await expect
        .poll(() => opened.page.locator('.map').evaluate(({ dataset }) => 'drawn' in dataset))
        .toBe(true);
      expect(await opened.page.locator('.map').evaluate(({ dataset }) => 'ground' in dataset)).toBe(
        false,
      );
    });
  },
);

test('a market without an archive does not load what draws one', async () => {
  await openMarket(
    `http://127.0.0.1:${port}/{z}/{x}/{y}.png`,
    async ({ page }) => {
      const scripts: string[] = [];
      page.on('request', (request) => scripts.push(request.url()));
      await page.reload();
      await expect
        .poll(() => page.locator('.map').evaluate(({ dataset }) => 'drawn' in dataset))
        .toBe(true);
      expect(scripts.some((url) => /\/map-[^/]*\.js$/.test(url))).toBe(true);
      expect(scripts.filter((url) => /\/ground-[^/]*\.js$/.test(url))).toEqual([]);
    },
    '/market',
  );
});
