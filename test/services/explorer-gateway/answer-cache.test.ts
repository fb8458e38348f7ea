import { expect, test } from 'vitest';
import express from 'express';
import { once } from 'node:events';
import { AnswerCache } from '../../../services/explorer-gateway/answer-cache.ts';
import { assert, Fault, type Refusal } from '../../../services/runtime/errors.ts';
import type { Answer } from '../../../services/runtime/answers.ts';

type Made = Answer | Refusal | Error;

/** A route behind a cache, asked by address, and how often its answers were made. */
async function behind(make: (url: string) => Made | Promise<Made>, entriesMax = 100, charactersMax = 100_000) {
  const seen = { made: 0, version: 1, fault: undefined as Error | undefined };
  const current = (): Promise<number> => (seen.fault === undefined ? Promise.resolve(seen.version) : Promise.reject(seen.fault));
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
  const ask = async (url: string): Promise<Answer | Refusal> => {
    const app = express();
    const answer = Promise.withResolvers<Answer | Refusal>();
    // it may be refused before anybody waits for it
    answer.promise.catch(() => undefined);
    app.get('/list', (request, response) => {
      response.end();
      Promise.resolve(route.handle(request)).then(answer.resolve, answer.reject);
    });
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    assert(typeof address === 'object' && address !== null, 'a listening server has an address');
    try {
      await fetch(`http://127.0.0.1:${address.port}${url}`, { headers: { connection: 'close' } });
      return await answer.promise;
    } finally {
      server.close();
    }
  };
  return Object.assign(seen, { ask });
}

const found = (body: string): Answer => ({ status: 200, body });

test('the same address is answered from the same answer until the index moves', async () => {
  let rows = 'old';
  const list = await behind((url) => found(`${url} ${rows}`));
  expect(await list.ask('/list?limit=1')).toEqual(found('/list?limit=1 old'));
  rows = 'new';
  expect(await list.ask('/list?limit=1')).toEqual(found('/list?limit=1 old'));
  expect(await list.ask('/list?limit=2')).toEqual(found('/list?limit=2 new'));
  expect(list.made).toBe(2);
  list.version++;
  expect(await list.ask('/list?limit=1')).toEqual(found('/list?limit=1 new'));
  expect(list.made).toBe(3);
});

test('however many ask at once, an answer is made once', async () => {
  const made = Promise.withResolvers<Answer>();
  const list = await behind(() => made.promise);
  const asked = Array.from({ length: 10 }, () => list.ask('/list'));
  await expect.poll(() => list.made).toBe(1);
  made.resolve(found('one'));
  expect(await Promise.all(asked)).toEqual(Array.from({ length: 10 }, () => found('one')));
  expect(list.made).toBe(1);
});

test('an answer that was being made while the index moved is given to who had asked, and kept for nobody', async () => {
  const slow = Promise.withResolvers<Answer>();
  const answers: (Answer | Promise<Answer>)[] = [slow.promise, found('new')];
  const list = await behind(() => answers.shift() ?? new Error('asked too often'));
  const early = list.ask('/list');
  await expect.poll(() => list.made).toBe(1);
  list.version++;
  expect(await list.ask('/list')).toEqual(found('new'));
  slow.resolve(found('old'));
  expect(await early).toEqual(found('old'));
  expect(await list.ask('/list')).toEqual(found('new'));
  expect(list.made).toBe(2);
});

test('refusals and faults are not kept', async () => {
  const refusal: Refusal = { refused: 'not_found', message: 'no such block is indexed' };
  const answers: Made[] = [refusal, new Fault('storage_timeout', 'too slow', { retry: true }), found('there')];
  const list = await behind(() => answers.shift() ?? new Error('asked too often'));
  expect(await list.ask('/list')).toEqual(refusal);
  await expect(list.ask('/list')).rejects.toMatchObject({ code: 'storage_timeout' });
  expect(await list.ask('/list')).toEqual(found('there'));
  expect(await list.ask('/list')).toEqual(found('there'));
  expect(list.made).toBe(3);
});

test('while nobody knows of which state the index is, nothing kept is shown', async () => {
  const list = await behind(() => found('kept'));
  await list.ask('/list');
  list.fault = new Fault('storage_unreachable', 'Postgres cannot be reached', { retry: true });
  await expect(list.ask('/list')).rejects.toMatchObject({ code: 'storage_unreachable' });
});

test('it keeps no more than it may, by number and by size: the oldest goes first', async () => {
  const few = await behind(() => found('body'), 2);
  for (const at of [1, 2, 3, 3, 2, 1]) await few.ask(`/list?limit=${at}`);
  expect(few.made).toBe(4);
  const small = await behind((url) => found('x'.repeat(url.endsWith('=9') ? 500 : 100)), 100, 400);
  for (const at of [1, 2, 9, 9, 1]) await small.ask(`/list?limit=${at}`);
  expect(small.made).toBe(5);
});

test('an address longer than anybody types is answered each time anew', async () => {
  const list = await behind(() => found('body'));
  for (const _ of [1, 2]) await list.ask(`/list?q=${'a'.repeat(600)}`);
  expect(list.made).toBe(2);
});
