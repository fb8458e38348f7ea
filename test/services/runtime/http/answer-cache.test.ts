import { expect, test } from 'vitest';
import { AnswerCache } from '../../../../services/runtime/http/answer-cache.ts';
import { Answer } from '../../../../services/runtime/http/answer.ts';
import type { Clients } from '../../../../services/runtime/limits/clients.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';

interface Response {
  readonly status: number;
  readonly body: string;
}
type Outcome = Response | Error;

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
  const ask = async (key: string): Promise<Response> => {
    const { status, bytes } = await cache.answer(key, {
      ...ASKER,
      make: async () => {
        seen.made++;
        const answer = await make(key);
        if (answer instanceof Error) throw answer;
        return new Answer({ ...answer, is_shared: seen.isShared }, answer.body, '/');
      },
    });
    return { status, body: bytes.toString() };
  };
  /** The body, if it is cached. */
  const cached = async (key: string): Promise<string | undefined> => {
    const answer = await cache.answer(key, { ...ASKER, make: notCached }).catch(() => undefined);
    return answer?.bytes.toString();
  };
  return Object.assign(seen, { ask, cached, cache });
}

const ASKER = { client: 'a client', waitsWith: () => undefined };

function notCached(): Promise<never> {
  return Promise.reject(new Error('not cached'));
}

const found = (body: string): Response => ({ status: 200, body });

test('a response is cached from the second request on, until the read model changes', async () => {
  let rows = 'old';
  const list = cacheOver((key) => found(`${key} ${rows}`));
  expect(await list.ask('a')).toEqual(found('a old'));
  expect(await list.cached('a')).toBeUndefined();
  rows = 'new';
  expect(await list.ask('a')).toEqual(found('a new'));
  rows = 'newer';
  expect(await list.ask('a')).toEqual(found('a new'));
  expect(await list.cached('a')).toBe('a new');
  expect(await list.ask('b')).toEqual(found('b newer'));
  expect(list.made).toBe(3);
  list.version++;
  expect(await list.cached('a')).toBeUndefined();
  expect(await list.ask('a')).toEqual(found('a newer'));
  rows = 'newest';
  expect(await list.ask('a')).toEqual(found('a newest'));
  expect(list.made).toBe(5);
});

test('hits are counted', async () => {
  const list = cacheOver(found);
  for (const _ of [1, 2, 3, 4]) await list.ask('a');
  await list.ask('b');
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
  const made = Promise.withResolvers<Response>();
  const list = cacheOver(() => made.promise);
  const asked = Array.from({ length: 10 }, () => list.ask('a'));
  await expect.poll(() => list.made).toBe(1);
  made.resolve(found('one'));
  expect(await Promise.all(asked)).toEqual(Array.from({ length: 10 }, () => found('one')));
  expect(list.made).toBe(1);
});

test('a response in flight while the read model changes goes to its requests and is not cached', async () => {
  const slow = Promise.withResolvers<Response>();
  const answers: (Response | Promise<Response>)[] = [slow.promise, found('new'), found('newer')];
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

test('errors, other statuses and private responses are not cached', async () => {
  const fault = new Fault('storage_timeout', 'too slow', { retry: true });
  const other = { status: 400, body: 'bad' };
  const answers: Outcome[] = [fault, fault, other, other, found('1'), found('2')];
  const list = cacheOver(() => answers.shift() ?? found('own'));
  for (const _ of [1, 2]) await expect(list.ask('a')).rejects.toBe(fault);
  for (const _ of [1, 2]) expect(await list.ask('a')).toEqual(other);
  expect(await list.ask('a')).toEqual(found('1'));
  for (const _ of [1, 2]) expect(await list.ask('a')).toEqual(found('2'));
  expect(list.made).toBe(6);
  list.isShared = false;
  for (const _ of [1, 2, 3]) expect(await list.ask('b')).toEqual(found('own'));
  expect(list.made).toBe(9);
});

test('without a version from Postgres every request makes its own response', async () => {
  const list = cacheOver(found);
  for (const _ of [1, 2, 3]) await list.ask('a');
  expect(list.made).toBe(2);
  list.fault = new Fault('storage_unreachable', 'Postgres cannot be reached', { retry: true });
  expect(await list.cached('a')).toBeUndefined();
  await Promise.all([list.ask('a'), list.ask('a')]);
  expect(list.made).toBe(4);
  list.fault = new Error('a bug');
  await expect(list.ask('a')).rejects.toThrow('a bug');
});

test('a cache of no entries keeps nothing', async () => {
  const list = cacheOver(found, { entries: 0 });
  for (const _ of [1, 2, 3]) expect(await list.ask('a')).toEqual(found('a'));
  expect([list.made, await list.cached('a')]).toEqual([3, undefined]);
});

test('the least recently used responses are evicted beyond the bounds of number and of characters', async () => {
  const few = cacheOver(() => found('body'), { entries: 2 });
  for (const key of ['1', '1', '2', '2', '1', '3', '3']) await few.ask(key);
  expect(await Promise.all(['1', '2', '3'].map(few.cached))).toEqual(['body', undefined, 'body']);
  const small = cacheOver((key) => found('x'.repeat(Number(key))), { characters: 400 });
  for (const key of ['100', '101', '200', '500']) for (const _ of [1, 2]) await small.ask(key);
  const bodies = await Promise.all(['100', '101', '200', '500'].map(small.cached));
  expect(bodies.map((body) => body?.length)).toEqual([undefined, 101, 200, undefined]);
});

test('a request that comes after all that waited have left has an answer of its own', async () => {
  const { cache } = cacheOver(() => Promise.reject(new Error('not used')));
  const abandoned = Promise.withResolvers<Answer>();
  const waiting: Clients[] = [];
  const asker = { client: 'a client', waitsWith: (clients: Clients) => void waiting.push(clients) };
  const first = cache.answer('key', { ...asker, make: () => abandoned.promise });
  const joined = cache.answer('key', { ...asker, make: notCached });
  await expect.poll(() => waiting.length).toBe(2);
  expect(waiting[0]).toBe(waiting[1]);
  waiting[0]?.delete('a client');
  expect(waiting[0]?.size).toBe(1);
  waiting[0]?.delete('a client');
  const next = await cache.answer('key', {
    ...asker,
    make: () => Promise.resolve(new Answer(found('[1]'), '[1]', '/')),
  });
  expect(next.bytes.toString()).toBe('[1]');
  abandoned.reject(new Error('nobody waits'));
  await expect(Promise.all([first, joined])).rejects.toThrow('nobody waits');
});

test.each([
  ['as a whole', { status: 429 }],
  ['in part', { status: 200, is_refusal: true }],
])(
  'a refusal %s by the limit of one client is no answer for those that asked meanwhile',
  async (_, refusal) => {
    const { cache } = cacheOver(found);
    const refused = Promise.withResolvers<Answer>();
    const first = cache.answer('key', { ...ASKER, make: () => refused.promise });
    const made = new Answer(found('[1]'), '[1]', '/');
    const joined = cache.answer('key', { ...ASKER, make: () => Promise.resolve(made) });
    refused.resolve(new Answer(refusal, '{}', '/'));
    expect([(await first).status, await joined]).toEqual([refusal.status, made]);
  },
);
