import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { readHubGatewayConfig } from '../../../../services/hub-gateway/config.ts';
import type { Session } from '../../../../services/hub-gateway/sockets/protocol.ts';
import { SocketServer } from '../../../../services/hub-gateway/sockets/socket-server.ts';
import { RateLimit } from '../../../../services/runtime/limits/rate.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { SECRET } from '../../../support/tokens.ts';
import { RawSocket } from '../raw-socket.ts';

/** A socket of a server without operations, which takes five requests of a client. */
async function open(): Promise<RawSocket> {
  const { url } = await serve();
  return RawSocket.open(url);
}

/** `sessions`: of the sockets, in order. */
async function serve(): Promise<{ readonly url: string; readonly sessions: readonly Session[] }> {
  const sessions: Session[] = [];
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
    }),
    protocol: {
      opened: (socket, session) => {
        socket.onMessage(() => Promise.resolve());
        sessions.push(session);
        return () => Promise.resolve();
      },
    },
    rate: new RateLimit({ rate_per_second: 1, rate_burst: 5 }),
    log: openLog({ service: 'test', level: 'silent' }),
    now: () => 0,
  });
  const server = createServer().on('upgrade', (request, socket, head) =>
    sockets.upgrade(request, socket, head),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    await sockets.close();
    server.close();
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('not listening');
  return { url: `ws://127.0.0.1:${address.port}/graphql/ws`, sessions };
}

test.each(['ping', 'pong'] as const)(
  'each %s that a client sends by itself counts as a message, and too many close its socket',
  async (frame) => {
    const { socket, closed } = await open();
    for (let sent = 0; sent < 6; sent++) socket[frame]();
    expect(await closed).toBe(1008);
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

test('a message of too many fragments closes its socket', async () => {
  const { socket, closed } = await open();
  for (let sent = 0; sent < 300; sent++) socket.send('a', { fin: false });
  expect(await closed).toBe(1008);
});
