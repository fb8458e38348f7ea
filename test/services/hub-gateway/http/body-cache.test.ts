import { expect, test } from 'vitest';
import { BodyCache, type Made } from '../../../../services/hub-gateway/http/body-cache.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { keysOf, ReadModel } from '../../../../services/hub-gateway/read-model.ts';

function model(): { version: number; readonly known: number; current(): Promise<number> } {
  return {
    version: 1,
    get known() {
      return this.version;
    },
    current() {
      return Promise.resolve(this.version);
    },
  };
}

const made = (body: string, keep = true): Made => ({ answer: { status: 200, body }, keep });

test('an answer is made once for all who ask meanwhile, and found until the read model moves', async () => {
  const [at, pending] = [model(), Promise.withResolvers<Made>()];
  const cache = new BodyCache(at, 10);
  let makings = 0;
  const make = (): Promise<Made> => {
    makings++;
    return pending.promise;
  };
  const asked = [cache.answer('a', make), cache.answer('a', make)];
  expect(cache.find('a')).toBeUndefined();
  pending.resolve(made('one'));
  expect((await Promise.all(asked)).map(({ body }) => body)).toEqual(['one', 'one']);
  expect([makings, cache.find('a')?.body]).toEqual([1, Buffer.from('one')]);
  at.version++;
  expect(cache.find('a')).toBeUndefined();
  expect((await cache.answer('a', () => Promise.resolve(made('two')))).body).toBe('two');
});

test('what changed while it was made is not kept, nor what must not be, nor what failed', async () => {
  const at = model();
  const cache = new BodyCache(at, 10);
  await cache.answer('moved', () => {
    at.version++;
    return Promise.resolve(made('old'));
  });
  expect(cache.find('moved')).toBeUndefined();
  await cache.answer('own', () => Promise.resolve(made('secret', false)));
  expect(cache.find('own')).toBeUndefined();
  await expect(cache.answer('bad', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect((await cache.answer('bad', () => Promise.resolve(made('good')))).body).toBe('good');
});

test('while Postgres cannot be asked each answer is made anew, whatever it then says', async () => {
  const away = new Fault('storage_unreachable', 'away', { retry: true });
  const cache = new BodyCache({ known: undefined, current: () => Promise.reject(away) }, 10);
  expect((await cache.answer('a', () => Promise.resolve(made('1')))).body).toBe('1');
  expect((await cache.answer('a', () => Promise.resolve(made('2')))).body).toBe('2');
});

test('it holds so many answers and so many characters, the newest ones', async () => {
  const cache = new BodyCache(model(), 3, 30);
  for (const key of ['a', 'b', 'c', 'd']) await cache.answer(key, () => Promise.resolve(made('1')));
  expect(['a', 'b', 'c', 'd'].map((key) => cache.find(key)?.body)).toEqual([
    undefined,
    ...['1', '1', '1'].map((each) => Buffer.from(each)),
  ]);
  await cache.answer('long', () => Promise.resolve(made('x'.repeat(23))));
  expect(['b', 'c', 'd', 'long'].map((key) => cache.find(key) !== undefined)).toEqual([
    false,
    false,
    true,
    true,
  ]);
  await cache.answer('too long', () => Promise.resolve(made('x'.repeat(40))));
  expect(cache.find('too long')).toBeUndefined();
});

test('a read model moves by a notification, and by itself when Postgres says so, which is asked once a second at most', async () => {
  let [position, now, asked] = ['1', 0, 0];
  const moves: unknown[] = [];
  const reader = {
    rows: () => {
      asked++;
      return Promise.resolve([[position]]);
    },
  };
  const read = new ReadModel({
    reader,
    position: { name: 'p', text: '', values: [] },
    now: () => now,
    onMoved: (keys) => void moves.push(keys),
  });
  expect(read.known).toBeUndefined();
  expect([await read.current(), await read.current(), asked]).toEqual([0, 0, 1]);
  read.moved(['a']);
  expect([read.known, asked, moves]).toEqual([1, 1, [['a']]]);
  position = '2';
  now = 999;
  expect(await read.current()).toBe(1);
  now = 1_000;
  expect(read.known).toBeUndefined();
  expect(await Promise.all([read.current(), read.current()])).toEqual([2, 2]);
  expect([asked, moves]).toEqual([2, [['a'], undefined]]);
});

test('a notification names keys, or none, so that any may have changed', () => {
  expect(keysOf({ keys: ['a', 1, 'b'] })).toEqual(['a', 'b']);
  for (const notification of [undefined, null, 'text', {}, { keys: [] }, { keys: 'a' }])
    expect(keysOf(notification)).toBeUndefined();
});
