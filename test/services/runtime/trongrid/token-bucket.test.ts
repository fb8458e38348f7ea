import { setTimeout as after } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TokenBucket } from '../../../../services/runtime/trongrid/token-bucket.ts';
import { never } from '../../../support/kafka.ts';

const clock = (): number => performance.now();

/** The most of these moments that lie within one second. */
function mostInOneSecond(moments: readonly number[]): number {
  return Math.max(
    ...moments.map(
      (moment) => moments.filter((each) => each > moment - 1_000 && each <= moment).length,
    ),
  );
}

test('requests run in their order within the rate, and one that hangs holds up no other', async () => {
  const bucket = new TokenBucket({
    requests_per_second: 40,
    requests_per_day: 0,
    now: clock,
    signal: never,
  });
  const starts: number[] = [];
  const order: number[] = [];
  const hanging: (() => void)[] = [];
  const all = Array.from({ length: 55 }, (_, index) =>
    bucket.run(async () => {
      starts.push(clock());
      order.push(index);
      if (index % 10 === 0) await new Promise<void>((resolve) => void hanging.push(resolve));
    }),
  );
  await bucket.idle();
  await all.at(-1);
  expect(order).toEqual(Array.from({ length: 55 }, (_, index) => index));
  expect(mostInOneSecond(starts)).toBeLessThanOrEqual(40);
  for (const resolve of hanging) resolve();
  await Promise.all(all);
});

test('a request waits until it is ready, and those behind it with it', async () => {
  const bucket = new TokenBucket({
    requests_per_second: Infinity,
    requests_per_day: 0,
    now: clock,
    signal: never,
  });
  const done: string[] = [];
  const { promise, resolve: ready } = Promise.withResolvers<void>();
  const first = bucket.run(
    async () => void done.push('first'),
    () => promise,
  );
  const second = bucket.run(async () => void done.push('second'));
  await new Promise((resolve) => void setImmediate(resolve));
  expect(done).toEqual([]);
  ready();
  await Promise.all([first, second]);
  expect(done).toEqual(['first', 'second']);
});

test('a process with a third of the share has a third of the tokens', async () => {
  const bucket = new TokenBucket({
    requests_per_second: 60,
    requests_per_day: 0,
    now: clock,
    signal: never,
  });
  bucket.share(1 / 3);
  const starts: number[] = [];
  for (let request = 0; request < 26; request++)
    await bucket.run(async () => void starts.push(clock()));
  expect(mostInOneSecond(starts)).toBeLessThanOrEqual(20);
});

test('a share expires unless it is renewed, and without one no request is sent', async () => {
  let now = 0;
  const asked: number[] = [];
  const bucket = new TokenBucket({
    requests_per_second: 1_000,
    requests_per_day: 0,
    now: () => now,
    signal: never,
  });
  const ask = (): Promise<number> => bucket.run(() => Promise.resolve(asked.push(now)));
  bucket.share(0.5, 100);
  now = 99;
  await ask();
  // a process that was frozen does not know the shares of the others
  now = 100;
  const late = ask();
  now = 5_000;
  bucket.share(0);
  now = 6_000;
  await after(100);
  expect(asked).toEqual([99]);
  bucket.share(0.5, 100);
  await late;
  expect(asked).toEqual([99, 6_000]);
});

test("the day's bucket begins with a minute's tokens and saves at most ten minutes", async () => {
  let now = 0;
  let taken = 0;
  const stop = new AbortController();
  // 1,440,000 a day are 1,000 a minute
  const bucket = new TokenBucket({
    requests_per_second: Infinity,
    requests_per_day: 1_440_000,
    now: () => now,
    signal: stop.signal,
  });
  const asked: Promise<unknown>[] = [];
  const ask = (requests: number): void => {
    for (let request = 0; request < requests; request++)
      asked.push(bucket.run(() => Promise.resolve(taken++)));
  };
  const settled = async (count: number): Promise<number> => {
    await expect.poll(() => taken).toBe(count);
    // as many turns of the event loop as one more would need, and many more
    for (let turn = 0; turn < 100; turn++)
      await new Promise((resolve) => void setImmediate(resolve));
    return taken;
  };
  ask(1_010);
  expect(await settled(1_000)).toBe(1_000);
  now += 601;
  expect(await settled(1_010)).toBe(1_010);
  now += 3_600_030;
  ask(10_010);
  expect(await settled(10_000 + 1_010)).toBe(11_010);
  stop.abort();
  await Promise.all(asked);
});

test('an abort ends the wait for a token', async () => {
  const stop = new AbortController();
  const bucket = new TokenBucket({
    requests_per_second: 1,
    requests_per_day: 1,
    now: clock,
    signal: stop.signal,
  });
  await bucket.run(() => Promise.resolve());
  const asked = bucket.run(() => Promise.resolve('asked'));
  stop.abort();
  expect(await asked).toBe('asked');
});

test('a failed request ends its turn like any other', async () => {
  const bucket = new TokenBucket({
    requests_per_second: 1_000,
    requests_per_day: 0,
    now: clock,
    signal: never,
  });
  await expect(bucket.run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await bucket.run(() => Promise.resolve('next'))).toBe('next');
});

test("the expected duration follows the second's rate, then the day's once the saved tokens are used", async () => {
  let now = 0;
  const bySecond = new TokenBucket({
    requests_per_second: 4,
    requests_per_day: 0,
    now: () => now,
    signal: never,
  });
  expect(bySecond.expectedMs(100)).toBe(25_000);
  // a minute's tokens at the beginning, ten minutes' at the most: 6 and 60 of 8,640 a day
  const byDay = new TokenBucket({
    requests_per_second: 4,
    requests_per_day: 8_640,
    now: () => now,
    signal: never,
  });
  expect([byDay.expectedMs(6), byDay.expectedMs(66)]).toEqual([1_500, 600_000]);
  now = 86_400_000;
  expect([byDay.expectedMs(60), byDay.expectedMs(66)]).toEqual([15_000, 60_000]);
  await byDay.run(() => Promise.resolve());
  expect(byDay.expectedMs(65)).toBe(60_000);
});

test('a burst waits until its tokens are saved, or as many as can be', async () => {
  // a token each millisecond, of which ten minutes' are kept
  let now = 0;
  const perDay = 86_400_000;
  const bucket = new TokenBucket({
    requests_per_second: 1_000_000,
    requests_per_day: perDay,
    now: () => now,
    signal: never,
  });
  const saved = async (requests: number): Promise<boolean> => {
    let isSaved = false;
    void bucket.saved(requests).then(() => (isSaved = true));
    await after(5);
    return isSaved;
  };
  // it begins with a minute's tokens
  expect([await saved(60_000), await saved(60_001)]).toEqual([true, false]);
  now = 1_000;
  expect([await saved(61_000), await saved(62_000)]).toEqual([true, false]);
  now = 10_000_000;
  expect(await saved(10_000_000)).toBe(true);
  expect(bucket.expectedMs(600_000)).toBe(600);
});
