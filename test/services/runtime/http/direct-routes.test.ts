import type { IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { text as wholeText } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  PLAIN_ERRORS,
  type HttpRequest,
  type GetRoute,
} from '../../../../services/runtime/http/handler.ts';
import { DirectRoutes } from '../../../../services/runtime/http/direct-routes.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { openHttp, type HttpServer } from '../../../../services/runtime/http/server.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';

/** Everything a handler may look at. */
const seen = ({ method, path, originalUrl, query, params, headers, ip }: HttpRequest): string =>
  JSON.stringify({
    method,
    path,
    originalUrl,
    query,
    params,
    forwarded: headers['x-forwarded-for'],
    ip,
  });

const get = (
  path: string,
  handle: GetRoute['handle'] = (request) => ({ status: 200, body: seen(request) }),
): GetRoute => ({
  method: 'get',
  path,
  handle,
});

const routes: readonly GetRoute[] = [
  get('/list'),
  get('/list/:id'),
  get('/list/:id/items'),
  get('/file.csv'),
  get('/refused', () => ({ refused: 'not_found', message: 'no' })),
  get('/fault', () => Promise.reject(new Fault('storage_timeout', 'slow', { retry: true }))),
  get('/bug', () => {
    throw new TypeError('x');
  }),
  get('/empty', () => ({ status: 204, body: '' })),
  get('/text', () => ({
    status: 200,
    body: 'Zürich €',
    content_type: 'text/plain',
    headers: { 'cache-control': 'public', link: '<x>' },
  })),
  get('/pieces', () => ({ status: 200, body: pieces() })),
];

async function* pieces(): AsyncGenerator<string> {
  yield 'one ';
  yield 'two';
}

const servers: HttpServer[] = [];
const logged: Readonly<Record<string, unknown>>[] = [];
beforeAll(async () => {
  const log = openLog({
    service: 'test',
    level: 'debug',
    destination: { write: (line) => void logged.push(JSON.parse(line)) },
  });
  for (const hops of [0, 1, 2]) {
    const options = {
      http_host: '127.0.0.1',
      http_port: 0,
      log,
      metrics: new Metrics('test'),
      routes,
      errors: PLAIN_ERRORS,
    };
    const guards = [
      ({ path }: HttpRequest) =>
        path.startsWith('/list/guarded') ? { status: 429, body: path } : undefined,
    ];
    servers.push(
      await openHttp({
        ...options,
        trust_proxy_hops: hops,
        guards,
        headers: { 'access-control-allow-origin': '*' },
      }),
    );
  }
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.drain()));
});

