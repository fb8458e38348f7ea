import { expect, test } from 'vitest';
import { RateLimit, RequestCounter } from '../../../../infra/devnet/tron/provider.ts';
import { withDevnet } from '../../../support/devnet.ts';
import { ALICE, TestTron } from '../../../support/tron.ts';

const LIST = '/v1/accounts/:address/transactions/trc20';

test('every request is counted by its route, also when a fault or a refusal answers it', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const figures = async (method = 'GET'): Promise<unknown> =>
      (await devnet.admin('/admin/tron/requests', undefined, method)).body;
    expect(await figures()).toEqual({ total: 0, by_path: {}, max_in_1s: 0 });
    await tron.confirmed(ALICE);
    await tron.ask('/v1/accounts/me/transactions/trc20');
    await tron.fault('status_429', 1);
    await tron.ask('/walletsolidity/getnowblock', {});
    await tron.head();
    await tron.ask('/v1/nothing');
    expect(await figures()).toEqual({
      total: 5,
      by_path: { [LIST]: 2, '/walletsolidity/getnowblock': 2, other: 1 },
      max_in_1s: expect.any(Number),
    });
    expect(await figures('DELETE')).toEqual({ total: 0, by_path: {}, max_in_1s: 0 });
  }));

test('max_in_1s is the maximum of any sliding second', () => {
  const counter = new RequestCounter();
  for (const moment of [0, 900, 1_000, 1_200, 9_000]) counter.add('/a', moment);
  expect(counter.counts()).toEqual({ total: 5, by_path: { '/a': 5 }, max_in_1s: 3 });
});

test('a client over the limit is suspended for the configured time', () => {
  const limit = new RateLimit(2, 30_000);
  expect([0, 1, 1_001, 1_002, 1_003, 31_002, 31_003].map((moment) => limit.allows(moment))).toEqual(
    [true, true, true, true, false, false, true],
  );
  const none = new RateLimit(0, 30_000);
  expect(Array.from({ length: 100 }, () => none.allows(0)).every(Boolean)).toBe(true);
});

test('the limit answers as TronGrid does', () =>
  withDevnet(
    async (devnet) => {
      const asked = await Promise.all(
        Array.from({ length: 30 }, () => devnet.tron('/walletsolidity/getnowblock')),
      );
      const suspended = {
        Error: 'The key exceeds the frequency limit(3), and the query server is suspended for 600s',
        StatusCode: 403,
      };
      const refused = asked.filter(({ status }) => status !== 200);
      expect(refused.length).toBeGreaterThan(0);
      for (const answer of refused) expect(answer).toEqual({ status: 403, body: suspended });
      expect((await devnet.tron('/walletsolidity/getnowblock')).status).toBe(403);
    },
    { APP_DEVNET_TRON_RATE_PER_SECOND: '3', APP_DEVNET_TRON_SUSPENDED_MS: '600000' },
  ));

async function statusWith(url: string, key: string | undefined): Promise<number> {
  const response = await fetch(
    `${url}/walletsolidity/getnowblock`,
    key === undefined ? {} : { headers: { 'TRON-PRO-API-KEY': key } },
  );
  return response.status;
}

test('the operator of the devnet changes the keys that are accepted, and sees the use of each', () =>
  withDevnet(async (devnet) => {
    const both = async (): Promise<readonly number[]> => [
      await statusWith(devnet.tron_url, 'old'),
      await statusWith(devnet.tron_url, 'new'),
    ];
    const accept = async (keys: unknown): Promise<number> =>
      (await devnet.admin('/admin/tron/keys', { keys })).status;
    expect([await accept(['old', 'new']), ...(await both())]).toEqual([200, 200, 200]);
    expect([await accept(['new']), ...(await both())]).toEqual([200, 401, 200]);
    expect([await accept('new'), ...(await both())]).toEqual([400, 401, 200]);
    expect((await devnet.admin('/admin/tron/keys', undefined, 'GET')).body).toEqual({
      old: 1,
      new: 3,
    });
  }));

test('a required API key is checked; otherwise any key is accepted', async () => {
  await withDevnet(async ({ tron_url }) => {
    expect([await statusWith(tron_url, undefined), await statusWith(tron_url, 'anything')]).toEqual(
      [200, 200],
    );
  });
  await withDevnet(
    async ({ tron_url }) => {
      expect([
        await statusWith(tron_url, undefined),
        await statusWith(tron_url, 'anything'),
        await statusWith(tron_url, 'sesame'),
      ]).toEqual([401, 401, 200]);
    },
    { APP_DEVNET_TRON_API_KEY: 'sesame' },
  );
});
