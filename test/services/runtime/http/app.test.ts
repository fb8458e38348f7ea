import { once } from 'node:events';
import { connect } from 'node:net';
import { text as wholeText } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { AnswerCache } from '../../../../services/runtime/http/answer-cache.ts';
import type { Guard, Route } from '../../../../services/runtime/http/handler.ts';
import type { HttpResponse } from '../../../../services/runtime/http/response.ts';
import {
  openHttp,
  type HttpOptions,
  type HttpServer,
} from '../../../../services/runtime/http/server.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import { Starts } from '../../../../services/runtime/limits/starts.ts';
import { REFUSAL_DELAY_MS } from '../../../../services/runtime/limits/rate.ts';
import { silentLog } from '../../../support/kafka.ts';

let server: HttpServer | undefined;
afterEach(() => server?.drain());

async function open(
  routes: readonly Route[],
  more: Partial<HttpOptions> = {},
): Promise<{ readonly url: string; readonly port: number }> {
  server = await openHttp(
    { http_host: '127.0.0.1', http_port: 0 },
    { log: silentLog(), metrics: new Metrics('test'), routes, ...more },
  );
  return { url: server.url, port: Number(new URL(server.url).port) };
}

test.each([
  [undefined, undefined],
  ['1.1.1.1', '1.1.1.1'],
  ['1.1.1.1, 2.2.2.2', '2.2.2.2'],
  ['1.1.1.1,2.2.2.2 , 3.3.3.3', '3.3.3.3'],
  [' , ,4.4.4.4', '4.4.4.4'],
])(
  'behind one proxy a client with x-forwarded-for %s is %s, for Express and for limits',
  async (forwarded, client) => {
    const where: Route = {
      method: 'post',
      path: '/where',
      handle: ({ ip, exchange }) => ({ status: 200, body: JSON.stringify([ip, exchange.client]) }),
    };
    const { url } = await open([where], { trust_proxy_hops: 1 });
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
    const answer = await fetch(`${url}/where`, { method: 'POST', headers });
    const expected = client ?? '127.0.0.1';
    expect(await answer.json()).toEqual([expected, expected]);
  },
);

test('a parameter after a thousand others is read', async () => {
  const asked: Route = {
    method: 'get',
    path: '/asked',
    handle: ({ query }) => ({ status: 200, body: JSON.stringify(query['limit']) }),
  };
  const { url } = await open([asked]);
  const answer = await fetch(`${url}/asked?${'a&'.repeat(1_000)}limit=1`);
  expect(await answer.text()).toBe('"1"');
});

test("an absolute URL with an invalid host is refused in the service's error shape", async () => {
  const { port } = await open([]);
  const socket = connect(port, '127.0.0.1');
  socket.write('GET http://[::1/list HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  expect(await wholeText(socket)).toMatch(
    /^HTTP\/1\.1 400 .*\r\n\r\n\{"code":"invalid_request",.*\}$/s,
  );
});

/** Keeps answers by their URLs. */
function cacheOf(): HttpOptions['cache'] {
  const version = { known: 0, current: () => Promise.resolve(0) };
  return {
    answers: new AnswerCache(version, { answers_kept_max: 10 }),
    keyOf: ({ originalUrl }) => originalUrl,
  };
}

test.each(['leaves', 'sends no HTTP'])(
  'an answer that others wait for is made also when the client that asked first %s',
  async (how) => {
    const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let made = 0;
    const list: Route = {
      method: 'get',
      path: '/list',
      handle: async () => {
        made++;
        asked.resolve();
        await gate.promise;
        return { status: 200, body: '[1]', is_shared: true };
      },
    };
    let asking = 0;
    const count: Guard = () => void asking++;
    const { url, port } = await open([list], { cache: cacheOf(), guards: [count] });
    const first = connect(port, '127.0.0.1')
      .on('error', () => undefined)
      .resume();
    const closed = once(first, 'close');
    first.write('GET /list HTTP/1.1\r\nhost: x\r\n\r\n');
    await asked.promise;
    const others = [1, 2, 3].map(async () => (await fetch(`${url}/list`)).text());
    await expect.poll(() => asking).toBe(4);
    if (how === 'leaves') first.destroy();
    else first.write('NO HTTP\r\n\r\n');
    await closed;
    gate.resolve();
    expect(await Promise.all(others)).toEqual(['[1]', '[1]', '[1]']);
    expect(made).toBe(1);
  },
);

