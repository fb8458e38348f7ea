import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentReport } from '../../../support/silent-report.ts';
import { assertPinned, cacheFolder, fetchOnce } from '../../../../infra/local/fetch/cache.ts';

const never = new AbortController().signal;
let cache = '';
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'clt-test-cache-'));
});
afterEach(() => rmSync(cache, { recursive: true, force: true }));

test('the cache is the folder of APP_CACHE_DIR, else one in the cache folder of the user', () => {
  expect(cacheFolder({ APP_CACHE_DIR: '/a', XDG_CACHE_HOME: '/b' })).toBe('/a');
  expect(cacheFolder({ XDG_CACHE_HOME: '/b' })).toBe('/b/clt-stack');
  expect(cacheFolder({})).toBe(join(homedir(), '.cache', 'clt-stack'));
});

test('two starts at the same time fetch a folder once', async () => {
  let fetched = 0;
  const fill = async (target: string): Promise<void> => {
    fetched += 1;
    await new Promise((resolve) => setImmediate(resolve));
    writeFileSync(join(target, 'server.jar'), 'bytes');
  };
  const paths = await Promise.all(
    [1, 2].map(() => fetchOnce(cache, 'kafka-1', silentReport, never, fill)),
  );
  expect(paths).toEqual([join(cache, 'kafka-1'), join(cache, 'kafka-1')]);
  expect(readFileSync(join(cache, 'kafka-1', 'server.jar'), 'utf8')).toBe('bytes');
  expect(fetched).toBe(1);
  expect(readdirSync(cache)).toEqual(['kafka-1']);
});

test('a fetch that fails or is interrupted leaves no folder', async () => {
  const failing = fetchOnce(cache, 'kafka-1', silentReport, never, (target) => {
    writeFileSync(join(target, 'server.jar'), 'ha');
    return Promise.reject(new Error('no network'));
  });
  await expect(failing).rejects.toThrow('no network');
  expect(readdirSync(cache)).toEqual([]);
  const stop = new AbortController();
  const interrupted = fetchOnce(cache, 'kafka-1', silentReport, stop.signal, (target) => {
    writeFileSync(join(target, 'server.jar'), 'bytes');
    stop.abort();
    return Promise.resolve();
  });
  await expect(interrupted).rejects.toThrow('abort');
  expect(readdirSync(cache)).toEqual([]);
});

test('the next fetch removes the unfinished folder of a killed one', async () => {
  mkdirSync(join(cache, 'half-abc'));
  const dead = JSON.stringify({ pid: process.pid, started: 'another boot:1' });
  writeFileSync(join(cache, 'fetching.json'), dead);
  await fetchOnce(cache, 'kafka-1', silentReport, never, () => Promise.resolve());
  expect(readdirSync(cache)).toEqual(['kafka-1']);
});

test('a file with another checksum, a missing file and an unlisted file are refused by name', () => {
  const jar = 'redis-7.0.15/embedded-redis-0.9.1.jar';
  expect(() => assertPinned(cache, 'redis-7.0.15')).toThrow(
    new RegExp(`  missing     [0-9a-f]{64}  ${jar}$`),
  );
  writeFileSync(join(cache, 'embedded-redis-0.9.1.jar'), 'not the jar');
  writeFileSync(join(cache, 'other.jar'), '');
  expect(() => assertPinned(cache, 'redis-7.0.15')).toThrow(
    new RegExp(
      `  missing     [0-9a-f]{64}  ${jar}\n` +
        `  unexpected  [0-9a-f]{64}  ${jar}\n` +
        '  unexpected  [0-9a-f]{64}  redis-7.0.15/other.jar$',
    ),
  );
});
