/** Many people behind one address, at the limits that are the default. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { goodToken, SECRET } from '../../../support/tokens.ts';
import { HubWorld } from '../../../services/hub-gateway/hub-world.ts';
import { RawSocket } from '../../../services/hub-gateway/raw-socket.ts';

let world: HubWorld;
beforeAll(async () => {
  // an empty setting has its default
  const settings = { APP_RATE_PER_SECOND: '', APP_SIGN_INS_PER_MINUTE: '' };
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

test('a token with many requests is limited, and others behind its address are not', async () => {
  const exp = Math.floor(Date.now() / 1_000) + 600;
  const token = (digit: string): string => goodToken({ pk: `0x${digit.repeat(40)}`, exp }, SECRET);
  const ask = async (by: string): Promise<number> =>
    (await world.ask('{ accountBalance }', {}, by)).status;
  const greedy = await Promise.all(Array.from({ length: 600 }, () => ask(token('a'))));
  expect(new Set(greedy)).toEqual(new Set([200, 429]));
  expect(await ask(token('b'))).toBe(200);
});
