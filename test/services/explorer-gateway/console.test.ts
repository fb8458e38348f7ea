/** The addresses of the console, on a built page of a few lines. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { EXPLORER_API } from '../../../schemas/explorer-api/document.ts';
import type { Cells } from '../../../services/runtime/postgres/pool.ts';
import { gettable } from '../../support/openapi.ts';
import { openExplorer, type ExplorerServer } from './explorer-server.ts';

const HASH = `0x${'ab'.repeat(32)}`;
const ADDRESS = `0x${'cd'.repeat(20)}`;
const AT = '2026-11-28 07:28:00.5+00';
const PEOPLE = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

let folder: string;
let explorer: ExplorerServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'clt-console-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'assets/main.js'), 'start();');
  writeFileSync(
    join(folder, 'index.html'),
    '<!doctype html><html lang="en"><head><title>CLT console</title></head><body></body></html>',
  );
  explorer = await openExplorer({
    postgres_reader_url: 'postgres://clt_reader:clt_reader@127.0.0.1:1/clt',
    console: pathToFileURL(`${folder}/`),
    console_url: 'https://console.example',
  });
});
afterAll(async () => {
  await explorer.close();
  rmSync(folder, { recursive: true });
});

/** Not through `explorer.get`: pages are no part of the interface. */
function open(path: string, init: RequestInit = { headers: PEOPLE }): Promise<Response> {
  return fetch(explorer.url + path, { redirect: 'manual', ...init });
}

test.each([
  ['/block/12', '/blocks/12'],
  [`/block/${HASH}`, `/blocks/${HASH}`],
  [`/tx/${HASH}`, `/transactions/${HASH}`],
  [`/address/${ADDRESS}`, `/accounts/${ADDRESS}`],
  [`/address/${ADDRESS}/`, `/accounts/${ADDRESS}`],
  // no text leads to another server, or into another header
  ['/tx/%2F%2Fevil.example', '/transactions/%2F%2Fevil.example'],
  ['/tx/a%0d%0aset-cookie:%20b', '/transactions/a%0D%0Aset-cookie%3A%20b'],
])('%s, where wallets look, leads to %s', async (path, to) => {
  for (const method of ['GET', 'HEAD']) {
    const { status, headers } = await open(path, { method });
    expect([status, headers.get('location'), headers.get('set-cookie')]).toEqual([301, to, null]);
  }
  const page = await open(to);
  expect([page.status, page.headers.get('content-type')]).toEqual([
    200,
    'text/html; charset=utf-8',
  ]);
});

test.each([
  '/nowhere',
  '/block',
  '/tx/',
  '/blocks',
  '/accounts',
  '/Transactions',
  `/token/${ADDRESS}`,
])('at %s there is a page for people and an error for programs, both with 404', async (path) => {
  const page = await open(path);
  expect([
    page.status,
    page.headers.get('content-type'),
    page.headers.get('cache-control'),
  ]).toEqual([404, 'text/html; charset=utf-8', 'no-store']);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(await page.text()).toContain('<title>');
  for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
    const { status, text } = await explorer.get(path, headers);
    expect([status, JSON.parse(text)]).toEqual([
      404,
      { code: 'not_found', message: 'there is nothing at this path' },
    ]);
  }
  const posted = await open(path, { method: 'POST', headers: PEOPLE });
  expect([posted.status, posted.headers.get('content-type')]).toEqual([
    404,
    'application/json; charset=utf-8',
  ]);
});

test('no page stands in place of the interface, its documents or its probes', async () => {
  const paths = [
    ...gettable(EXPLORER_API).map(({ path, query }) => `${path}?${query}`),
    '/api/v1/nothing',
    '/api/',
    '/status',
    '/metrics',
    '/console.json',
    '/assets/main.js',
  ];
  for (const path of paths) {
    const [people, programs] = [await open(path), await open(path, {})];
    expect([path, people.status, people.headers.get('content-type')]).toEqual([
      path,
      programs.status,
      programs.headers.get('content-type'),
    ]);
  }
  expect((await open('/api/v1/nothing')).headers.get('content-type')).toContain('json');
});

