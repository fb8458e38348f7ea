import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text as wholeText } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import type { Route } from '../../../../services/runtime/http/handler.ts';
import type { HttpResponse } from '../../../../services/runtime/http/response.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import {
  openHttp,
  type HttpOptions,
  type ListenSettings,
  type HttpServer,
} from '../../../../services/runtime/http/server.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import { HANG_MS } from '../../../support/limits.ts';

const MEBIBYTE = 'x'.repeat(1 << 20);

const opened: HttpServer[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(opened.splice(0).map((server) => server.drain()));
});

interface Opened {
  readonly server: HttpServer;
  readonly url: string;
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  readonly metrics: Metrics;
  /** a connection that has sent this and does not read */
  readonly send: (bytes: string) => Socket;
}

/** A server with one path, `/pieces`, and a configurable body. */
async function open(
  answer: () => HttpResponse,
  more: Partial<HttpOptions & ListenSettings> = {},
): Promise<Opened> {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const log = openLog({
    service: 'test',
    level: 'warn',
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const metrics = new Metrics('test');
  const routes: Route[] = [{ method: 'get', path: '/pieces', handle: answer }];
  const server = await openHttp(
    { http_host: '127.0.0.1', http_port: 0, ...more },
    { log, metrics, routes, ...more },
  );
  opened.push(server);
  const send = (bytes: string): Socket => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1').on(
      'error',
      () => undefined,
    );
    sockets.push(socket);
    socket.pause();
    socket.write(bytes);
    return socket;
  };
  return { server, url: `${server.url}/pieces`, lines, metrics, send };
}

const GET = 'GET /pieces HTTP/1.1\r\nhost: x\r\n\r\n';

/** Pieces that tell how many were made and how often they were ended. */
class Told {
  made = 0;
  ended = 0;
  readonly #piece: (at: number) => Promise<string | undefined> | string | undefined;

  /** undefined: the last one was before */
  constructor(piece: Told['piece']) {
    this.#piece = piece;
  }

  get piece(): (at: number) => Promise<string | undefined> | string | undefined {
    return this.#piece;
  }

  async *pieces(): AsyncGenerator<string> {
    try {
      for (;;) {
        await turn();
        const piece = await this.#piece(this.made);
        if (piece === undefined) return;
        this.made++;
        yield piece;
      }
    } finally {
      this.ended++;
    }
  }

  answer(): HttpResponse {
    return {
      status: 200,
      body: this.pieces(),
      content_type: 'text/plain',
      headers: { 'x-told': 'yes' },
    };
  }
}

/** Waits until no further piece was made for a while; how many there are then. */
async function standstill(told: Told): Promise<number> {
  let seen = -1;
  await expect
    .poll(
      () => {
        const stood = seen === told.made;
        seen = told.made;
        return stood && seen > 0;
      },
      { interval: 300 },
    )
    .toBe(true);
  return seen;
}

test('pieces arrive in order, chunked, and the connection serves the next request', async () => {
  const told = new Told((at) => ['Zürich', '', ' and', '', ' Genève'][at]);
  const { url } = await open(() => told.answer());
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let asked = 0; asked < 2; asked++) {
    told.made = 0;
    const request = httpRequest(url, { agent }).end();
    const [answer] = await once(request, 'response');
    expect(await wholeText(answer)).toBe('Zürich and Genève');
    expect(answer.headers).toMatchObject({
      'transfer-encoding': 'chunked',
      'content-type': 'text/plain',
      'x-told': 'yes',
    });
    expect(Object.keys(answer.headers)).not.toContain('content-length');
    expect(request.reusedSocket).toBe(asked === 1);
  }
  expect(told.ended).toBe(2);
  agent.destroy();
});

test('a stream without pieces is a complete, empty body', async () => {
  const { url } = await open(() => new Told(() => undefined).answer());
  const answer = await fetch(url);
  expect([answer.status, answer.headers.get('x-told'), await answer.text()]).toEqual([
    200,
    'yes',
    '',
  ]);
});

test('no chunk is made while the client does not read, and the stream continues when it does', async () => {
  const told = new Told(() => MEBIBYTE);
  const { send, metrics } = await open(() => told.answer());
  const socket = send(GET);
  const made = await standstill(told);
  // the buffers at both ends of the connection
  expect(made).toBeLessThan(30);
  expect(told.ended).toBe(0);
  socket.resume();
  await expect.poll(() => told.made).toBeGreaterThan(made + 50);
  socket.pause();
  await standstill(told);
  socket.destroy();
  await expect.poll(() => told.ended).toBe(1);
  await expect.poll(() => metrics.text()).toContain('route="/pieces",method="GET",status="499"} 1');
});

