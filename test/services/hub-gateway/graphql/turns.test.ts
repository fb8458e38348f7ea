import { expect, onTestFinished, test, vi } from 'vitest';
import { Turns } from '../../../../services/hub-gateway/graphql/turns.ts';

/** Takes a turn for each of these lists of clients; each turn ends when the next one is awaited. */
async function orderOf(turns: Turns, waiting: Readonly<Record<string, string[]>>) {
  const end = await turns.take(['someone']);
  const order: string[] = [];
  const all = Object.entries(waiting).map(async ([name, clients]) => {
    const endOwn = await turns.take(clients);
    order.push(name);
    endOwn();
  });
  end();
  await Promise.all(all);
  return order;
}

test('clients take turns, whatever one of them sends', async () => {
  const order = await orderOf(new Turns(1), {
    a1: ['a'],
    a2: ['a'],
    a3: ['a'],
    b1: ['b'],
    c1: ['c'],
  });
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'a3']);
});

test('an operation for several clients waits in the shortest of their lanes', async () => {
  const order = await orderOf(new Turns(1), {
    a1: ['a'],
    a2: ['a'],
    b1: ['b'],
    shared: ['a', 'b', 'c'],
  });
  expect(order).toEqual(['a1', 'b1', 'shared', 'a2']);
});

test('so many clients have a turn at once, each of them one, and each turn ends once', async () => {
  const turns = new Turns(2);
  const [first, second] = [await turns.take(['a']), await turns.take(['b'])];
  const begun: string[] = [];
  const waiting = ['a', 'c', 'd'].map(async (client) => {
    const end = await turns.take([client]);
    begun.push(client);
    return end;
  });
  second();
  second();
  const end = await waiting[1];
  expect(begun).toEqual(['c']);
  end?.();
  await waiting[2];
  expect(begun).toEqual(['c', 'd']);
  first();
  await waiting[0];
});

test('a client rests after a long turn, while others go on', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const turns = new Turns(1);
  const end = await turns.take(['a']);
  vi.advanceTimersByTime(50);
  end();
  let hasBegun = false;
  const again = turns.take(['a']).then((endAgain) => {
    hasBegun = true;
    return endAgain;
  });
  (await turns.take(['b']))();
  vi.advanceTimersByTime(949);
  (await turns.take(['b']))();
  expect(hasBegun).toBe(false);
  vi.advanceTimersByTime(1);
  (await again)();
});
