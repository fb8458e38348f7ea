import { expect, test } from 'vitest';
import type { Cells } from '../../../services/runtime/postgres/pool.ts';
import { Fault } from '../../../services/runtime/process/errors.ts';
import { changedKeys, ReadVersion } from '../../../services/runtime/read-version.ts';

/** A read model at a position, with what its version asked and announced. */
function modelAt(position: string) {
  const model = { position, asked: 0, now: 0, fails: false, changes: [] as unknown[] };
  const rows = (): Promise<readonly Cells[]> => {
    model.asked++;
    if (model.fails)
      return Promise.reject(
        new Fault('storage_unreachable', 'Postgres cannot be reached', { retry: true }),
      );
    return Promise.resolve(model.position === '' ? [] : [[model.position, '\\x00']]);
  };
  const version = new ReadVersion({
    reader: { rows },
    position: { name: 'position', text: '', values: [] },
    now: () => model.now,
    onChange: (keys) => void model.changes.push(keys),
  });
  return Object.assign(model, { version });
}

test('any number of callers query Postgres at most once a second', async () => {
  const model = modelAt('5');
  expect(model.version.known).toBeUndefined();
  const [first, ...others] = await Promise.all(
    Array.from({ length: 20 }, () => model.version.current()),
  );
  expect(others.every((version) => version === first)).toBe(true);
  model.now = 999;
  expect([await model.version.current(), model.version.known]).toEqual([first, first]);
  expect(model.asked).toBe(1);
  model.now = 1_000;
  expect(model.version.known).toBeUndefined();
  expect(await model.version.current()).toBe(first);
  expect([model.asked, model.changes]).toEqual([2, []]);
});

test('a notification moves the version at once, a change without one within a second', async () => {
  const model = modelAt('5');
  const first = await model.version.current();
  model.version.changed(['a']);
  const second = await model.version.current();
  expect(second).not.toBe(first);
  model.position = '6';
  model.now = 1_000;
  const third = await model.version.current();
  expect(third).not.toBe(second);
  model.now = 2_000;
  expect(await model.version.current()).toBe(third);
  expect(model.changes).toEqual([['a'], undefined]);
});

test('a read model that is empty, filled and emptied again has three versions', async () => {
  const model = modelAt('');
  const versions = new Set([await model.version.current()]);
  for (const position of ['1', '']) {
    model.position = position;
    model.now += 1_000;
    versions.add(await model.version.current());
  }
  expect(versions.size).toBe(3);
});

test('without Postgres there is no version, and each caller queries again', async () => {
  const model = modelAt('5');
  model.fails = true;
  for (const _ of [1, 2])
    await expect(model.version.current()).rejects.toMatchObject({ code: 'storage_unreachable' });
  expect([model.asked, model.version.known]).toEqual([2, undefined]);
  model.fails = false;
  await expect(model.version.current()).resolves.toBe(0);
});

test('a notification names the changed keys; without valid keys any may have changed', () => {
  expect(changedKeys('{"projection":"deposits","keys":["0xa","0xb"],"position":{}}')).toEqual([
    '0xa',
    '0xb',
  ]);
  expect(changedKeys('{"keys":[1,"0xa",null]}')).toEqual(['0xa']);
  for (const message of ['', '{', 'null', '3', '"a"', '[]', '{}', '{"keys":[]}', '{"keys":"0xa"}'])
    expect([message, changedKeys(message)]).toEqual([message, undefined]);
});
