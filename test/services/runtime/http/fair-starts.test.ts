import { expect, onTestFinished, test, vi } from 'vitest';
import { FairStarts } from '../../../../services/runtime/http/fair-starts.ts';

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

test('after five ms of a turn each client starts one request a turn', async () => {
  expect(await turnsOf('aaaaaabbc', 3)).toEqual(['aa', 'abc', 'ab', 'a', 'a']);
});

test('so many clients start in one turn', async () => {
  const turns = await turnsOf('aabcdefghijklmnopqrstuvwxyz', 5);
  expect(turns).toEqual(['a', 'abcdefgh', 'ijklmnop', 'qrstuvwx', 'yz']);
});
