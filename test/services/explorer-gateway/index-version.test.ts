import { expect, test } from 'vitest';
import { IndexVersion } from '../../../services/explorer-gateway/index-version.ts';
import { Fault } from '../../../services/runtime/process/errors.ts';
import type { Cells } from '../../../services/runtime/postgres/pool.ts';

function indexAt(position: string) {
  const index = { position, asked: 0, now: 0, fails: false };
  const rows = (): Promise<readonly Cells[]> => {
    index.asked++;
    if (index.fails)
      return Promise.reject(
        new Fault('storage_unreachable', 'Postgres cannot be reached', { retry: true }),
      );
    return Promise.resolve(index.position === '' ? [] : [[index.position, '\\x00']]);
  };
  return Object.assign(index, { version: new IndexVersion({ rows }, () => index.now) });
}

test('Postgres is asked at most once a second, however often and however many want to know', async () => {
  const index = indexAt('5');
  const [first, ...others] = await Promise.all(
    Array.from({ length: 20 }, () => index.version.current()),
  );
  expect(others.every((version) => version === first)).toBe(true);
  index.now = 999;
  expect(await index.version.current()).toBe(first);
  expect(index.asked).toBe(1);
  index.now = 1_000;
  expect(await index.version.current()).toBe(first);
  expect(index.asked).toBe(2);
});

test('a notification makes another version at once, and a change that nobody told of does so within a second', async () => {
  const index = indexAt('5');
  const first = await index.version.current();
  index.version.moved();
  const second = await index.version.current();
  expect(second).not.toBe(first);
  index.position = '6';
  index.now = 1_000;
  const third = await index.version.current();
  expect(third).not.toBe(second);
  index.now = 2_000;
  expect(await index.version.current()).toBe(third);
});

test('an index that is empty, filled, and emptied again is of three versions', async () => {
  const index = indexAt('');
  const versions = new Set([await index.version.current()]);
  for (const position of ['1', '']) {
    index.position = position;
    index.now += 1_000;
    versions.add(await index.version.current());
  }
  expect(versions.size).toBe(3);
});

test('while Postgres cannot be asked there is no version, and the next who wants to know asks again', async () => {
  const index = indexAt('5');
  index.fails = true;
  await expect(index.version.current()).rejects.toMatchObject({ code: 'storage_unreachable' });
  await expect(index.version.current()).rejects.toMatchObject({ code: 'storage_unreachable' });
  expect(index.asked).toBe(2);
  index.fails = false;
  await expect(index.version.current()).resolves.toBeGreaterThan(0);
});
