import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const { NODE_COMPILE_CACHE } = process.env;
const MAIN = new URL('../../../services/projector/main.ts', import.meta.url).pathname;

test('an unknown projection ends it with 1, and the list of all', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, 'exploder'], {
    env: { NODE_COMPILE_CACHE },
    encoding: 'utf8',
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: '',
    stderr:
      'projector cannot start:\n  usage: projector <name>, where <name> is one of: explorer, reserve, deposits, watch, ride_market, series\n',
  });
});

test('without its settings it names every one of them and ends with 1', () => {
  const { status, stderr } = spawnSync(process.execPath, [MAIN, 'explorer'], {
    env: { NODE_COMPILE_CACHE },
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(stderr).toMatch(/^projector-explorer cannot start:\n/);
  for (const name of [
    'APP_HTTP_PORT',
    'APP_KAFKA_BROKERS',
    'APP_REGISTRY_URL',
    'APP_POSTGRES_URL',
    'APP_REDIS_URL',
  ])
    expect(stderr).toContain(name);
});
