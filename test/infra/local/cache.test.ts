import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { assertPinned, cacheOf, fetchOnce, type Cache } from '../../../infra/local/cache.ts';
import { silentReport } from '../../../infra/local/report.ts';

const never = new AbortController().signal;
let cache: Cache;
beforeEach(() => {
  cache = { root: mkdtempSync(join(tmpdir(), 'clt-test-cache-')) };
});
afterEach(() => rmSync(cache.root, { recursive: true, force: true }));

test('the cache lies where the user says, else in the user’s cache folder', () => {
  expect(cacheOf({ APP_CACHE_DIR: '/a', XDG_CACHE_HOME: '/b' }).root).toBe('/a');
  expect(cacheOf({ XDG_CACHE_HOME: '/b' }).root).toBe('/b/clt-stack');
  expect(cacheOf({}).root).toBe(join(homedir(), '.cache', 'clt-stack'));
});

test('two starts that need the same thing at the same time fetch it once, and both get it', async () => {
  let fetched = 0;
  const fill = async (target: string): Promise<void> => {
    fetched += 1;
    await new Promise((resolve) => setImmediate(resolve));
    writeFileSync(join(target, 'server.jar'), 'bytes');
  };
  const paths = await Promise.all(
    [1, 2].map(() => fetchOnce(cache, 'kafka-1', 'Kafka', silentReport, never, fill)),
  );
  expect(paths).toEqual([join(cache.root, 'kafka-1'), join(cache.root, 'kafka-1')]);
  expect(readFileSync(join(cache.root, 'kafka-1', 'server.jar'), 'utf8')).toBe('bytes');
  expect(fetched).toBe(1);
  expect(readdirSync(cache.root)).toEqual(['kafka-1']);
});

test('a fetch that fails, or is interrupted, leaves nothing that could be taken for a whole one', async () => {
  const failing = fetchOnce(cache, 'kafka-1', 'Kafka', silentReport, never, (target) => {
    writeFileSync(join(target, 'server.jar'), 'ha');
    return Promise.reject(new Error('no network'));
  });
  await expect(failing).rejects.toThrow('no network');
  expect(readdirSync(cache.root)).toEqual([]);
  const stop = new AbortController();
  const interrupted = fetchOnce(cache, 'kafka-1', 'Kafka', silentReport, stop.signal, (target) => {
    writeFileSync(join(target, 'server.jar'), 'bytes');
    stop.abort();
    return Promise.resolve();
  });
  await expect(interrupted).rejects.toThrow('abort');
  expect(readdirSync(cache.root)).toEqual([]);
});

test('what a killed fetch left behind is removed by the next', async () => {
  mkdirSync(join(cache.root, 'half-abc'));
  writeFileSync(join(cache.root, 'half-abc', 'server.jar'), 'ha');
  writeFileSync(
    join(cache.root, 'fetching.json'),
    JSON.stringify({ pid: process.pid, started: 'another boot:1' }),
  );
  await fetchOnce(cache, 'kafka-1', 'Kafka', silentReport, never, () => Promise.resolve());
  expect(existsSync(join(cache.root, 'half-abc'))).toBe(false);
  expect(readdirSync(cache.root)).toEqual(['kafka-1']);
});

test('a file with another checksum, one that is missing and one that is not listed are refused by name', async () => {
  const folder = join(cache.root, 'redis');
  mkdirSync(folder);
  await expect(assertPinned(folder, 'redis-7.0.15')).rejects.toThrow(
    'missing [embedded-redis-0.9.1.jar]',
  );
  writeFileSync(join(folder, 'embedded-redis-0.9.1.jar'), 'not the jar');
  await expect(assertPinned(folder, 'redis-7.0.15')).rejects.toThrow(
    /checksum of redis-7.0.15\/embedded-redis-0.9.1.jar is [0-9a-f]{64}, not [0-9a-f]{64}/,
  );
  writeFileSync(join(folder, 'other.jar'), '');
  await expect(assertPinned(folder, 'redis-7.0.15')).rejects.toThrow('not listed [other.jar]');
});
