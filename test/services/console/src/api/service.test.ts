import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { send } from '../../../../../services/console/src/api/service.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test.each([
  ['{"code":"ledger_moved","message":"another came first"}', 'ledger_moved', 'another came first'],
  ['{"error":"no such deposit"}', undefined, 'no such deposit'],
  ['<h1>502</h1>', undefined, '<h1>502</h1>'],
  ['', undefined, ''],
])('the refusal %s is an error with its words', async (body, code, message) => {
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(body, { status: 409 })));
  await expect(send('/', {})).rejects.toMatchObject({ status: 409, code, message });
});

/** Answers nothing until its signal aborts. */
function frozen(_url: string, { signal }: RequestInit): Promise<Response> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(new Error('aborted')));
  });
}

test('a service that is frozen counts as away', async () => {
  vi.stubGlobal('fetch', frozen);
  const answer = expect(send('/', {})).rejects.toMatchObject({ status: 0 });
  await vi.advanceTimersByTimeAsync(10_000);
  await answer;
});

test('a call that the page aborts is no error of the service', async () => {
  vi.stubGlobal('fetch', frozen);
  const page = new AbortController();
  const answer = expect(send('/', { signal: page.signal })).rejects.toThrow('aborted');
  page.abort();
  await answer;
});
