import { request, type IncomingHttpHeaders } from 'node:http';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { Answer } from '../../../../services/runtime/http/answer.ts';
import type { Route } from '../../../../services/runtime/http/handler.ts';
import type { HttpResponse } from '../../../../services/runtime/http/response.ts';
import { openHttp, type HttpServer } from '../../../../services/runtime/http/server.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';

const PUBLIC = { 'cache-control': 'public, max-age=1' };

let server: HttpServer | undefined;
afterEach(async () => {
  await server?.drain();
  server = undefined;
});

/** The address of a server with this response at /a, which is /%61 too. */
async function serving(answer: () => HttpResponse): Promise<string> {
  const routes: readonly Route[] = [{ method: 'get', path: '/:a', handle: answer }];
  const log = openLog({ service: 'test', level: 'silent' });
  const metrics = new Metrics('test');
  server = await openHttp({ http_host: '127.0.0.1', http_port: 0 }, { log, metrics, routes });
  return server.url;
}

/** The bytes of the body as sent, which `fetch` would decode. */
async function received(
  url: string,
  accepted: string,
): Promise<{ readonly headers: IncomingHttpHeaders; readonly bytes: Buffer }> {
  const asked = request(url, { headers: { 'accept-encoding': accepted } }).end();
  const [message] = await once(asked, 'response');
  return { headers: message.headers, bytes: await buffer(message) };
}

function decoded(bytes: Buffer, coding: 'br' | 'gzip' | 'zstd' | null): string {
  if (coding === null) return bytes.toString();
  const decompress = { br: brotliDecompressSync, gzip: gunzipSync, zstd: zstdDecompressSync };
  return decompress[coding](bytes).toString();
}

test('a response for caches has the ETag of its body, and 304 as long as the body is the same', async () => {
  let body = '"Zürich"';
  const url = await serving(() => ({ status: 200, body, headers: { ...PUBLIC, link: '<x>' } }));
  const first = await fetch(`${url}/a`);
  const etag = first.headers.get('etag') ?? '';
  expect([first.status, await first.text(), etag]).toEqual([
    200,
    body,
    expect.stringMatching(/^W\/"[\w-]{27}"$/),
  ]);
  const strong = etag.slice(2);
  for (const path of ['/a', '/%61']) {
    for (const method of ['GET', 'HEAD']) {
      for (const named of [etag, strong, '*', `"a", ${etag}`, `W/"b" ,${strong},"c"`]) {
        const headers = { 'if-none-match': named };
        const same = await fetch(url + path, { method, headers });
        expect([named, same.status, await same.text()]).toEqual([named, 304, '']);
        expect(Object.fromEntries(same.headers)).toMatchObject({
          etag,
          link: '<x>',
          'cache-control': 'public, max-age=1',
        });
        expect([same.headers.get('content-length'), same.headers.get('content-type')]).toEqual([
          null,
          null,
        ]);
      }
      for (const named of ['', '""', 'W/', `x${strong}`, etag.toLowerCase()]) {
        const other = await fetch(url + path, { method, headers: { 'if-none-match': named } });
        await other.text();
        expect([named, other.status, other.headers.get('etag')]).toEqual([named, 200, etag]);
      }
    }
  }
  body = '"Zurich"';
  const changed = await fetch(`${url}/a`, { headers: { 'if-none-match': etag } });
  expect([changed.status, await changed.text()]).toEqual([200, body]);
  expect(changed.headers.get('etag')).not.toBe(etag);
});

test('a response names all headers that it depends on', async () => {
  const headers = { ...PUBLIC, vary: 'accept' };
  const url = await serving(() => ({ status: 200, body: '1', headers }));
  expect((await fetch(`${url}/a`)).headers.get('vary')).toBe('accept, accept-encoding');
});

test('a response that says nothing of caches is for none', async () => {
  const url = await serving(() => ({ status: 200, body: '1' }));
  const { status, headers } = await fetch(`${url}/a`, { headers: { 'if-none-match': '*' } });
  expect([status, headers.get('cache-control'), headers.get('etag')]).toEqual([
    200,
    'no-store',
    null,
  ]);
});

test('a long text goes out in the coding that the client prefers, with one ETag for all codings', async () => {
  const body = JSON.stringify(Array.from({ length: 200 }, (_, at) => `Zürich ${at}`));
  const url = await serving(() => ({ status: 200, body, headers: PUBLIC }));
  const etags = new Set<string | null>();
  for (const [accepted, coding] of [
    ['identity', null],
    ['gzip', 'gzip'],
    ['gzip, br, zstd', 'br'],
    ['zstd', 'zstd'],
  ] as const) {
    const { headers, bytes } = await received(`${url}/a`, accepted);
    expect(headers).toMatchObject({
      vary: 'accept-encoding',
      'content-length': String(bytes.length),
      ...(coding !== null && { 'content-encoding': coding }),
    });
    expect([accepted, decoded(bytes, coding)]).toEqual([accepted, body]);
    etags.add(headers.etag ?? null);
  }
  expect(etags.size).toBe(1);
});

test('a response that is short, no text, or not for caches goes out as it is', async () => {
  const long = 'x'.repeat(2_000);
  const short = long.slice(0, 1_000);
  let answer: HttpResponse;
  const url = await serving(() => answer);
  for (const [body, plain] of [
    [long, { status: 200, body: long }],
    [short, { status: 200, body: short, headers: PUBLIC }],
    [long, { status: 200, body: Buffer.from(long), content_type: 'image/png', headers: PUBLIC }],
  ] as const) {
    answer = plain;
    const { headers, bytes } = await received(`${url}/a`, 'gzip, br, zstd');
    expect([headers['content-encoding'], bytes.toString()]).toEqual([undefined, body]);
  }
});

test('a response that several requests share is compressed once in each coding', async () => {
  const body = 'x'.repeat(2_000);
  const answer = new Answer({ status: 200, headers: PUBLIC }, body, '/');
  const [first, second, other] = [answer.coded('br'), answer.coded('br'), answer.coded('gzip')];
  expect(await first).toBe(await second);
  expect(await first).not.toBe(await other);
  expect(answer.bytes).toBe(answer.bytes);
});

test('a validator with the suffix of a proxy that compresses names the same body', async () => {
  const url = await serving(() => ({ status: 200, body: '"a"', headers: PUBLIC }));
  const etag = (await fetch(`${url}/a`)).headers.get('etag') ?? '';
  const statuses: number[] = [];
  for (const suffix of ['-gzip', '-br', '-zstd', '-deflate', '-other', 'gzip']) {
    const named = etag.replace(/"$/, `${suffix}"`);
    const headers = { 'if-none-match': `"x-gzip", ${named}` };
    statuses.push((await fetch(`${url}/a`, { headers })).status);
  }
  expect(statuses).toEqual([304, 304, 304, 304, 200, 200]);
});
