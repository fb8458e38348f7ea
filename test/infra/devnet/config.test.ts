import { expect, test } from 'vitest';
import { readConfig } from '../../../infra/devnet/config.ts';

const GOOD = { APP_DEVNET_DIR: '/somewhere', APP_DEVNET_SEED: 'seed' };

test('a directory and a seed are enough', () => {
  expect(readConfig(GOOD)).toMatchObject({
    config: {
      node_port: 17_545,
      admin_port: 17_099,
      chain_id: 7_777,
      finality_depth: 12,
      block_interval_ms: 1_000,
      traffic_per_second: 3,
    },
  });
});

test('by default TRON’s provider has no rate limit and no API key', () => {
  expect(readConfig(GOOD)).toMatchObject({
    config: {
      tron_port: 17_090,
      tron_block_interval_ms: 1_000,
      tron_solidify_ms: 1_500,
      tron_requests_per_second_max: 0,
      tron_api_key: undefined,
    },
  });
  expect(readConfig({ ...GOOD, APP_DEVNET_TRON_API_KEY: 'sesame' })).toMatchObject({
    config: { tron_api_key: 'sesame' },
  });
  for (const name of ['BLOCK_INTERVAL_MS', 'SOLIDIFY_MS', 'RATE_PER_SECOND', 'SUSPENDED_MS']) {
    expect(readConfig({ ...GOOD, [`APP_DEVNET_TRON_${name}`]: '-1' })).toEqual({
      problems: [expect.stringContaining(`APP_DEVNET_TRON_${name}`)],
    });
  }
});

test('every problem is reported at once', () => {
  const read = readConfig({
    APP_NODE_PORT: '70000',
    APP_ADMIN_PORT: 'x',
    APP_BLOCK_INTERVAL_MS: '-1',
    APP_LOG_LEVEL: 'loud',
    APP_NETWORK: 'moon',
  });
  const problems = 'problems' in read ? read.problems : [];
  for (const name of [
    'APP_NODE_PORT',
    'APP_ADMIN_PORT',
    'APP_BLOCK_INTERVAL_MS',
    'APP_LOG_LEVEL',
    'APP_NETWORK',
    'APP_DEVNET_DIR',
    'APP_DEVNET_SEED',
  ]) {
    expect(
      problems.some((problem) => problem.startsWith(name)),
      name,
    ).toBe(true);
  }
  expect(problems).toHaveLength(7);
});

test.each(['1e3', '0x10', ' 5', '5 ', '1.5', '', '99999999999999999999'])(
  '%j is no chain id',
  (value) => {
    expect(readConfig({ ...GOOD, APP_CHAIN_ID: value })).toHaveProperty('problems');
  },
);
