import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text as wholeText } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import type { ErrorShape, Route } from '../../../../services/runtime/http/handler.ts';
import type { HttpResponse } from '../../../../services/runtime/http/response.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import {
  openHttp,
  type HttpOptions,
  type ListenSettings,
  type HttpServer,
} from '../../../../services/runtime/http/server.ts';
import type { HealthProblem } from '../../../../services/runtime/process/health.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';

const SHAPE: ErrorShape = {
  statuses: { not_yours: 404, invalid_request: 400 },
  fault: ({ code }) => ({ status: 502, code, message: 'later' }),
  body: ({ code }) => JSON.stringify({ error: code }),
};

const opened: HttpServer[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.drain()));
});

interface Opened {
  readonly server: HttpServer;
  readonly url: string;
  readonly port: number;
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  readonly metrics: Metrics;
}

async function open(
  routes: readonly Route[] = [],
  more: Partial<HttpOptions & ListenSettings> = {},
  level = 'debug',
): Promise<Opened> {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const log = openLog({
    service: 'test',
    level,
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const metrics = new Metrics('test');
  const server = await openHttp(
    { http_host: '127.0.0.1', http_port: 0, ...more },
    { log, metrics, routes, errors: SHAPE, ...more },
  );
  opened.push(server);
  return { server, url: server.url, port: Number(new URL(server.url).port), lines, metrics };
}

const greet: Route = {
  method: 'get',
  path: '/greet/:name',
  handle: ({ params }) => ({ status: 200, body: JSON.stringify(params['name']) }),
};

/** Sends bytes as they are, gives what comes back until the server closes. */
async function raw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(bytes);
  return wholeText(socket);
}

test('/health is constant, /ready and /status follow the checks, /metrics counts by route and not by path', async () => {
  const message = 'the log lost records: restore the topic';
  let problem: HealthProblem | undefined = { status: 'halted', phase: 'reading', message };
  const { url } = await open([greet], { checks: [{ name: 'projection', check: () => problem }] });
  expect(await (await fetch(`${url}/health`)).text()).toBe('{"status":"ok"}');
  const unready = await fetch(`${url}/ready`);
  expect([unready.status, await unready.json()]).toEqual([503, { error: 'not_ready' }]);
  expect(await (await fetch(`${url}/status`)).json()).toEqual({
    status: 'halted',
    phase: 'reading',
    waits_for: null,
    eta_s: null,
    message: `projection: ${message}`,
    notes: [],
  });
  problem = undefined;
  const ready = await fetch(`${url}/ready`);
  expect([ready.status, await ready.text()]).toEqual([200, '{"status":"ready"}']);
  expect(await (await fetch(`${url}/status`)).text()).toBe(
    '{"status":"ready","phase":"serving","waits_for":null,"eta_s":null,"message":null,"notes":[]}',
  );
  for (const name of ['a', 'b']) await (await fetch(`${url}/greet/${name}`)).text();
  await (await fetch(`${url}/secret/path`)).text();
  const scrape = await (await fetch(`${url}/metrics`)).text();
  expect(scrape).toContain(
    'http_request_seconds_count{service="test",route="/greet/:name",method="GET",status="200"} 2',
  );
  expect(scrape).toContain(
    'http_request_seconds_count{service="test",route="unmatched",method="GET",status="404"} 1',
  );
  expect(scrape).not.toContain('secret');
});

test('/metrics names each dependency that is awaited and each part that waits for a person, until they go on', async () => {
  let [log, tables]: (HealthProblem | undefined)[] = [
    { status: 'waiting', waits_for: 'kafka', message: 'the brokers do not answer' },
    { status: 'halted', waits_for: 'registry', message: 'another registry: correct its address' },
  ];
  const checks = Object.entries({ log: () => log, tables: () => tables });
  const { url } = await open([], { checks: checks.map(([name, check]) => ({ name, check })) });
  const lines = async (): Promise<readonly string[]> =>
    (await (await fetch(`${url}/metrics`)).text())
      .split('\n')
      .filter((line) => /^service_(?:ready|waits_for|halted)\b/.test(line));
  expect(await lines()).toEqual([
    'service_ready{service="test"} 0',
    'service_waits_for{dependency="kafka",service="test"} 1',
    'service_halted{part="tables",service="test"} 1',
  ]);
  log = tables = undefined;
  expect(await lines()).toEqual(['service_ready{service="test"} 1']);
});

test('clients of a gateway share an answer of /ready for a second', async () => {
  let looks = 0;
  const checks = [{ name: 'a', check: () => void looks++ }];
  const { url } = await open([], { checks, ops_port: 0 });
  const begun = performance.now();
  const answers = await Promise.all(Array.from({ length: 100 }, () => fetch(`${url}/ready`)));
  const seconds = (performance.now() - begun) / 1_000;
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(looks).toBeLessThanOrEqual(1 + seconds);
});

async function statuses(url: string): Promise<readonly number[]> {
  const paths = ['/health', '/ready', '/status', '/metrics', '/greet/a'];
  return (await Promise.all(paths.map((path) => fetch(url + path)))).map(({ status }) => status);
}

test('with a port for operators /status and /metrics are there alone', async () => {
  const { server } = await open([greet], { ops_port: 0 });
  expect(await statuses(server.url)).toEqual([200, 200, 404, 404, 200]);
  expect(await statuses(server.ops_url)).toEqual([200, 200, 200, 200, 404]);
  for (const method of ['PROPFIND', 'PURGE']) await fetch(`${server.url}/health`, { method });
  const text = await (await fetch(`${server.ops_url}/metrics`)).text();
  expect(text).toContain('route="/health",method="other",status="405"} 2');
  await server.drain();
  await expect(fetch(`${server.ops_url}/metrics`)).rejects.toThrow('fetch failed');
});

/** A connection that has an answer, or was closed. */
async function answerOn(at: number, from = '127.0.0.1'): Promise<Socket> {
  const options = { port: at, host: '127.0.0.1', localAddress: from };
  const socket = connect(options).on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.write('GET /greet/a HTTP/1.1\r\nhost: x\r\n\r\n');
  await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  return socket;
}

test('connections of one client beyond the limit are closed, those behind a proxy are not', async () => {
  const { port } = await open([greet], { http_connections_per_client_max: 2 });
  const proxied = await open([greet], { http_connections_per_client_max: 2, trust_proxy_hops: 1 });
  const [first, second, third] = [await answerOn(port), await answerOn(port), await answerOn(port)];
  expect([first.destroyed, second.destroyed, third.destroyed]).toEqual([false, false, true]);
  expect((await answerOn(port, '127.0.0.2')).destroyed).toBe(false);
  first.destroy();
  await expect.poll(async () => (await answerOn(port)).destroyed).toBe(false);
  for (let more = 0; more < 3; more++) expect((await answerOn(proxied.port)).destroyed).toBe(false);
});

function pipelined(count: number): string {
  const requests = Array.from(
    { length: count },
    (_, at) =>
      `GET /greet/${at} HTTP/1.1\r\nhost: a\r\n${at === count - 1 ? 'connection: close\r\n' : ''}\r\n`,
  );
  return requests.join('');
}

test('sixteen requests that come at once on a connection are answered in order, and more close it', async () => {
  const { port, metrics } = await open([greet]);
  const answered = await raw(port, pipelined(16));
  const names = Array.from(answered.matchAll(/"(\d+)"/g), ([, name]) => Number(name));
  expect(names).toEqual(Array.from({ length: 16 }, (_, at) => at));
  await raw(port, pipelined(2_000)).catch(() => undefined);
  expect((await answerOn(port)).destroyed).toBe(true);
  expect((await answerOn(port, '127.0.0.2')).destroyed).toBe(false);
  await expect.poll(async () => (await answerOn(port)).destroyed).toBe(false);
  const counts = (await metrics.text()).matchAll(/^http_request_seconds_count\{.*\} (\d+)$/gm);
  expect(Array.from(counts, ([, count]) => Number(count)).reduce((a, b) => a + b)).toBeLessThan(50);
});

test('a response has its length, its type and the id of its log line, and does not name the software', async () => {
  const { url, lines } = await open([greet], { headers: { 'access-control-allow-origin': '*' } });
  const answer = await fetch(`${url}/greet/Z%C3%BCrich?q=1`);
  expect(await answer.text()).toBe('"Zürich"');
  const headers = Object.fromEntries(answer.headers);
  expect(headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'content-length': '9',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
  });
  expect(Object.keys(headers)).not.toContain('etag');
  expect(Object.keys(headers)).not.toContain('x-powered-by');
  const logged = (): unknown => lines.find(({ msg }) => msg === 'request');
  await expect.poll(logged).toMatchObject({
    request_id: headers['x-request-id'],
    method: 'GET',
    url: '/greet/Z%C3%BCrich?q=1',
    route: '/greet/:name',
    status: 200,
  });
});

