import { expect, test } from 'vitest';
import { AnswerCache, type Made } from '../../../../services/runtime/http/answer-cache.ts';
import type { HttpResponse } from '../../../../services/runtime/http/handler.ts';
import { Fault, type Refusal } from '../../../../services/runtime/process/errors.ts';

type Outcome = HttpResponse | Refusal | Error;

/** A cache over `make`, and how often responses were made. */
function cacheOver(
  make: (key: string) => Outcome | Promise<Outcome>,
  { entries = 100, characters = 100_000 } = {},
) {
  const seen = { made: 0, version: 1, fault: undefined as Error | undefined, isShared: true };
  const version = {
    get known() {
      return seen.fault === undefined ? seen.version : undefined;
    },
    current: (): Promise<number> =>
      seen.fault === undefined ? Promise.resolve(seen.version) : Promise.reject(seen.fault),
  };
  const cache = new AnswerCache(version, { answers_kept_max: entries, characters_max: characters });
  const ask = (key: string): Promise<HttpResponse | Refusal> =>
    cache.answer(key, async (): Promise<Made> => {
      seen.made++;
      const answer = await make(key);
      if (answer instanceof Error) throw answer;
      return { answer, isShared: seen.isShared };
    });
  return Object.assign(seen, { ask, cache });
}

const found = (body: string): HttpResponse => ({ status: 200, body });

test('a response is cached from the second request on, until the read model changes', async () => {
  let rows = 'old';
  const list = cacheOver((key) => found(`${key} ${rows}`));
  expect(await list.ask('a')).toEqual(found('a old'));
  expect(list.cache.find('a')).toBeUndefined();
  rows = 'new';
  expect(await list.ask('a')).toEqual(found('a new'));
  rows = 'newer';
  expect(await list.ask('a')).toEqual(found('a new'));
  expect(list.cache.find('a')).toEqual(found('a new'));
  expect(await list.ask('b')).toEqual(found('b newer'));
  expect(list.made).toBe(3);
  list.version++;
  expect(list.cache.find('a')).toBeUndefined();
  expect(await list.ask('a')).toEqual(found('a newer'));
  rows = 'newest';
  expect(await list.ask('a')).toEqual(found('a newest'));
  expect(list.made).toBe(5);
});

test('hits are counted, whether found at once or when a response is wanted', async () => {
  const list = cacheOver(found);
  for (const _ of [1, 2, 3]) await list.ask('a');
  list.cache.find('a');
  list.cache.find('b');
  expect(list.cache.hits).toBe(2);
});

test('the number of keys remembered from one request is bounded', async () => {
  const list = cacheOver(found, { entries: 2 });
  for (const key of ['1', '2', '3']) await list.ask(key);
  // the third key was one too many: the first two count as never requested
  for (const key of ['3', '3', '1', '1', '1']) await list.ask(key);
  expect(list.made).toBe(3 + 1 + 2);
});

test('concurrent requests for one key share one making', async () => {
  const made = Promise.withResolvers<HttpResponse>();
  const list = cacheOver(() => made.promise);
  const asked = Array.from({ length: 10 }, () => list.ask('a'));
  await expect.poll(() => list.made).toBe(1);
  made.resolve(found('one'));
  expect(await Promise.all(asked)).toEqual(Array.from({ length: 10 }, () => found('one')));
  expect(list.made).toBe(1);
});

test('a response in flight while the read model changes goes to its requests and is not cached', async () => {
  const slow = Promise.withResolvers<HttpResponse>();
  const answers: (HttpResponse | Promise<HttpResponse>)[] = [
    slow.promise,
    found('new'),
    found('newer'),
  ];
  const list = cacheOver(() => answers.shift() ?? new Error('asked too often'));
  const early = list.ask('a');
  await expect.poll(() => list.made).toBe(1);
  list.version++;
  expect(await list.ask('a')).toEqual(found('new'));
  expect(await list.ask('a')).toEqual(found('newer'));
  slow.resolve(found('old'));
  expect(await early).toEqual(found('old'));
  expect(await list.ask('a')).toEqual(found('newer'));
  expect(list.made).toBe(3);
});

test('refusals, errors, other statuses and private responses are not cached', async () => {
  const refusal: Refusal = { refused: 'not_found', message: 'no such block is indexed' };
  const fault = new Fault('storage_timeout', 'too slow', { retry: true });
  const other = { status: 400, body: 'bad' };
  const answers: Outcome[] = [refusal, refusal, fault, fault, other, other, found('1'), found('2')];
  const list = cacheOver(() => answers.shift() ?? found('own'));
  for (const _ of [1, 2]) expect(await list.ask('a')).toEqual(refusal);
  for (const _ of [1, 2]) await expect(list.ask('a')).rejects.toBe(fault);
  for (const _ of [1, 2]) expect(await list.ask('a')).toEqual(other);
  expect(await list.ask('a')).toEqual(found('1'));
  for (const _ of [1, 2]) expect(await list.ask('a')).toEqual(found('2'));
  expect(list.made).toBe(8);
  list.isShared = false;
  for (const _ of [1, 2, 3]) expect(await list.ask('b')).toEqual(found('own'));
  expect(list.made).toBe(11);
});

test('without a version from Postgres every request makes its own response', async () => {
  const list = cacheOver(found);
  for (const _ of [1, 2, 3]) await list.ask('a');
  expect(list.made).toBe(2);
  list.fault = new Fault('storage_unreachable', 'Postgres cannot be reached', { retry: true });
  expect(list.cache.find('a')).toBeUndefined();
  await Promise.all([list.ask('a'), list.ask('a')]);
  expect(list.made).toBe(4);
  list.fault = new Error('a bug');
  await expect(list.ask('a')).rejects.toThrow('a bug');
});

test('a cache of no entries keeps nothing', async () => {
  const list = cacheOver(found, { entries: 0 });
  for (const _ of [1, 2, 3]) expect(await list.ask('a')).toEqual(found('a'));
  expect([list.made, list.cache.find('a')]).toEqual([3, undefined]);
});

test('the least recently used responses are evicted beyond the bounds of number and of characters', async () => {
  const few = cacheOver(() => found('body'), { entries: 2 });
  for (const key of ['1', '1', '2', '2', '1', '3', '3']) await few.ask(key);
  expect(['1', '2', '3'].map((key) => few.cache.find(key) !== undefined)).toEqual([
    true,
    false,
    true,
  ]);
  const small = cacheOver((key) => found('x'.repeat(Number(key))), { characters: 400 });
  for (const key of ['100', '101', '200', '500']) for (const _ of [1, 2]) await small.ask(key);
  expect(['100', '101', '200', '500'].map((key) => small.cache.find(key) !== undefined)).toEqual([
    false,
    true,
    true,
    false,
  ]);
});
