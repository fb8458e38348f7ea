import { expect, test } from 'vitest';
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

test('so many turns run at once, and each ends once', async () => {
  const turns = new Turns(2);
  const [first, second] = [await turns.take(['a']), await turns.take(['a'])];
  let begun = 0;
  const waiting = [1, 2].map(async () => {
    const end = await turns.take([]);
    begun++;
    return end;
  });
  first();
  first();
  const end = await waiting[0];
  expect(begun).toBe(1);
  second();
  end?.();
  (await waiting[1])?.();
  expect(begun).toBe(2);
});
