import { expect, test } from 'vitest';
import { inOrder } from '../../../../services/runtime/postgres/pipeline.ts';

test('the results of statements stand in the order in which they were sent', async () => {
  const last = Promise.withResolvers<number>();
  const results = inOrder([last.promise, Promise.resolve('two')]);
  last.resolve(1);
  expect(await results).toEqual([1, 'two']);
});

test('the error of the first statement is thrown, though others fail earlier, once all are answered', async () => {
  const [first, third] = [Promise.withResolvers(), Promise.withResolvers()];
  let isOver = false;
  const results = inOrder([
    Promise.resolve(),
    first.promise,
    Promise.reject(new Error('current transaction is aborted')),
    third.promise,
  ]).finally(() => (isOver = true));
  results.catch(() => undefined);
  first.reject(new Error('disk full'));
  await expect(first.promise).rejects.toThrow('disk full');
  expect(isOver).toBe(false);
  third.reject(new Error('current transaction is aborted'));
  await expect(results).rejects.toThrow('disk full');
});
