import { expect, test } from 'vitest';
import { AnswerCache } from '../../../services/explorer-gateway/answer-cache.ts';
import { Fault, type Refusal } from '../../../services/runtime/process/errors.ts';
import type { HttpResponse } from '../../../services/runtime/http/handler.ts';

type Made = HttpResponse | Refusal | Error;

/** A route behind a cache, asked by address, and how often its answers were made. */
function behind(
  make: (url: string) => Made | Promise<Made>,
  entriesMax = 100,
  charactersMax = 100_000,
) {
  const seen = { made: 0, version: 1, fault: undefined as Error | undefined };
  const current = (): Promise<number> =>
    seen.fault === undefined ? Promise.resolve(seen.version) : Promise.reject(seen.fault);
  const cache = new AnswerCache({ current }, entriesMax, charactersMax);
  const route = cache.kept({
    method: 'get',
    path: '/list',
    handle: async ({ originalUrl: url }) => {
      seen.made++;
      const made = await make(url);
      if (made instanceof Error) throw made;
      return made;
    },
  });
  const ask = async (url: string): Promise<HttpResponse | Refusal> =>
    await route.handle({
      method: 'GET',
      path: '/list',
      originalUrl: url,
      query: {},
      params: {},
      headers: {},
      socket: {},
    });
  return Object.assign(seen, { ask });
}

const found = (body: string): HttpResponse => ({ status: 200, body });

test('what is asked for again is answered from the same answer from then on, until the index moves', async () => {
  let rows = 'old';
  const list = behind((url) => found(`${url} ${rows}`));
  expect(await list.ask('/list?limit=1')).toEqual(found('/list?limit=1 old'));
  rows = 'new';
  expect(await list.ask('/list?limit=1')).toEqual(found('/list?limit=1 new'));
  rows = 'newer';
  expect(await list.ask('/list?limit=1')).toEqual(found('/list?limit=1 new'));
  expect(await list.ask('/list?limit=2')).toEqual(found('/list?limit=2 newer'));
  expect(list.made).toBe(3);
  list.version++;
  expect(await list.ask('/list?limit=1')).toEqual(found('/list?limit=1 newer'));
  rows = 'newest';
  expect(await list.ask('/list?limit=1')).toEqual(found('/list?limit=1 newest'));
  expect(list.made).toBe(5);
});

test('what was asked for only once is not kept, and of how many that was it does not know without end', async () => {
  const list = behind((url) => found(url), 2);
  for (const at of [1, 2, 3]) await list.ask(`/list?limit=${at}`);
  // the third one was one too many: the first two count as never asked for
  for (const at of [3, 3, 1, 1, 1]) await list.ask(`/list?limit=${at}`);
  expect(list.made).toBe(3 + 1 + 2);
});

test('however many ask at once, an answer is made once', async () => {
  const made = Promise.withResolvers<HttpResponse>();
  const list = behind(() => made.promise);
  const asked = Array.from({ length: 10 }, () => list.ask('/list'));
  await expect.poll(() => list.made).toBe(1);
  made.resolve(found('one'));
  expect(await Promise.all(asked)).toEqual(Array.from({ length: 10 }, () => found('one')));
  expect(list.made).toBe(1);
});

test('an answer that was being made while the index moved is given to who had asked, and kept for nobody', async () => {
  const slow = Promise.withResolvers<HttpResponse>();
  const answers: (HttpResponse | Promise<HttpResponse>)[] = [
    slow.promise,
    found('new'),
    found('newer'),
  ];
  const list = behind(() => answers.shift() ?? new Error('asked too often'));
  const early = list.ask('/list');
  await expect.poll(() => list.made).toBe(1);
  list.version++;
  expect(await list.ask('/list')).toEqual(found('new'));
  expect(await list.ask('/list')).toEqual(found('newer'));
  slow.resolve(found('old'));
  expect(await early).toEqual(found('old'));
  expect(await list.ask('/list')).toEqual(found('newer'));
  expect(list.made).toBe(3);
});

test('refusals and faults are not kept', async () => {
  const refusal: Refusal = { refused: 'not_found', message: 'no such block is indexed' };
  const fault = new Fault('storage_timeout', 'too slow', { retry: true });
  const answers: Made[] = [refusal, refusal, fault, fault, found('there'), found('still there')];
  const list = behind(() => answers.shift() ?? new Error('asked too often'));
  for (const _ of [1, 2]) expect(await list.ask('/list')).toEqual(refusal);
  for (const _ of [1, 2])
    await expect(list.ask('/list')).rejects.toMatchObject({ code: 'storage_timeout' });
  expect(await list.ask('/list')).toEqual(found('there'));
  for (const _ of [1, 2]) expect(await list.ask('/list')).toEqual(found('still there'));
  expect(list.made).toBe(6);
});

test('while nobody knows of which state the index is, nothing kept is shown', async () => {
  const list = behind(() => found('kept'));
  for (const _ of [1, 2, 3]) await list.ask('/list');
  expect(list.made).toBe(2);
  list.fault = new Fault('storage_unreachable', 'Postgres cannot be reached', { retry: true });
  await expect(list.ask('/list')).rejects.toMatchObject({ code: 'storage_unreachable' });
});

test('it keeps no more than it may, by number and by size: the oldest goes first', async () => {
  const few = behind(() => found('body'), 2);
  for (const at of [1, 1, 2, 2, 3, 3]) await few.ask(`/list?limit=${at}`);
  for (const at of [3, 2, 1]) await few.ask(`/list?limit=${at}`);
  expect(few.made).toBe(6 + 1);
  const small = behind((url) => found('x'.repeat(url.endsWith('=9') ? 500 : 100)), 100, 400);
  for (const at of [1, 1, 2, 2, 9, 9]) await small.ask(`/list?limit=${at}`);
  for (const at of [9, 1]) await small.ask(`/list?limit=${at}`);
  expect(small.made).toBe(6 + 2);
});

test('an address longer than anybody types is answered each time anew', async () => {
  const list = behind(() => found('body'));
  for (const _ of [1, 2]) await list.ask(`/list?q=${'a'.repeat(600)}`);
  expect(list.made).toBe(2);
});