test('a refusal, a fault and a bug become error responses of the service, and only faults and bugs are logged', async () => {
  const { url, lines } = await open([
    { method: 'get', path: '/refuses', handle: () => ({ refused: 'not_yours', message: 'no' }) },
    {
      method: 'get',
      path: '/faults',
      handle: () => Promise.reject(new Fault('storage_timeout', 'at 10.0.0.7', { retry: true })),
    },
    {
      method: 'get',
      path: '/bugs',
      handle: () => {
        throw new TypeError('undefined is not a function');
      },
    },
  ]);
  const answers = [];
  for (const path of ['/refuses', '/faults', '/bugs', '/health']) {
    const answer = await fetch(url + path);
    answers.push([answer.status, await answer.text()]);
  }
  expect(answers).toEqual([
    [404, '{"error":"not_yours"}'],
    [502, '{"error":"storage_timeout"}'],
    [500, '{"error":"internal_error"}'],
    [200, '{"status":"ok"}'],
  ]);
  const errors = lines.filter(({ level }) => level === 'error');
  expect(errors).toMatchObject([
    { route: '/faults', status: 502, msg: 'at 10.0.0.7', err: { code: 'storage_timeout' } },
    { route: '/bugs', status: 500, msg: 'undefined is not a function', err: { type: 'TypeError' } },
  ]);
});

