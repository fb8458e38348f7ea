import { expect, test } from 'vitest';
import { Turnstile } from '../../../../services/explorer-gateway/export/turnstile.ts';

test('so many are inside at once, so many wait in their order, the rest is turned away', async () => {
  const turnstile = new Turnstile(2, 2);
  const begun: number[] = [];
  const doors = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const passes = doors.map((door, at) =>
    turnstile.pass(async () => {
      begun.push(at);
      await door.promise;
      return at;
    }),
  );
  expect(await passes[4]).toBeUndefined();
  expect(begun).toEqual([0, 1]);
  doors[1]?.resolve();
  expect(await passes[1]).toBe(1);
  await expect.poll(() => begun).toEqual([0, 1, 2]);
  for (const door of doors) door.resolve();
  expect(await Promise.all(passes)).toEqual([0, 1, 2, 3, undefined]);
  expect(await turnstile.pass(() => Promise.resolve('free again'))).toBe('free again');
});

test('whoever fails inside makes room as well', async () => {
  const turnstile = new Turnstile(1, 1);
  const door = Promise.withResolvers<never>();
  const failing = turnstile.pass(() => door.promise);
  const waiting = turnstile.pass(() => Promise.resolve('through'));
  door.reject(new Error('too slow'));
  await expect(failing).rejects.toThrow('too slow');
  expect(await waiting).toBe('through');
});
