import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { readHubGatewayConfig } from '../../../../services/hub-gateway/config.ts';
import type { Session } from '../../../../services/hub-gateway/sockets/protocol.ts';
import { SocketServer } from '../../../../services/hub-gateway/sockets/socket-server.ts';
import { openLimits } from '../../../../services/runtime/limits/limits.ts';
import { RateLimit } from '../../../../services/runtime/limits/rate.ts';
import { Starts } from '../../../../services/runtime/limits/starts.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import { SECRET } from '../../../support/tokens.ts';
import { RawSocket } from '../raw-socket.ts';

/** A socket of a server without operations, which takes five requests of a client. */
async function open(): Promise<RawSocket> {
  const { url } = await serve();
  return RawSocket.open(url);
}

interface Served {
  readonly url: string;
  /** of the sockets, in order */
  readonly sessions: readonly Session[];
  /** those that the protocol has been told the end of */
  readonly ended: readonly Session[];
  readonly metrics: Metrics;
  /** the connections that asked to be sockets */
  readonly upgraded: readonly Duplex[];
}

async function serve(
  variables: Readonly<Record<string, string>> = {},
  starts = new Starts(),
): Promise<Served> {
  const sessions: Session[] = [];
  const ended: Session[] = [];
  const metrics = new Metrics('test');
  const sockets = new SocketServer({
    settings: readHubGatewayConfig({
      APP_NETWORK: 'testnet',
      APP_CHAIN_ID: '1',
      APP_POSTGRES_READER_URL: 'postgres://localhost/a',
      APP_REDIS_URL: 'redis://localhost',
      APP_NODE_URL: 'http://localhost',
      APP_JWT_SECRET: SECRET,
      APP_HTTP_PORT: '0',
      APP_OPS_PORT: '0',
      ...variables,
    }),
    protocol: {
      opened: (socket, session) => {
        socket.onMessage(() => Promise.resolve());
        sessions.push(session);
        return () => {
          ended.push(session);
          return Promise.resolve();
        };
      },
    },
    rate: new RateLimit({ rate_per_second: 1, rate_burst: 5 }),
    limits: openLimits(new Set(), metrics),
    starts,
    log: openLog({ service: 'test', level: 'silent' }),
    now: () => 0,
  });
  const upgraded: Duplex[] = [];
  const server = createServer().on('upgrade', (upgrade, socket, head) => {
    upgraded.push(socket);
    sockets.upgrade(upgrade, socket, head);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    await sockets.close();
    server.close();
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('not listening');
  return { url: `ws://127.0.0.1:${address.port}/graphql/ws`, sessions, ended, metrics, upgraded };
}

test.each(['ping', 'pong'] as const)(
  'each %s that a client sends by itself counts as a message, and too many close its socket',
  async (frame) => {
    const { socket, closed } = await open();
    for (let sent = 0; sent < 6; sent++) socket[frame]();
    expect(await closed).toBe(1013);
  },
);

test.each([
  ['bytes', Buffer.of(0)],
  ['messages of a server', '{"type":"next"}'],
])('%s close a socket, and what comes after them is not read', async (_what, message) => {
  const { url } = await serve();
  const { socket, closed } = await RawSocket.open(url);
  for (let sent = 0; sent < 20_000; sent++) socket.send(message);
  expect([1006, 4400]).toContain(await closed);
  // the sockets and the messages of the client are counted together
  await expect(RawSocket.open(url)).rejects.toThrow('answered 429');
});

test('each socket that a client opens counts as a request', async () => {
  const { url } = await serve();
  for (let opened = 0; opened < 5; opened++) await (await RawSocket.open(url)).close();
  await expect(RawSocket.open(url)).rejects.toThrow('answered 429');
});

test.each([
  ['fragments', (socket: WebSocket) => socket.send('a', { fin: false }), 300, 1008],
  ['bytes', (socket: WebSocket) => socket.send('a'.repeat(100_000)), 1, 1009],
] as const)(
  'a message of too many %s closes its socket, and is counted',
  async (_, send, times, code) => {
    const { url, metrics } = await serve();
    const { socket, closed } = await RawSocket.open(url);
    for (let sent = 0; sent < times; sent++) send(socket);
    expect(await closed).toBe(code);
    expect(await metrics.text()).toMatch(/^limit_refusals_total\{.*limit="bytes".*\} 1$/m);
  },
);

test('messages of a caller with a token count for the account, not for all of its address', async () => {
  const { url, sessions } = await serve();
  const sockets = [await RawSocket.open(url), await RawSocket.open(url)];
  for (const [at, session] of sessions.entries())
    session.caller = { account: `0x${at}`, expires_at: 1 };
  for (const { socket } of sockets)
    for (let sent = 0; sent < 5; sent++) socket.send('{"id":"1","type":"complete"}');
  sockets[0]?.socket.send('{"id":"1","type":"complete"}');
  expect(await sockets[0]?.closed).toBe(1013);
  expect(sockets[1]?.socket.readyState).toBe(WebSocket.OPEN);
});

test('a handshake that fails leaves its place to another socket', async () => {
  const { url } = await serve({ APP_SOCKETS_PER_CLIENT_MAX: '1' });
  const handshake = request(url.replace('ws', 'http'), {
    headers: { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '7' },
  });
  handshake.end();
  const [answer] = await once(handshake, 'response');
  expect(answer.statusCode).toBe(400);
  await once(answer.resume(), 'close');
  await expect(RawSocket.open(url)).resolves.toBeDefined();
});

test('a socket opens at the turn of its client', async () => {
  const starts = new Starts();
  const { promise: turn, resolve: begin } = Promise.withResolvers<void>();
  const next = vi.spyOn(starts, 'next').mockReturnValueOnce(turn);
  const { url, sessions } = await serve({}, starts);
  const opening = RawSocket.open(url);
  await vi.waitFor(() => expect(next).toHaveBeenCalledOnce());
  expect(sessions).toHaveLength(0);
  begin();
  await opening;
  expect(sessions).toHaveLength(1);
});

test('a socket that is gone at its turn takes no place', async () => {
  const starts = new Starts();
  const { promise: turn, resolve: begin } = Promise.withResolvers<void>();
  const next = vi.spyOn(starts, 'next').mockReturnValueOnce(turn);
  const { url, upgraded } = await serve({ APP_SOCKETS_PER_CLIENT_MAX: '1' }, starts);
  const gone = RawSocket.open(url);
  const failed = expect(gone).rejects.toThrow('socket hang up');
  await vi.waitFor(() => expect(next).toHaveBeenCalledOnce());
  upgraded[0]?.destroy();
  await failed;
  begin();
  await expect(RawSocket.open(url)).resolves.toBeDefined();
});

test('operations that wait to start are bounded, and end with their socket', async () => {
  const starts = new Starts();
  const turns: (() => void)[] = [];
  const { url, sessions, ended } = await serve({}, starts);
  const { socket, closed } = await RawSocket.open(url);
  vi.spyOn(starts, 'next').mockImplementation(
    () => new Promise((resolve) => void turns.push(resolve)),
  );
  for (let sent = 0; sent < 2_000; sent++) socket.send('{"id":"1","type":"subscribe"}');
  expect([1006, 1013]).toContain(await closed);
  vi.restoreAllMocks();
  // the first alone has asked for a turn; the others are dropped with it
  expect(turns).toHaveLength(1);
  expect(ended).toEqual([]);
  turns[0]?.();
  await vi.waitFor(() => expect(ended).toEqual(sessions));
});