test('an unknown path is 404, another method 405 with the allowed ones, HEAD is GET without a body', async () => {
  const both: Route[] = [
    greet,
    { method: 'post', path: '/greet/:name', handle: () => ({ status: 201, body: '{}' }) },
  ];
  const { url } = await open(both);
  const unknown = await fetch(`${url}/Greet/x`);
  expect([unknown.status, await unknown.text()]).toEqual([404, '{"error":"not_found"}']);
  const wrong = await fetch(`${url}/greet/x`, { method: 'DELETE' });
  expect([wrong.status, wrong.headers.get('allow'), await wrong.text()]).toEqual([
    405,
    'GET, HEAD, POST',
    '{"error":"method_not_allowed"}',
  ]);
  const posted = await fetch(`${url}/health`, { method: 'POST' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  const head = await fetch(`${url}/greet/x`, { method: 'HEAD' });
  expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
    200,
    '3',
    '',
  ]);
  expect((await fetch(`${url}/greet/x`, { method: 'POST' })).status).toBe(201);
});

test('a guard can respond in place of any route', async () => {
  const { url } = await open([greet], {
    guards: [
      ({ path }) =>
        path === '/greet/x'
          ? { status: 429, body: '{}', headers: { 'retry-after': '3' } }
          : undefined,
    ],
  });
  const guarded = await fetch(`${url}/greet/x`);
  expect([guarded.status, guarded.headers.get('retry-after')]).toEqual([429, '3']);
  expect((await fetch(`${url}/greet/y`)).status).toBe(200);
});

