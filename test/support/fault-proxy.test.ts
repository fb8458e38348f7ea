import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { FaultProxy, type FaultProxyOptions } from './fault-proxy.ts';

const seen: string[] = [];
const sockets = new Set<Socket>();
let server: Server;
let port: number;

/** Answers each chunk with `<` + chunk + `>`. */
beforeAll(async () => {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      seen.push(chunk.toString());
      socket.write(`<${chunk.toString()}>`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address !== null && typeof address !== 'string') ({ port } = address);
});

afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

beforeEach(() => {
  seen.length = 0;
});

async function openProxy(options: Partial<FaultProxyOptions> = {}): Promise<FaultProxy> {
  const proxy = await FaultProxy.open({ port, ...options });
  onTestFinished(() => proxy.close());
  return proxy;
}

interface Answer {
  /** the bytes until the awaited number was reached or the connection ended */
  readonly text: string;
  readonly error: string | undefined;
}

/** Sends a request and waits for an answer of that length. */
async function ask(
  proxy: FaultProxy,
  request: Buffer | string,
  length: number = request.length + 2,
): Promise<Answer> {
  const socket = connect({ host: '127.0.0.1', port: proxy.port });
  onTestFinished(() => void socket.destroy());
  let text = '';
  let error: string | undefined;
  return await new Promise((resolve) => {
    const done = (): void => resolve({ text, error });
    socket.on('data', (chunk) => {
      text += chunk.toString();
      if (text.length >= length) done();
    });
    socket.on('error', (cause: NodeJS.ErrnoException) => {
      error = cause.code;
    });
    socket.on('close', done);
    socket.write(request);
  });
}

test('bytes of any size pass unchanged in both directions', async () => {
  const proxy = await openProxy();
  expect(await ask(proxy, 'one')).toEqual({ text: '<one>', error: undefined });
  const large = 'x'.repeat(5_000_000);
  const { text } = await ask(proxy, large, large.length);
  expect(text.replaceAll(/[<>]/g, '').length).toBeGreaterThanOrEqual(large.length - 1_000);
  expect(seen.join('').slice(3)).toBe(large);
  expect(proxy.url('http://user:pass@localhost:1/a?b=c')).toBe(
    `http://user:pass@127.0.0.1:${proxy.port}/a?b=c`,
  );
});

test('reset_before drops the request, reset_after only the response', async () => {
  const proxy = await openProxy();
  proxy.next('reset_before');
  expect(await ask(proxy, 'before')).toEqual({ text: '', error: 'ECONNRESET' });
  expect(seen).toEqual([]);
  proxy.next('reset_after');
  expect(await ask(proxy, 'after')).toEqual({ text: '', error: 'ECONNRESET' });
  expect(seen).toEqual(['after']);
  expect(await ask(proxy, 'next')).toEqual({ text: '<next>', error: undefined });
  expect(proxy.counts).toMatchObject({
    connections: 3,
    requests: 3,
    reset_before: 1,
    reset_after: 1,
    pass: 1,
  });
});

test('a truncated response ends after its first half', async () => {
  const proxy = await openProxy();
  proxy.next('truncate');
  expect(await ask(proxy, '12345678')).toMatchObject({ text: '<1234' });
  expect(seen).toEqual(['12345678']);
});

test('a black hole swallows a connection silently; the next one passes', async () => {
  const proxy = await openProxy();
  proxy.mode = 'black_hole';
  const swallowed = ask(proxy, 'gone');
  await expect.poll(() => proxy.counts.black_hole).toBe(1);
  proxy.mode = 'pass';
  expect(await ask(proxy, 'next')).toMatchObject({ text: '<next>' });
  expect(seen).toEqual(['next']);
  proxy.cut();
  expect(await swallowed).toEqual({ text: '', error: 'ECONNRESET' });
});

test('a delayed request does not delay other connections', async () => {
  const proxy = await openProxy();
  proxy.delay_ms = 300;
  proxy.next('delay');
  const begun = performance.now();
  const late = ask(proxy, 'late');
  await expect.poll(() => proxy.counts.delay).toBe(1);
  expect(await ask(proxy, 'soon')).toMatchObject({ text: '<soon>' });
  expect(await late).toMatchObject({ text: '<late>' });
  expect(performance.now() - begun).toBeGreaterThan(299);
});

test('an unreachable server shows as a reset', async () => {
  const proxy = await openProxy({ port: 1 });
  expect(await ask(proxy, 'anybody')).toEqual({ text: '', error: 'ECONNRESET' });
});

/** The results of 60 requests, R for a reset. */
async function scheduled(seed: number): Promise<string> {
  const proxy = await openProxy();
  proxy.resetEvery(4, seed);
  let outcomes = '';
  for (let at = 0; at < 60; at++)
    outcomes += (await ask(proxy, 'x')).error === undefined ? '.' : 'R';
  expect(proxy.counts.reset_before + proxy.counts.reset_after).toBe(
    outcomes.replaceAll('.', '').length,
  );
  expect(proxy.counts.reset_before).toBeGreaterThan(0);
  expect(proxy.counts.reset_after).toBeGreaterThan(0);
  proxy.resetEvery(Infinity);
  expect(await ask(proxy, 'x')).toMatchObject({ error: undefined });
  return outcomes;
}

test('a schedule breaks about one request in n, the same ones for the same seed', async () => {
  const outcomes = await scheduled(7);
  expect(outcomes.replaceAll('.', '').length).toBeGreaterThan(5);
  expect(outcomes.replaceAll('.', '').length).toBeLessThan(30);
  expect(await scheduled(7)).toBe(outcomes);
  expect(await scheduled(8)).not.toBe(outcomes);
});

function frame(apiKey: number, body: string): Buffer {
  const bytes = Buffer.alloc(6 + body.length);
  bytes.writeInt32BE(2 + body.length, 0);
  bytes.writeInt16BE(apiKey, 4);
  bytes.write(body, 6);
  return bytes;
}

test('Kafka requests are recognised at any chunk boundary, and only the chosen kinds are broken', async () => {
  const proxy = await openProxy({ requests: 'kafka', api_keys: [0] });
  const socket = connect({ host: '127.0.0.1', port: proxy.port });
  let code: string | undefined;
  socket.on('error', (error: NodeJS.ErrnoException) => {
    code = error.code;
  });
  const bytes = Buffer.concat([frame(3, 'metadata'), frame(1, 'fetch'), frame(3, 'metadata')]);
  for (let at = 0; at < bytes.length; at += 5) {
    socket.write(bytes.subarray(at, at + 5));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await expect.poll(() => proxy.counts.requests).toBe(3);
  expect([proxy.requestsOf(1), proxy.requestsOf(3), proxy.requestsOf(0)]).toEqual([1, 2, 0]);
  proxy.next('reset_before');
  socket.write(Buffer.concat([frame(3, 'metadata'), frame(0, 'produce')]));
  await expect.poll(() => code).toBe('ECONNRESET');
  expect(proxy.counts).toMatchObject({ pass: 4, reset_before: 1 });
  await expect.poll(() => seen.join('')).toContain('fetch');
  expect(seen.join('')).not.toContain('produce');
});
