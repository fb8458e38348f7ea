import { expect, onTestFinished, test, vi } from 'vitest';
import { OrderedStarts, Starts } from '../../../../services/runtime/limits/starts.ts';

/** Sends these requests at once; each takes so many ms. Resolves with those of each turn. */
async function turnsOf(clients: string, ms: number): Promise<readonly string[]> {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const starts = new Starts();
  const turns = [''];
  let started = 0;
  const count = (client: string): void => {
    turns[turns.length - 1] += client;
    started++;
    vi.advanceTimersByTime(ms);
  };
  for (const client of clients.split('')) {
    const waiting = starts.next(client);
    if (waiting === undefined) count(client);
    else void waiting.then(() => count(client));
  }
  while (started < clients.length) {
    turns.push('');
    await new Promise((resolve) => setImmediate(resolve));
  }
  return turns.filter((turn) => turn !== '');
}

test('short requests start at once', async () => {
  expect(await turnsOf('aaaabbbb', 0)).toEqual(['aaaabbbb']);
});

test('after two ms of a turn each client starts one request a turn', async () => {
  expect(await turnsOf('aaaaaabbc', 1)).toEqual(['aa', 'abc', 'ab', 'a', 'a']);
});

test('so many clients start in one turn', async () => {
  const turns = await turnsOf('aabcdefghijklmnopqrstuvwxyz', 5);
  expect(turns).toEqual(['a', 'abcdefgh', 'ijklmnop', 'qrstuvwx', 'yz']);
});

test('acts of one socket keep their order, and only those that are paced wait', async () => {
  const turns: (() => void)[] = [];
  let isBusy = true;
  const next = (): Promise<void> | undefined =>
    isBusy ? new Promise((resolve) => void turns.push(resolve)) : undefined;
  const socket = new OrderedStarts(next);
  const acts: string[] = [];
  const act = (name: string) => (): void => void acts.push(name);
  socket.unpaced(act('a'));
  socket.paced(act('b'));
  socket.unpaced(act('c'));
  socket.paced(act('d'));
  socket.unpaced(act('e'));
  expect([turns.length, acts]).toEqual([1, ['a']]);
  turns[0]?.();
  await vi.waitUntil(() => turns.length === 2);
  expect(acts).toEqual(['a', 'b', 'c']);
  isBusy = false;
  turns[1]?.();
  await vi.waitUntil(() => acts.length === 5);
  socket.paced(act('f'));
  expect(acts).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
});
