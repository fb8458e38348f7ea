import type { IncomingHttpHeaders } from 'node:http';
import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { PLAIN_ERRORS } from '../../../../services/runtime/http/handler.ts';
import { Clients } from '../../../../services/runtime/limits/clients.ts';
import { RateLimit, rateGuard, type Sharing } from '../../../../services/runtime/limits/rate.ts';
import type { SharedCounts } from '../../../../services/runtime/shared-counts.ts';

test('a burst passes at once, then as many a second as the rate says', () => {
  const limit = new RateLimit({ rate_per_second: 10, rate_burst: 3 });
  const waits = [0, 0, 0, 0, 50, 100, 100, 1_000, 1_000, 1_000, 1_000].map((now) =>
    limit.take('a', now),
  );
  expect(waits).toEqual([0, 0, 0, 100, 50, 0, 100, 0, 0, 0, 100]);
});

test('each client has its own bucket', () => {
  const limit = new RateLimit({ rate_per_second: 1, rate_burst: 1 });
  expect([limit.take('a', 0), limit.take('b', 0), limit.take('a', 0), limit.take('b', 0)]).toEqual([
    0, 0, 1_000, 1_000,
  ]);
});

test('in any stretch of time no more than burst and rate together pass', () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 200 });
  fc.assert(
    fc.property(
      gaps,
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 20 }),
      (waits, rate, burst) => {
        const limit = new RateLimit({ rate_per_second: rate, rate_burst: burst });
        let [now, passed] = [0, 0];
        for (const wait of waits) {
          now += wait;
          if (limit.take('a', now) === 0) passed++;
        }
        expect(passed).toBeLessThanOrEqual(burst + (now * rate) / 1_000 + 1e-6);
      },
    ),
  );
});

test('memory is bounded: the least recently seen client is evicted first', () => {
  const limit = new RateLimit({ rate_per_second: 1, rate_burst: 1, clients_max: 3 });
  for (const client of ['a', 'b', 'c', 'a', 'd']) limit.take(client, 0);
  // b was forgotten and starts with a full burst; a was seen again in between and still waits
  expect([limit.take('a', 0), limit.take('b', 0)]).toEqual([1_000, 0]);
});

test('many networks of one IPv6 customer have four times the limit of one, and sixteen in a /48', () => {
  const limit = new RateLimit({ rate_per_second: 1, rate_burst: 2 });
  const passed = (clients: readonly string[]): number =>
    clients.filter((client) => limit.take(client, 0) === 0).length;
  const nearby = Array.from({ length: 100 }, (_, at) => `2001:db8:1:${(at + 0x100).toString(16)}`);
  expect(passed(nearby.flatMap((client) => [client, client, client]))).toBe(8);
  const apart = Array.from(
    { length: 100 },
    (_, at) => `2001:db8:1:${(at * 0x100 + 0x1000).toString(16)}`,
  );
  expect(passed(apart)).toBe(24);
  expect(passed(['2001:db8:2:0', '10.0.0.1'])).toBe(2);
});

test('accounts of the networks of one customer have three times their limits', () => {
  const limit = new RateLimit({ rate_per_second: 1, rate_burst: 2 });
  let passed = 0;
  for (let at = 0; at < 1_000; at++) {
    const network = `2001:db8:1:${(at % 256).toString(16)}`;
    if (limit.take(network, 0, 1, `0x${at}`) === 0) passed++;
  }
  // a burst of 2, of a /56 four times as many
  expect(passed).toBe(2 * 4 * 3);
});

const EXCHANGE = { client: '10.0.0.1', waiting: () => new Clients([]) };

test('a refusal says when to come back', () => {
  const guard = rateGuard(
    new RateLimit({ rate_per_second: 1, rate_burst: 1 }),
    () => 0,
    PLAIN_ERRORS,
  );
  const ask = (): unknown => guard({ exchange: EXCHANGE, headers: {} });
  expect(ask()).toBeUndefined();
  expect(ask()).toEqual({
    status: 429,
    body: '{"code":"rate_limited","message":"too many requests: try again in 1 s"}',
    headers: { 'retry-after': '1' },
  });
});

/** How many requests a full bucket misses after a request with these headers. */
function takenBy(headers: IncomingHttpHeaders): number {
  const limit = new RateLimit({ rate_per_second: 1, rate_burst: 30 });
  const guard = rateGuard(limit, () => 0, PLAIN_ERRORS);
  expect(guard({ exchange: EXCHANGE, headers })).toBeUndefined();
  return limit.take('10.0.0.1', 0, 30) / 1_000;
}

test('a long body counts as several requests, at most as a burst', () => {
  expect(takenBy({})).toBe(1);
  expect(takenBy({ 'content-length': '16384' })).toBe(1);
  expect(takenBy({ 'content-length': '16385' })).toBe(2);
  expect(takenBy({ 'content-length': '327680' })).toBe(20);
  expect(takenBy({ 'content-length': '99999999' })).toBe(30);
  expect(takenBy({ 'transfer-encoding': 'chunked' })).toBe(20);
});

/** As the script counts in Redis, at the time of the fake clock. */
class Counts implements Pick<SharedCounts, 'run'> {
  isAway = false;
  asked = 0;
  readonly #fullAt = new Map<string, number>();

