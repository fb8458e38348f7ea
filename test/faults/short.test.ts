import { expect, test } from 'vitest';
import { faultRun } from './driver.ts';

/** Each victim of the deck once. */
const KILLS = 8;
const SEED = 20_261_121;

test('after kills of every process and reorganisations the tables of the explorer, the ride market and the series equal a plain fold of the log', async () => {
  const report = await faultRun({ kills: KILLS, seed: SEED, progress: () => undefined });
  expect(report.violations).toEqual([]);
  expect(Object.values(report.kills).reduce((sum, count) => sum + count, 0)).toBe(KILLS);
  expect(Object.keys(report.kills).toSorted()).toEqual([
    'chain-ingester',
    'explorer-gateway',
    'kafka',
    'postgres',
    'projector-explorer',
    'projector-ride-market',
    'projector-series',
  ]);
  expect(report.trips).toBeGreaterThan(0);
  expect(report.reorganisations).toBeGreaterThan(0);
  expect(report.reverted).toBeGreaterThan(0);
});
