/** Limits of two instances that share a Redis, each by a connection of its own that can be cut. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { challengeOf } from '../../../../schemas/sign-in.ts';
import { ExportSlots } from '../../../../services/runtime/limits/long-reads.ts';
import { SignIns } from '../../../../services/hub-gateway/graphql/authentication.ts';
import { RateLimit } from '../../../../services/runtime/limits/rate.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import { openSharedCounts, type SharedCounts } from '../../../../services/runtime/shared-counts.ts';
import { FaultProxy } from '../../../support/fault-proxy.ts';
import { SECRET } from '../../../support/tokens.ts';
import { walletOf } from '../../../support/wallets.ts';

interface Instance {
  readonly counts: SharedCounts;
  readonly lines: string[];
  isShared(): Promise<boolean>;
}

let proxy: FaultProxy;
let instances: readonly Instance[];
/** of this test alone: Redis keeps what others count */
let client: string;

beforeEach(async () => {
  const direct = inject('stack').redis_url;
  proxy = await FaultProxy.open({ port: Number(new URL(direct).port) });
  client = randomUUID();
  instances = Array.from({ length: 2 }, () => {
    const lines: string[] = [];
    const log = openLog({
      service: 'test',
      level: 'info',
      destination: { write: (line) => void lines.push(line) },
    });
    const metrics = new Metrics('test');
    const settings = { redis_url: proxy.url(direct) };
    return {
      counts: openSharedCounts(settings, 'test-counts', log, metrics),
      lines,
      isShared: async () => /limits_shared\{.*\} 1\n/.test(await metrics.text()),
    };
  });
  await sharing(true);
});
afterEach(async () => {
  await Promise.all(instances.map(({ counts }) => counts.close()));
  await proxy.close();
});

async function sharing(wanted: boolean): Promise<void> {
  for (const instance of instances) await expect.poll(() => instance.isShared()).toBe(wanted);
}

/** Redis is away and comes back while `meanwhile` runs. */
async function withoutRedis(meanwhile: () => Promise<void>): Promise<void> {
  proxy.mode = 'reset_before';
  proxy.cut();
  await sharing(false);
  await meanwhile();
  proxy.mode = 'pass';
  await sharing(true);
}

/** So slow that no token comes back during a test. */
const RATE = { rate_per_second: 0.001, rate_burst: 5 };

function limits(): readonly RateLimit[] {
  return instances.map(({ counts }) => new RateLimit(RATE, { name: 'test', counts }));
}

function refuses(limit: RateLimit | undefined, who: string): boolean {
  return (limit?.take(who, performance.now()) ?? 0) > 0;
}

test('a request counts at all instances within moments; without Redis at each by itself, and then at all again', async () => {
  const [one, other] = limits();
  const takeAll = (limit: RateLimit | undefined, who: string): void => {
    for (let at = 0; at < RATE.rate_burst; at++) expect(refuses(limit, who)).toBe(false);
    expect(refuses(limit, who)).toBe(true);
  };
  takeAll(one, client);
  // its first request tells it of the others
  expect(refuses(other, client)).toBe(false);
  await expect.poll(() => refuses(other, client)).toBe(true);

  await withoutRedis(async () => {
    takeAll(one, `${client} without`);
    takeAll(other, `${client} without`);
    await Promise.resolve();
  });
  takeAll(one, `${client} after`);
  await expect.poll(() => refuses(other, `${client} after`)).toBe(true);
  for (const { lines } of instances)
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
      'Redis is away; limits count in this process alone until it is back',
      'Redis is back',
    ]);
});

async function take(all: readonly RateLimit[], who: string): Promise<number> {
  let passed = 0;
  for (let at = 0; at < 3 * RATE.rate_burst; at++)
    if ((await all[at % 2]?.takeExactly(who)) === 0) passed++;
  return passed;
}

test('an exact limit is one of all instances; without Redis one of each', async () => {
  expect(await take(limits(), client)).toBe(5);
  await withoutRedis(async () => expect(await take(limits(), `${client} without`)).toBe(10));
  expect(await take(limits(), `${client} after`)).toBe(5);
  // a process that has just been started counts on from there
  expect(await take(limits(), client)).toBe(0);
});