test.each([
  '/greet/%ZZ',
  '/greet/%',
  '/nowhere/%f',
  '/greet/%FF',
  '/greet/a?q=%ZZ',
  '/greet/a?q=%C3%28',
])('%s is malformed', async (path) => {
  const { port } = await open([greet]);
  const answer = await raw(port, `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(answer.endsWith('\r\n\r\n{"error":"invalid_request"}')).toBe(true);
});

test('a request that is not HTTP gets an error of the same shape, and its connection is closed', async () => {
  const { port, url } = await open([], { upgrade: (_request, socket) => void socket.destroy() });
  const broken: Readonly<Record<string, string>> = {
    'GARBAGE\r\n\r\n': '400',
    'GET / HTTP/1.1\r\n\r\n': '400',
    'GET /health HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n': '400',
    'GET /health HTTP/1.1\r\nhost: a\r\nexpect: nothing\r\n\r\n': '417',
    'GET /health HTTP/1.1\r\nhost: a\r\ntransfer-encoding: nothing\r\n\r\n': '400',
    'GET /socket HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n':
      '400',
    'POST /health HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n':
      '400',
    'POST /health HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n': '400',
    [`GET /health HTTP/1.1\r\nhost: x\r\nlong: ${'x'.repeat(20_000)}\r\n\r\n`]: '431',
  };
  for (const [bytes, status] of Object.entries(broken)) {
    const answer = await raw(port, bytes);
    expect(answer, bytes.slice(0, 80)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer, bytes.slice(0, 80)).toMatch(/\r\n\r\n\{"error":"invalid_request"\}$/);
  }
  const old = await raw(port, 'GET /health HTTP/1.0\r\n\r\n');
  expect(old).toMatch(/^HTTP\/1\.1 200 /);
  expect((await fetch(`${url}/health`)).status).toBe(200);
});

test('a query that is no UTF-8 is malformed, also where such a path is one that is not there', async () => {
  const undecodable = { status: 404, code: 'not_found', message: 'not found' };
  const { url } = await open([greet], { errors: { ...SHAPE, undecodable } });
  expect((await fetch(`${url}/greet/%zz`)).status).toBe(404);
  expect((await fetch(`${url}/greet/a?%zz`)).status).toBe(400);
});

test('a body that is no HTTP is refused once, also while the response is being made', async () => {
  let waiting = Promise.withResolvers<undefined>();
  const wait = (): Promise<undefined> => waiting.promise;
  async function* pieces(): AsyncGenerator<string> {
    await wait();
    yield 'late';
  }
  const handle = async (): Promise<HttpResponse> => (await wait(), { status: 200, body: 'late' });
  const streamed = (): HttpResponse => ({ status: 200, body: pieces() });
  for (const options of [
    { guards: [wait], routes: [greet] },
    { routes: [{ ...greet, handle }] },
    { routes: [{ ...greet, handle: streamed }] },
  ]) {
    waiting = Promise.withResolvers();
    const { port, lines } = await open([], options);
    const head = 'GET /greet/a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n';
    expect(await raw(port, `${head}no chunk\r\n`)).toMatch(/^HTTP\/1\.1 400 .*\{"error":/s);
    waiting.resolve(undefined);
    await setImmediate();
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  }
});

test('a body that is too large is refused unread, a body of unknown length ends its connection', async () => {
  const { port } = await open([], { body_bytes_max: 10 });
  const large = await raw(port, 'POST /health HTTP/1.1\r\nhost: x\r\ncontent-length: 11\r\n\r\n');
  expect(large).toMatch(/^HTTP\/1\.1 413 /);
  expect(large).toContain('connection: close');
  const head =
    'POST /health HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked';
  const long = await raw(port, `${head}\r\n\r\nb\r\n{"long":"a"}\r\n`);
  expect(long).toMatch(/^HTTP\/1\.1 413 .*"too_large"/s);
  const endless = await raw(
    port,
    'GET /health HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n',
  );
  expect(endless).toMatch(/^HTTP\/1\.1 200 /);
  expect(endless).toContain('connection: close');
  // nothing after it, such as a time-out of the rest that never came
  expect(endless.endsWith('{"status":"ok"}')).toBe(true);
});

test('draining finishes requests in flight, closes idle connections and accepts none', async () => {
  const asked = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const slow: Route = {
    method: 'get',
    path: '/slow',
    handle: async () => {
      asked.resolve();
      await goOn.promise;
      return { status: 200, body: JSON.stringify('x'.repeat(1_000_000)) };
    },
  };
  const { server, url, port } = await open([slow]);
  const idle = connect(port, '127.0.0.1');
  idle.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n');
  await once(idle, 'data');
  const agent = new Agent({ keepAlive: true });
  const answering = new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest(`${url}/slow`, { agent }, resolve).on('error', reject).end();
  });
  await asked.promise;
  let drained = false;
  const draining = server.drain().then(() => (drained = true));
  await once(idle, 'close');
  await expect(fetch(`${url}/health`)).rejects.toThrow('fetch failed');
  expect(drained).toBe(false);
  goOn.resolve();
  const answer = await answering;
  expect([answer.statusCode, answer.headers.connection]).toEqual([200, 'close']);
  expect((await wholeText(answer)).length).toBe(1_000_002);
  await draining;
  agent.destroy();
});

test('draining breaks off what is not answered in time, also what nothing was sent of', async () => {
  const asked = Promise.withResolvers<void>();
  const handle = (): Promise<HttpResponse> => {
    asked.resolve();
    return new Promise(() => undefined);
  };
  const never: Route = { method: 'get', path: '/never', handle };
  const { server, url } = await open([never], { drain_ms: 100 });
  const answer = expect(fetch(`${url}/never`)).rejects.toThrow('fetch failed');
  await asked.promise;
  await server.drain();
  await answer;
});

test('draining waits for a client that still reads, and then not for its connection to time out', async () => {
  const body = JSON.stringify('x'.repeat(20_000_000));
  const { server, port } = await open([
    { method: 'get', path: '/long', handle: () => ({ status: 200, body }) },
  ]);
  const socket = connect(port, '127.0.0.1');
  socket.write('GET /long HTTP/1.1\r\nhost: x\r\n\r\n');
  await once(socket, 'readable');
  const draining = server.drain();
  const answer = await wholeText(socket);
  expect(answer.endsWith(body.slice(-100))).toBe(true);
  expect(answer.length).toBeGreaterThan(body.length);
  await draining;
});

test('a client that leaves before its response is counted with status 499', async () => {
  const asked = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const handle = async (): Promise<{ status: number; body: string }> => {
    asked.resolve();
    await goOn.promise;
    return { status: 200, body: '{}' };
  };
  const { port, url, metrics, lines } = await open([{ method: 'get', path: '/slow', handle }]);
  const socket = connect(port, '127.0.0.1');
  socket.write('GET /slow HTTP/1.1\r\nhost: x\r\n\r\n');
  await asked.promise;
  socket.destroy();
  await expect.poll(() => metrics.text()).toContain('route="/slow",method="GET",status="499"} 1');
  goOn.resolve();
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
});

test('a port in use is a fault with a remedy', async () => {
  const { port } = await open();
  const second = open([], { http_port: port });
  await expect(second).rejects.toMatchObject({ code: 'http_port', retry: false });
  await expect(second).rejects.toThrow(
    `cannot listen on 127.0.0.1:${port}: another process has it (lsof -i :${port} names it); stop that or set APP_HTTP_PORT`,
  );
});

test('a request that offers HTTP/2 is served as HTTP/1.1, also where sockets are served', async () => {
  const { port } = await open([{ ...greet, method: 'post' }], {
    upgrade: () => expect.unreachable(),
  });
  const offer =
    'connection: close, Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__';
  const answer = await raw(
    port,
    `POST /greet/you HTTP/1.1\r\nhost: x\r\n${offer}\r\ncontent-length: 2\r\n\r\n{}`,
  );
  expect([answer.split('\r\n')[0], answer.endsWith('"you"')]).toEqual(['HTTP/1.1 200 OK', true]);
});

test.each([
  ['ASCII', 'abcdefgh'.repeat(100_000)],
  ['other characters', 'Zürich €\u{1F600} '.repeat(60_000)],
])('a long text of %s is sent with its length in bytes', async (_, text) => {
  const answer: HttpResponse = { status: 200, body: text };
  const { url } = await open([{ method: 'get', path: '/long', handle: () => answer }]);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const bytes = Buffer.byteLength(text);
  for (const method of ['GET', 'HEAD', 'GET']) {
    const request = httpRequest(`${url}/long`, { agent, method }).end();
    const [response]: IncomingMessage[] = await once(request, 'response');
    if (response === undefined) throw new Error('no response');
    expect(response.headers['content-length']).toBe(String(bytes));
    expect(await wholeText(response)).toBe(method === 'GET' ? text : '');
  }
});