test('a client that leaves ends the pieces, also while one is being made', async () => {
  const asked = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const told = new Told(async (at) => {
    if (at < 2) return 'x';
    asked.resolve();
    await goOn.promise;
    return 'too late';
  });
  const { send, lines, metrics } = await open(() => told.answer());
  const socket = send(GET);
  await asked.promise;
  socket.destroy();
  await expect.poll(() => metrics.text()).toContain('status="499"} 1');
  goOn.resolve();
  await expect.poll(() => told.ended).toBe(1);
  expect(told.made).toBe(3);
  expect(lines).toEqual([]);
});

test('a client that leaves ends all streams that are pipelined on its connection', async () => {
  const all: Told[] = [];
  const { send } = await open(() => {
    const told = new Told(() => MEBIBYTE);
    all.push(told);
    return told.answer();
  });
  const socket = send(GET.repeat(3));
  await expect.poll(() => all.map(({ made }) => made > 0)).toEqual([true, true, true]);
  for (const told of all) await standstill(told);
  socket.destroy();
  await expect.poll(() => all.map(({ ended }) => ended)).toEqual([1, 1, 1]);
});

test('HEAD sends the head, makes no piece and ends the pieces', async () => {
  let returned = 0;
  const body: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      next: () => Promise.reject(new Error('asked')),
      return: async () => {
        returned++;
        return { done: true, value: undefined };
      },
    }),
  };
  const { url, lines } = await open(() => ({ status: 200, body, headers: { 'x-told': 'yes' } }));
  const answer = await fetch(url, { method: 'HEAD' });
  expect([answer.status, answer.headers.get('x-told'), await answer.text()]).toEqual([
    200,
    'yes',
    '',
  ]);
  expect(returned).toBe(1);
  expect(lines).toEqual([]);
});

const LATER = new Fault('storage_timeout', 'the statement took too long', { retry: true });

test('a fault of the first piece is an ordinary error response', async () => {
  const told = new Told(() => Promise.reject(LATER));
  const { url, lines } = await open(() => told.answer());
  const answer = await fetch(url);
  expect([answer.status, answer.headers.get('x-told'), await answer.json()]).toEqual([
    503,
    null,
    { code: 'storage_timeout', message: 'temporarily unavailable; try again later' },
  ]);
  expect(told.ended).toBe(1);
  expect(lines).toMatchObject([{ level: 'error', route: '/pieces', status: 503 }]);
});

test.each(['1.0', '1.1'])(
  'a fault halfway resets the connection of an HTTP/%s client, and is logged and counted once',
  async (version) => {
    const halfway = Promise.withResolvers<undefined>();
    const told = new Told((at) => (at < 3 ? 'half' : halfway.promise));
    const { send, lines, metrics } = await open(() => told.answer());
    const socket = send(`GET /pieces HTTP/${version}\r\nhost: x\r\n\r\n`);
    const text = wholeText(socket);
    await expect.poll(() => told.made).toBe(3);
    halfway.reject(LATER);
    await expect(text).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(told.ended).toBe(1);
    expect(lines).toMatchObject([
      { level: 'error', route: '/pieces', status: 503, err: { code: 'storage_timeout' } },
    ]);
    await expect
      .poll(() => metrics.text())
      .toContain('route="/pieces",method="GET",status="503"} 1');
  },
);

test('draining waits for a stream that ends', async () => {
  const goOn = Promise.withResolvers<undefined>();
  const told = new Told((at) => (at === 0 ? 'begun' : goOn.promise));
  const { server, url, lines } = await open(() => told.answer(), { drain_ms: HANG_MS });
  const answer = await fetch(url);
  const draining = server.drain();
  goOn.resolve(undefined);
  expect(await answer.text()).toBe('begun');
  await draining;
  expect(lines).toEqual([]);
});

test('draining breaks off a stream that does not end in time', async () => {
  const told = new Told(() => MEBIBYTE);
  const { server, url, lines } = await open(() => told.answer(), { drain_ms: 200 });
  const answer = await fetch(url);
  await server.drain();
  await expect(answer.text()).rejects.toThrow('terminated');
  await expect.poll(() => told.ended).toBe(1);
  expect(lines).toMatchObject([
    {
      level: 'warn',
      responses: 1,
      msg: 'shutdown breaks off responses that are not sent yet',
    },
  ]);
});

test('a client that does not read is disconnected after the idle time', async () => {
  const told = new Told(() => MEBIBYTE);
  const { send } = await open(() => told.answer(), { idle_ms: 300 });
  const socket = send(GET);
  await expect.poll(() => told.ended).toBe(1);
  socket.resume();
  const [error] = await once(socket, 'error');
  expect(error).toMatchObject({ code: 'ECONNRESET' });
});

test('a client is not disconnected while its next piece is being made', async () => {
  const goOn = Promise.withResolvers<undefined>();
  const told = new Told((at) => (at === 0 ? 'begun' : goOn.promise));
  const { url, send } = await open(() => told.answer(), { idle_ms: 300 });
  const answer = await fetch(url);
  // connections that ask nothing come and go meanwhile
  for (let idle = 0; idle < 3; idle++) await once(send('').resume(), 'close');
  goOn.resolve(undefined);
  expect(await answer.text()).toBe('begun');
});