test('a Redis that never answers delays one question for half a second, then nobody', async () => {
  const [one] = limits();
  proxy.mode = 'black_hole';
  expect(await one?.takeExactly(client)).toBe(0);
  expect(await instances[0]?.isShared()).toBe(false);
  const asked = proxy.counts.black_hole;
  for (let at = 1; at < RATE.rate_burst; at++) expect(await one?.takeExactly(client)).toBe(0);
  expect(await one?.takeExactly(client)).toBeGreaterThan(0);
  expect(proxy.counts.black_hole).toBe(asked);
  proxy.mode = 'pass';
  await sharing(true);
  expect(instances[0]?.lines.join()).toContain('no answer within 500 ms');
});

test('exports count at all instances, a killed one frees its slots in time, and without Redis each counts its own', async () => {
  const { promise: never } = Promise.withResolvers<never>();
  const slots = (): readonly ExportSlots[] =>
    instances.map(({ counts }) => new ExportSlots(4, counts));
  async function* pieces(): AsyncGenerator<string> {
    yield await never;
  }
  const hold = async (of: ExportSlots | undefined, who: string) => {
    const held = await of?.hold(who, () => Promise.resolve({ pieces: pieces(), headers: {} }));
    return held !== undefined && 'body' in held ? held.body[Symbol.asyncIterator]() : undefined;
  };
  await instances[0]?.counts.run("redis.call('DEL', KEYS[1])", ['limits:exports'], []);
  const [one, other] = slots();
  const held = [await hold(one, client), await hold(other, client)];
  expect(held).not.toContain(undefined);
  // half of them are the most for one client
  expect(await hold(other, client)).toBeUndefined();
  const others = [await hold(one, `${client} 2`), await hold(other, `${client} 3`)];
  expect(others).not.toContain(undefined);
  expect(await hold(other, `${client} 4`)).toBeUndefined();
  await held[0]?.return?.();
  await expect.poll(async () => (await hold(other, `${client} 4`)) !== undefined).toBe(true);

  await withoutRedis(async () => {
    const [third] = slots();
    expect(await hold(third, client)).toBeDefined();
    expect(await hold(third, `${client} 2`)).toBeDefined();
  });
  const left = await instances[0]?.counts.run(
    "return redis.call('PTTL', KEYS[1])",
    ['limits:exports'],
    [],
  );
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(30_000);
});

test('a challenge is used once at all hubs and after a restart; without Redis once at each, and none from before its start', async () => {
  const wallet = walletOf('raw', client);
  let now = Date.now();
  const settings = {
    jwt_secret: SECRET,
    chain_id: 7777,
    jwt_expiration_hours: 6,
    auth_single_use: true,
  };
  const hubs = () => instances.map(({ counts }) => new SignIns(settings, () => now, counts));
  const use = async (hub: SignIns | undefined, timestamp: number): Promise<unknown> => {
    const { publicKey } = wallet;
    const signature = await wallet.sign(challengeOf(7777, publicKey, timestamp));
    const signed = await hub?.signIn({ publicKey, timestamp, signature });
    return signed !== undefined && 'refused' in signed ? signed.refused : 'used';
  };
  const [one, other] = hubs();
  const ahead = Math.floor(now / 1_000) + 100;
  const uses = await Promise.all([use(one, ahead), use(one, ahead), use(other, ahead)]);
  expect(uses.toSorted()).toEqual(['used', 'used_before', 'used_before']);
  now += 10_000;
  const [restarted] = hubs();
  expect(await use(restarted, ahead)).toBe('used_before');
  // of a wallet whose clock is behind
  expect(await use(restarted, ahead - 150)).toBe('used');

  await withoutRedis(async () => {
    const both = hubs();
    expect(await use(both[0], ahead + 1)).toBe('used');
    expect(await use(both[0], ahead + 1)).toBe('used_before');
    expect(await use(both[1], ahead + 1)).toBe('used');
    expect(await use(both[0], ahead - 151)).toBe('from_before');
  });
});