test('an answer that fails fails for all that wait for it, also when the first has left', async () => {
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const list: Route = {
    method: 'get',
    path: '/list',
    handle: async () => {
      asked.resolve();
      await gate.promise;
      throw new Error('broken');
    },
  };
  let asking = 0;
  const count: Guard = () => void asking++;
  const { url, port } = await open([list], { cache: cacheOf(), guards: [count] });
  const first = connect(port, '127.0.0.1').on('error', () => undefined);
  first.write('GET /list HTTP/1.1\r\nhost: x\r\n\r\nNO HTTP\r\n\r\n');
  await asked.promise;
  const others = [1, 2].map(async () => (await fetch(`${url}/list`)).status);
  await expect.poll(() => asking).toBe(3);
  gate.resolve();
  expect(await Promise.all(others)).toEqual([500, 500]);
});

test('a request for an answer that another makes waits for its own turn, and not for that of the other', async () => {
  const turns = new Map<string, (() => void)[]>();
  const starts = Object.assign(new Starts(), {
    next: (client: string) =>
      new Promise<void>((resolve) => turns.set(client, [...(turns.get(client) ?? []), resolve])),
  });
  const list: Route = {
    method: 'get',
    path: '/list',
    handle: () => ({ status: 200, body: '[1]', is_shared: true }),
  };
  const { url } = await open([list], {
    trust_proxy_hops: 1,
    starts,
    cache: cacheOf(),
  });
  const ask = async (client: string): Promise<string> =>
    (await fetch(`${url}/list`, { headers: { 'x-forwarded-for': client } })).text();
  const asking = [ask('192.0.2.1'), ask('192.0.2.2')];
  await expect.poll(() => turns.size).toBe(2);
  turns.get('192.0.2.2')?.[0]?.();
  expect(await asking[1]).toBe('[1]');
  turns.get('192.0.2.1')?.[0]?.();
  expect(await asking[0]).toBe('[1]');
});

test('an answer from the cache counts for its route, and has no header of the connection it was made on', async () => {
  const metrics = new Metrics('test');
  const mounted: Route = {
    method: 'post',
    path: '/list',
    middleware: [
      (request, response) => {
        request.exchange.markShared();
        response.send('{}');
      },
    ],
  };
  const { url, port } = await open([mounted], {
    metrics,
    cache: cacheOf(),
  });
  for (const _ of [1, 2]) {
    const chunked = connect(port, '127.0.0.1');
    chunked.write(
      'POST /list HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    );
    expect(await wholeText(chunked)).toMatch(/^HTTP\/1\.1 200 .*\r\nconnection: close\r\n/is);
  }
  const answer = await fetch(`${url}/list`, { method: 'POST' });
  expect([answer.status, await answer.text()]).toEqual([200, '{}']);
  expect(answer.headers.get('connection')).not.toBe('close');
  await expect
    .poll(() => metrics.text())
    .toMatch(/^http_request_seconds_count\{.*route="\/list".*\} 3$/m);
});

test('a body of unknown length may come after its head', async () => {
  const echo: Route = {
    method: 'post',
    path: '/own',
    handle: ({ body }) => ({ status: 200, body: String(body) }),
  };
  const { port } = await open([echo]);
  const socket = connect(port, '127.0.0.1');
  const answered = wholeText(socket);
  socket.write(
    'POST /own HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
  );
  // the server has read the head
  await once(socket, 'data');
  socket.write('7\r\n{"a":1}\r\n0\r\n\r\n');
  expect(await answered).toMatch(/\r\n\r\n\{"a":1\}$/);
});

test.each(['foo://bar', 'foo:///list', 'ws://x/list', 'file:///list', 'http://'])(
  'the target %s is refused like any other request, by the guards or in the shape of the service',
  async (target) => {
    const guards: Guard[] = [];
    const { port } = await open(
      [{ method: 'get', path: '/list', handle: () => ({ status: 200, body: '[]' }) }],
      { guards },
    );
    const ask = (): Promise<string> => {
      const socket = connect(port, '127.0.0.1');
      socket.write(`GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
      return wholeText(socket);
    };
    expect(await ask()).toMatch(
      /^HTTP\/1\.1 400 .*x-request-id: .*\r\n\r\n\{"code":"invalid_request",.*\}$/is,
    );
    guards.push(() => ({ status: 418, body: '{}' }));
    expect(await ask()).toMatch(/^HTTP\/1\.1 418 /);
  },
);

function refuse(): HttpResponse {
  return { status: 429, body: '{"code":"rate_limited"}' };
}

test('an answer 429 comes after a delay, whether a guard or a route gives it', async () => {
  const { url } = await open([{ method: 'get', path: '/refused', handle: refuse }], {
    guards: [({ path }) => (path === '/guarded' ? refuse() : undefined)],
  });
  for (const path of ['refused', 'guarded']) {
    const begun = performance.now();
    const answer = await fetch(`${url}/${path}`);
    expect([answer.status, await answer.text()]).toEqual([429, '{"code":"rate_limited"}']);
    // a timer counts from the last turn of the event loop
    expect(performance.now() - begun).toBeGreaterThan(REFUSAL_DELAY_MS - 5);
  }
});
