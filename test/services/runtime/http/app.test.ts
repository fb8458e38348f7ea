import { connect } from 'node:net';
import { text as wholeText } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import type { Route } from '../../../../services/runtime/http/handler.ts';
import {
  openHttp,
  type HttpOptions,
  type HttpServer,
} from '../../../../services/runtime/http/server.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import { silentLog } from '../../../support/kafka.ts';

let server: HttpServer | undefined;
afterEach(() => server?.drain());

async function open(
  routes: readonly Route[],
  more: Partial<HttpOptions> = {},
): Promise<{ readonly url: string; readonly port: number }> {
  server = await openHttp({
    http_host: '127.0.0.1',
    http_port: 0,
    log: silentLog(),
    metrics: new Metrics('test'),
    routes,
    ...more,
  });
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
      handle: ({ ip, res }) => ({
        status: 200,
        body: JSON.stringify([ip, res?.locals.exchange.client]),
      }),
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

test('a client that leaves 64 MiB of its answers unread gets 429, and others their answer', async () => {
  const body = Buffer.alloc(40 * 1_024 * 1_024, 'x');
  const { port, url } = await open(
    [{ method: 'get', path: '/long', handle: () => ({ status: 200, body }) }],
    { trust_proxy_hops: 1 },
  );
  const socket = connect(port, '127.0.0.1').pause();
  const head = 'GET /long HTTP/1.1\r\nhost: x\r\nx-forwarded-for: 192.0.2.1\r\n\r\n';
  socket.write(head);
  const statusFor = async (client: string): Promise<number> => {
    const answer = await fetch(`${url}/long`, { headers: { 'x-forwarded-for': client } });
    await answer.body?.cancel();
    return answer.status;
  };
  await expect.poll(() => statusFor('192.0.2.1')).toBe(429);
  expect(await statusFor('192.0.2.2')).toBe(200);
  socket.destroy();
});
