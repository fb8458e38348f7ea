import { expect, test } from 'vitest';
import { TRON_FAULTS } from '../../infra/devnet/http/faults.ts';
import { BLOWS, deposits } from './deposits.ts';

/** Few enough to be what everything waits for. */
const REQUESTS = 80;
const SEED = 20_261_121;

test('every solidified payment is one deposit while each server and service is killed, those that can be are frozen and the provider fails in every way, and no log line holds a secret', async () => {
  const report = await deposits.run(
    { transfers: 120, addresses: 20, kills: BLOWS.length, requests: REQUESTS },
    { seed: SEED, progress: () => undefined },
  );
  expect(report.violations).toEqual([]);
  expect(Object.keys(report.struck).toSorted()).toEqual([
    'deposit-gateway killed',
    'kafka killed',
    'postgres killed',
    expect.stringMatching(/^projector-deposits /),
    expect.stringMatching(/^projector-watch /),
    'redis killed',
    'registry killed',
    'treasury frozen',
    'treasury killed',
    'tron-watcher frozen',
    'tron-watcher killed',
  ]);
  expect(Object.keys(report.failed).toSorted()).toEqual(Object.keys(TRON_FAULTS).toSorted());
  expect(report.payables).toBeGreaterThan(80);
  expect(report.never_hot).toBeGreaterThan(0);
  for (const service of [
    'deposit-gateway',
    'tron-watcher',
    'treasury',
    'projector-watch',
    'projector-deposits',
    'devnet',
    'kafka',
    'postgres',
    'redis',
    'registry',
  ])
    expect(report.log_files.some((file) => file.startsWith(service))).toBe(true);
});
