import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { PLAIN_ERRORS } from '../../../../services/runtime/http/handler.ts';
import { RateLimit, rateGuard } from '../../../../services/runtime/http/rate-limit.ts';

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

test('health, readiness and metrics are never refused, and a refusal says when to come back', () => {
  const guard = rateGuard(
    new RateLimit({ rate_per_second: 1, rate_burst: 1 }),
    () => 0,
    PLAIN_ERRORS,
  );
  const ask = (path: string): unknown => guard({ path, ip: '10.0.0.1', socket: {} });
  expect(ask('/api/v1/stats')).toBeUndefined();
  expect(ask('/api/v1/stats')).toEqual({
    status: 429,
    body: '{"code":"rate_limited","message":"too many requests: try again in 1 s"}',
    headers: { 'retry-after': '1' },
  });
  for (const path of ['/health', '/ready', '/status', '/metrics'])
    expect(ask(path)).toBeUndefined();
});