  run(_script: string, keys: readonly string[], values: readonly (string | number)[]) {
    if (this.isAway) return Promise.resolve(undefined);
    this.asked++;
    const [tokenMs = 0, mostMs = 0, ...each] = values.map(Number);
    const now = performance.now();
    return Promise.resolve(
      keys.map((key, at) => {
        const [age = 0, requests = 0] = each.slice(2 * at);
        const full = Math.max(this.#fullAt.get(key) ?? 0, now - age) + requests * tokenMs;
        // no limit: the clock is the test's
        if (full - now <= mostMs) this.#fullAt.set(key, full);
        return (full - now).toFixed(4);
      }),
    );
  }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'performance'], now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

function sharing(counts: Counts): Sharing {
  return { name: 'test', counts, now: () => performance.now() };
}

/** How many of the requests pass, each some ms after the one before, at one of the instances. */
async function passing(
  limits: readonly RateLimit[],
  requests: readonly (readonly [wait: number, instance: number])[],
): Promise<number> {
  let passed = 0;
  for (const [wait, instance] of requests) {
    await vi.advanceTimersByTimeAsync(wait);
    if (limits[instance % limits.length]?.take('a', performance.now()) === 0) passed++;
  }
  return passed;
}

const requests = fc.array(fc.tuple(fc.integer({ min: 0, max: 300 }), fc.nat(5)), {
  maxLength: 200,
});

test('instances that share counts let pass a burst each at most, and the rate of one', async () => {
  await fc.assert(
    fc.asyncProperty(
      requests,
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 2, max: 4 }),
      async (asked, rate, burst, instances) => {
        const counts = new Counts();
        const options = { rate_per_second: rate, rate_burst: burst };
        const limits = Array.from(
          { length: instances },
          () => new RateLimit(options, sharing(counts)),
        );
        const begun = performance.now();
        const passed = await passing(limits, asked);
        const ms = performance.now() - begun;
        // in the time of one message an instance does not know of the others
        const most = instances * (burst + rate / 10) + (ms * rate) / 1_000;
        expect(passed).toBeLessThanOrEqual(most + 1e-3);
      },
    ),
    { numRuns: 5 },
  );
});

test('a client that asks two instances all the time gets the rate of one, its excess made up', async () => {
  const counts = new Counts();
  const options = { rate_per_second: 10, rate_burst: 20 };
  const limits = [new RateLimit(options, sharing(counts)), new RateLimit(options, sharing(counts))];
  const asked = Array.from({ length: 2_000 }, (_, at) => [10, at] as const);
  // 20 s: a burst, and ten each second
  const passed = await passing(limits, asked);
  expect(passed).toBeGreaterThanOrEqual(20 + 200 - 2);
  expect(passed).toBeLessThanOrEqual(20 + 200 + 2);
  // about ten messages a second from each instance, however many requests
  expect(counts.asked).toBeLessThanOrEqual(2 * 200);
});

test('to a single instance shared counts make no difference', async () => {
  await fc.assert(
    fc.asyncProperty(requests, fc.integer({ min: 1, max: 50 }), async (asked, rate) => {
      const options = { rate_per_second: rate, rate_burst: 5 };
      const [alone, shared] = [
        new RateLimit(options),
        new RateLimit(options, sharing(new Counts())),
      ];
      for (const [wait] of asked) {
        await vi.advanceTimersByTimeAsync(wait);
        const now = performance.now();
        expect(shared.take('a', now)).toBeCloseTo(alone.take('a', now), 1);
      }
    }),
    { numRuns: 5 },
  );
});

test('while Redis is away each instance goes on by its own count, and keeps no debt for later', async () => {
  const counts = new Counts();
  counts.isAway = true;
  const options = { rate_per_second: 10, rate_burst: 3 };
  const limits = [new RateLimit(options, sharing(counts)), new RateLimit(options, sharing(counts))];
  const asked = Array.from({ length: 1_000 }, (_, at) => [10, at] as const);
  const away = await passing(limits, asked);
  // 10 s at two instances
  expect(away).toBeGreaterThanOrEqual(2 * (3 + 100 - 2));
  expect(away).toBeLessThanOrEqual(2 * (3 + 100));
  counts.isAway = false;
  const back = await passing(limits, asked);
  expect(back).toBeGreaterThanOrEqual(100 - 3);
  expect(back).toBeLessThanOrEqual(100 + 5);
});

test('an exact count is one of all instances, and that of the instance while Redis is away', async () => {
  const counts = new Counts();
  const options = { rate_per_second: 1, rate_burst: 3 };
  const limits = [new RateLimit(options, sharing(counts)), new RateLimit(options, sharing(counts))];
  const take = async (at: number): Promise<number> => (await limits[at]?.takeExactly('a')) ?? -1;
  expect([await take(0), await take(1), await take(0)]).toEqual([0, 0, 0]);
  expect(await take(1)).toBeCloseTo(1_000, 0);
  await vi.advanceTimersByTimeAsync(1_001);
  expect(await take(0)).toBe(0);
  expect(await take(1)).toBeGreaterThan(900);
  counts.isAway = true;
  await vi.advanceTimersByTimeAsync(10_000);
  for (const at of [0, 1, 0, 1, 0, 1]) expect(await take(at)).toBe(0);
  for (const at of [0, 1]) expect(await take(at)).toBeCloseTo(1_000, 0);
});
