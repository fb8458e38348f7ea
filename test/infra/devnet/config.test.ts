import { expect, test } from 'vitest';
import { readConfig } from '../../../infra/devnet/config.ts';

const GOOD = { APP_DEVNET_DIR: '/somewhere', APP_DEVNET_SEED: 'seed' };

test('a directory and a seed are enough', () => {
  expect(readConfig(GOOD)).toMatchObject({
    config: { node_port: 17_545, admin_port: 17_099, chain_id: 7_777, finality_depth: 12, block_interval_ms: 1_000, traffic_per_second: 3 },
  });
});

test('every problem is told at once', () => {
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

test.each(['1e3', '0x10', ' 5', '5 ', '1.5', '', '99999999999999999999'])('%j is no chain id', (value) => {
  expect(readConfig({ ...GOOD, APP_CHAIN_ID: value })).toHaveProperty('problems');
});
