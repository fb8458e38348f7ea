import { expect, test } from 'vitest';
import { SharedLook } from '../../../../services/ops/console/operations.ts';

test('all who ask share one look, and the next one begins when it is old', async () => {
  let looks = 0;
  const kept = new SharedLook(() => Promise.resolve(++looks));
  expect(await Promise.all([kept.ask(), kept.ask()])).toEqual([1, 1]);
  expect(await kept.ask()).toBe(1);
  const old = new SharedLook(() => Promise.resolve(++looks), 0);
  expect([await old.ask(), await old.ask()]).toEqual([2, 3]);
});

test('a look that fails is not kept, and its end is awaited', async () => {
  const first = Promise.withResolvers<number>();
  const looks = [first.promise, Promise.resolve(2)];
  const shared = new SharedLook(() => looks.shift() ?? Promise.resolve(0));
  const asked = shared.ask();
  const idle = shared.idle();
  first.reject(new Error('away'));
  await expect(asked).rejects.toThrow('away');
  await idle;
  expect(await shared.ask()).toBe(2);
});
