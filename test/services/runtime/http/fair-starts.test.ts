import { expect, onTestFinished, test, vi } from 'vitest';
import { FairStarts, OrderedStarts } from '../../../../services/runtime/http/fair-starts.ts';

/** Sends these requests at once; each takes so many ms. Resolves with those of each turn. */
async function turnsOf(clients: string, ms: number): Promise<readonly string[]> {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const starts = new FairStarts();
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

test('starts of one socket keep their order while they wait, also after the last has waited', async () => {
  const turns: (() => void)[] = [];
  let isBusy = true;
  const next = (): Promise<void> | undefined =>
    isBusy ? new Promise((resolve) => void turns.push(resolve)) : undefined;
  const socket = new OrderedStarts({ next }, 'a');
  const started: string[] = [];
  const start = (name: string): void => socket.start(() => void started.push(name));
  start('first');
  start('second');
  isBusy = false;
  start('third');
  expect([turns.length, started]).toEqual([1, []]);
  turns[0]?.();
  await vi.waitUntil(() => started.length === 3);
  expect(started).toEqual(['first', 'second', 'third']);
  start('fourth');
  expect(started).toEqual(['first', 'second', 'third', 'fourth']);
});