/** The answer without what is never the same twice. */
async function answerTo(url: string, headers: IncomingHttpHeaders, hops: number): Promise<string> {
  const socket = connect(Number(new URL(servers[hops]?.url ?? '').port), '127.0.0.1');
  const lines = Object.entries({ host: 'x', connection: 'close', ...headers }).map(
    ([name, value]) => `${name}: ${String(value)}\r\n`,
  );
  socket.write(Buffer.from(`GET ${url} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'));
  const text = await wholeText(socket);
  expect(text).toMatch(/\r\nx-request-id: [0-9a-f]+-[0-9a-z]+\r\n/i);
  const [head = '', ...body] = text.split('\r\n\r\n');
  const [status, ...fields] = head
    .split('\r\n')
    .filter((line) => !/^(?:x-request-id|date): /i.test(line));
  return [status, ...fields.map((field) => field.toLowerCase()).toSorted(), ...body].join('\n');
}

/** A request that tells the length of its body, though it has none, goes the long way. */
const LONG_WAY = { 'content-length': '0' };

test.each([
  '/list',
  '/list/',
  '/LIST',
  '/list?limit=1&limit=2&x[]=3&__proto__=4&empty=&=5&a=b=c&+=+',
  '/list?',
  '/list??a=b',
  '/list?a=%41%20',
  '/list?a=%zz',
  '/list?a=b#c',
  '/list#a?b=c',
  '//list',
  '/list/../list',
  '/list/a.b-c_D1?x=1',
  '/list/a/items',
  '/list/a%2Fb/items',
  '/list/a+b',
  '/list/~a',
  '/list//items',
  '/list/guarded',
  '/list/guarded/items',
  '/file.csv',
  '/fileXcsv',
  '/refused',
  '/fault',
  '/bug',
  '/empty',
  '/text',
  '/pieces',
  '/nowhere',
  '/health',
  'http://x/list?a=b',
  'http://[::1/list',
  `/list?${'a&'.repeat(1_000)}limit=1`,
])('%s gets the same response on the fast path and through Express', async (url) => {
  expect(await answerTo(url, {}, 0)).toBe(await answerTo(url, LONG_WAY, 0));
});

test.each([
  undefined,
  '1.1.1.1',
  '1.1.1.1, 2.2.2.2',
  '1.1.1.1,2.2.2.2 , 3.3.3.3',
  ' , ,4.4.4.4',
  'x'.repeat(50),
  '',
])(
  'the client address is the same on the fast path and through Express, for x-forwarded-for %s',
  async (forwarded) => {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
    for (const hops of [0, 1, 2]) {
      expect(await answerTo('/list', headers, hops)).toBe(
        await answerTo('/list', { ...headers, ...LONG_WAY }, hops),
      );
    }
  },
);

test('a parameter after a thousand others is read', async () => {
  const asked = JSON.parse(
    (await answerTo(`/list?${'a&'.repeat(1_000)}limit=1`, {}, 0)).split('\n').at(-1) ?? '',
  );
  expect(asked.query.limit).toBe('1');
});

test("an absolute URL with an invalid host is refused in the service's error shape", async () => {
  const answer = await answerTo('http://[::1/list', {}, 0);
  expect(answer).toContain('HTTP/1.1 400 Bad Request');
  expect(JSON.parse(answer.split('\n').at(-1) ?? '')).toMatchObject({ code: 'invalid_request' });
});

test('only a GET without a body for a URL without encoding takes the fast path', () => {
  const direct = new DirectRoutes(
    [...routes, { method: 'post', path: '/posted', handle: () => ({ status: 200, body: '' }) }],
    0,
  );
  const routeOf = (
    url: string,
    method = 'GET',
    headers: IncomingHttpHeaders = {},
  ): string | undefined => direct.find({ method, url, headers, socket: {} })?.route.path;
  expect(
    [
      '/list',
      '/list?a=b',
      '/list/',
      '/list/a.b',
      '/list/a/items?',
      '/file.csv',
      '/fileXcsv',
      '/posted',
    ].map((url) => routeOf(url)),
  ).toEqual([
    '/list',
    '/list',
    undefined,
    '/list/:id',
    '/list/:id/items',
    '/file.csv',
    undefined,
    undefined,
  ]);
  for (const url of [
    '/list?a=%41',
    '/list?a#b',
    '/list?a=\u00e9',
    '/list?a b',
    'list',
    '*',
    '',
    'http://x/list',
  ]) {
    expect([url, routeOf(url)]).toEqual([url, undefined]);
  }
  for (const method of ['HEAD', 'POST', 'OPTIONS', 'DELETE'])
    expect([method, routeOf('/list', method)]).toEqual([method, undefined]);
  for (const headers of [LONG_WAY, { 'transfer-encoding': 'chunked' }])
    expect(routeOf('/list', 'GET', headers)).toBeUndefined();
});

test('the fast path counts and logs by route, faults and bugs with their error', async () => {
  logged.length = 0;
  for (const path of ['/list/a/items', '/fault', '/bug']) await answerTo(path, {}, 0);
  const requests = (): unknown =>
    logged.filter(({ msg }) => msg === 'request').map(({ route, status }) => [route, status]);
  await expect.poll(requests).toEqual([
    ['/list/:id/items', 200],
    ['/fault', 503],
    ['/bug', 500],
  ]);
  expect(logged.filter(({ level }) => level === 'error')).toMatchObject([
    { route: '/fault', method: 'GET', status: 503, err: { code: 'storage_timeout' } },
    { route: '/bug', method: 'GET', status: 500, err: { type: 'TypeError' } },
  ]);
});
