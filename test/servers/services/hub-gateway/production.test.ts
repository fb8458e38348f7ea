import { once } from 'node:events';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { challengeOf } from '../../../../schemas/sign-in.ts';
import { walletOf } from '../../../support/wallets.ts';
import { HubWorld } from '../../../services/hub-gateway/hub-world.ts';
import { RawSocket } from '../../../services/hub-gateway/raw-socket.ts';
import { HANG_MS } from '../../../support/limits.ts';

const wallet = walletOf('raw', 'production');
let world: HubWorld;

beforeAll(async () => {
  world = await HubWorld.open(inject('stack'), {
    settings: {
      APP_INTROSPECTION: 'false',
      APP_AUTH_SINGLE_USE: 'true',
      APP_RATE_PER_SECOND: '1',
      APP_RATE_BURST: '40',
    },
  });
});
afterAll(() => world.close());

test('without introspection no response names the schema, over HTTP or a socket, and there is no page', async () => {
  const socket = await RawSocket.begun(world.socket_url);
  for (const [at, query] of [
    '{ __schema { types { name } } }',
    '{ __type(name: "Query") { name } }',
    '{ listRideRequest { txHash } }',
  ].entries()) {
    const answer = await world.ask(query);
    expect([answer.status, answer.text]).toEqual([
      400,
      expect.not.stringMatching(/Did you mean|listRideRequests/),
    ]);
    const [message] = await socket.outcome(String(at), query);
    expect([message?.type, JSON.stringify(message)]).toEqual([
      'error',
      expect.not.stringMatching(/Did you mean|listRideRequests"/),
    ]);
  }
  expect((await fetch(`${world.url}/graphql`, { headers: { accept: 'text/html' } })).status).toBe(
    400,
  );
  await socket.close();
});

async function sign(timestamp: number): Promise<string | undefined> {
  const signature = await wallet.sign(challengeOf(7777, wallet.publicKey, timestamp));
  const { publicKey } = wallet;
  const { errors } = await world.generateToken({ publicKey, timestamp, signature });
  return errors[0]?.extensions?.code;
}

test('with single use a challenge is refused the second time', async () => {
  const soon = Math.floor(Date.now() / 1_000) + 30;
  expect(await sign(soon)).toBeUndefined();
  expect(await sign(soon)).toBe('UNAUTHENTICATED');
  expect(await sign(soon + 1)).toBeUndefined();
});

test('the rate limit says when to try again, over HTTP and a socket', async () => {
  const socket = await RawSocket.begun(world.socket_url);
  let limited: Awaited<ReturnType<HubWorld['ask']>> | undefined;
  // at once, since each second allows another
  while (limited === undefined) {
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => world.ask('{ __typename }')),
    );
    limited = answers.find(({ status }) => status === 429);
  }
  expect(limited.errors[0]?.extensions?.code).toBe('RATE_LIMITED');
  expect(limited.headers.get('retry-after')).toBe('1');
  const open = (): Promise<unknown> => RawSocket.open(world.socket_url).catch(String);
  await expect.poll(open).toContain('answered 429');
  await expect
    .poll(async () => {
      const [message] = await socket.outcome(String(socket.messages.length), '{ __typename }');
      return JSON.stringify(message);
    })
    .toContain('RATE_LIMITED');
  await socket.close();
});

test('a socket that pings too often is closed', async () => {
  const socket = await vi.waitFor(() => RawSocket.begun(world.socket_url), {
    timeout: HANG_MS,
    interval: 500,
  });
  const closed = once(socket.socket, 'close');
  for (let ping = 0; ping < 40; ping++) socket.socket.ping();
  const [code, reason]: unknown[] = await closed;
  expect([code, String(reason)]).toEqual([
    1013,
    'too many messages: send fewer, and open a new socket',
  ]);
});
