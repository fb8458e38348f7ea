import { expect, test } from 'vitest';
import { Semaphore } from '../../../../services/explorer-gateway/routes/transactions.ts';

test('a semaphore runs so many at once, queues so many in order and rejects the rest', async () => {
  const semaphore = new Semaphore(2, 2);
  const started: number[] = [];
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const runs = gates.map((gate, at) =>
    semaphore.run(async () => {
      started.push(at);
      await gate.promise;
      return at;
    }),
  );
  expect(await runs[4]).toBeUndefined();
  expect(started).toEqual([0, 1]);
  gates[1]?.resolve();
  expect(await runs[1]).toBe(1);
  await expect.poll(() => started).toEqual([0, 1, 2]);
  for (const gate of gates) gate.resolve();
  expect(await Promise.all(runs)).toEqual([0, 1, 2, 3, undefined]);
  expect(await semaphore.run(() => Promise.resolve('free again'))).toBe('free again');
});

test('work that fails gives its permit back', async () => {
  const semaphore = new Semaphore(1, 1);
  const gate = Promise.withResolvers<never>();
  const failing = semaphore.run(() => gate.promise);
  const waiting = semaphore.run(() => Promise.resolve('done'));
  gate.reject(new Error('too slow'));
  await expect(failing).rejects.toThrow('too slow');
  expect(await waiting).toBe('done');
});