test('each page has a title and tags for previews in place of the title that was built', async () => {
  for (const path of ['/', '/nowhere', `/transactions/${HASH}`, '/market/trips/%00%22%3E']) {
    const text = await (await open(path)).text();
    expect(text.match(/<title>/g)).toHaveLength(1);
    expect(text).toContain('<title>CLT console</title>\n    <meta name="description"');
    expect(text).toContain('<meta property="og:title" content="CLT console" />');
    expect(text).toMatch(/<html lang="en"><head>.*<\/head><body><\/body><\/html>$/s);
  }
});

test('a page names the whole address of its picture, the plain one where nothing is known', async () => {
  for (const path of ['/', `/transactions/${HASH}`, '/market/trips/%00%22%3E']) {
    const text = await (await open(path)).text();
    expect(text).toContain(
      '<meta property="og:image" content="https://console.example/preview" />',
    );
  }
});

test('a picture is a PNG that caches keep, and answers a validator', async () => {
  const { status, headers } = await open('/preview');
  expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
    200,
    'image/png',
    'public, max-age=86400',
  ]);
  const again = await open('/preview', { headers: { 'if-none-match': headers.get('etag') ?? '' } });
  expect(again.status).toBe(304);
});

test('a picture of nothing is 404 without a query, and 503 while the index is away', async () => {
  for (const path of ['/preview/blocks/x', '/preview/transactions/12', '/preview/reserve/%00']) {
    const { status, headers } = await open(path);
    expect([path, status, headers.get('cache-control')]).toEqual([path, 404, 'no-store']);
  }
  const away = await open(`/preview/transactions/${HASH}`);
  expect([away.status, away.headers.get('cache-control')]).toEqual([503, 'no-store']);
});

test('a client that asks for many pictures keeps no other from one', async () => {
  let asked = 0;
  const answered = Promise.withResolvers<void>();
  const rows = async (): Promise<readonly Cells[]> => {
    const amount = String(++asked);
    await answered.promise;
    return [['hash', '1', 'from', 'to', amount, '1', 'Transfer', 't', AT, 'f']];
  };
  const busy = await openExplorer({
    postgres_reader_url: 'postgres://127.0.0.1:1/clt',
    console: pathToFileURL(`${folder}/`),
    reader: () => ({ rows }),
    trust_proxy_hops: 1,
  });
  const statusFor = async (client: string): Promise<number> => {
    const asking = { 'x-forwarded-for': client };
    const picture = `${busy.url}/preview/transactions/${HASH}`;
    const { status, headers } = await fetch(picture, { headers: asking });
    expect(headers.get('retry-after')).toBe(status === 429 ? '1' : null);
    return status;
  };
  const many = Array.from({ length: 40 }, () => statusFor('192.0.2.1'));
  await expect.poll(() => asked).toBe(40);
  const other = statusFor('192.0.2.2');
  await expect.poll(() => asked).toBe(41);
  answered.resolve();
  expect(await other).toBe(200);
  expect((await Promise.all(many)).filter((status) => status === 200)).toHaveLength(8);
  await busy.close();
});

test('a picture whose thread ends is 503 with Retry-After, and the next one is drawn', async () => {
  const paint = vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (
    this: Worker,
  ) {
    void this.terminate();
  });
  const broken = await openExplorer({
    postgres_reader_url: 'postgres://127.0.0.1:1/clt',
    console: pathToFileURL(`${folder}/`),
  });
  const failed = await fetch(`${broken.url}/preview`);
  expect([failed.status, failed.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await failed.json()).toMatchObject({ code: 'picture_failed' });
  paint.mockRestore();
  expect((await fetch(`${broken.url}/preview`)).status).toBe(200);
  await broken.close();
});

test('a gateway without a build of the console has no pages, and redirects nobody', async () => {
  const bare = await openExplorer({ postgres_reader_url: 'postgres://127.0.0.1:1/clt' });
  for (const path of [`/tx/${HASH}`, '/nowhere']) {
    const { status, headers } = await fetch(bare.url + path, { headers: PEOPLE });
    expect([status, headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8']);
  }
  await bare.close();
});
