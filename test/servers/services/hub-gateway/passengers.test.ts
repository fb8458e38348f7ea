/** Many people behind one address, at the limits that are the default. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { goodToken, SECRET } from '../../../support/tokens.ts';
import { HubWorld } from '../../../services/hub-gateway/hub-world.ts';
import { RawSocket } from '../../../services/hub-gateway/raw-socket.ts';

let world: HubWorld;
beforeAll(async () => {
  // an empty setting has its default
  const settings = { APP_RATE_PER_SECOND: '' };
  world = await HubWorld.open(inject('stack'), { settings });
});
afterAll(() => world.close());

test.each([33, 200])(
  '%d passengers behind one address, each with a token, have three subscriptions of their own each',
  async (people) => {
    const exp = Math.floor(Date.now() / 1_000) + 600;
    const sockets = await Promise.all(
      Array.from({ length: people }, async (_, at) => {
        const pk = `0x${(at + 1).toString(16).padStart(40, '0')}`;
        const socket = await RawSocket.begun(world.socket_url, {
          Authorization: `Bearer ${goodToken({ pk, exp }, SECRET)}`,
        });
        for (const [id, field] of [
          ['balance', `accountBalanceUpdated(publicKey: "${pk}")`],
          ['active', `activeTripsUpdated(passengerAddress: "${pk}") { txHash }`],
          ['recent', `recentTripsUpdated(passengerAddress: "${pk}") { txHash }`],
        ] as const) {
          socket.subscribe(id, `subscription { ${field} }`);
          const { type, payload } = await socket.next((message) => message.id === id);
          expect([type, payload]).toEqual(['next', { data: expect.any(Object) as unknown }]);
        }
        const asked = await world.ask('{ accountBalance }', {}, goodToken({ pk, exp }, SECRET));
        expect([asked.status, asked.data]).toEqual([200, { accountBalance: '0' }]);
        return socket;
      }),
    );
    await Promise.all(sockets.map((socket) => socket.close()));
  },
);

/** Counts as 19 requests by its bytes. */
const LONG = `{ accountBalance }${' '.repeat(300_000)}`;

test('a token with many requests is limited, and others behind its address are not', async () => {
  const exp = Math.floor(Date.now() / 1_000) + 600;
  const token = (digit: string): string => goodToken({ pk: `0x${digit.repeat(40)}`, exp }, SECRET);
  const greedy = await Promise.all(
    Array.from({ length: 100 }, () => world.ask(LONG, {}, token('a'))),
  );
  expect(new Set(greedy.map(({ status }) => status))).toEqual(new Set([200, 429]));
  expect((await world.ask(LONG, {}, token('b'))).status).toBe(200);
});

test('sixty people behind one address may sign in at once, and a client that tries on is refused', async () => {
  const few = { APP_RATE_PER_SECOND: '1', APP_RATE_BURST: '300' };
  const limited = await HubWorld.open(inject('stack'), { settings: few });
  const tries = async (): Promise<unknown> => {
    const { errors } = await limited.ask(
      'mutation { generateToken(publicKey: "0x", timestamp: 1, signature: {r: "", s: "", v: 1}) { token } }',
    );
    return errors[0]?.extensions?.code;
  };
  const first = await Promise.all(Array.from({ length: 60 }, tries));
  expect(new Set(first)).toEqual(new Set(['UNAUTHENTICATED']));
  await expect.poll(tries).toBe('RATE_LIMITED');
  await limited.close();
});
