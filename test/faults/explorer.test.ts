import { expect, test } from 'vitest';
import { BLOWS, explorer } from './explorer.ts';

const SEED = 20_261_121;

test('after kills of every process and reorganisations the tables of the explorer, the ride market and the series are what the log says, and the accounts what the node says', async () => {
  const report = await explorer.run(
    { kills: BLOWS.length },
    { seed: SEED, progress: () => undefined },
  );
  expect(report.violations).toEqual([]);
  expect(Object.keys(report.struck).toSorted()).toEqual([
    'chain-ingester killed',
    'explorer-gateway killed',
    'kafka killed',
    'postgres killed',
    'projector-explorer killed',
    'projector-ride-market killed',
    'projector-series killed',
  ]);
  expect(report.rows['ride_market.ended_trips']).toBeGreaterThan(0);
  expect(report.reorganisations).toBeGreaterThan(0);
  expect(report.logs[0]?.records['BlockReverted']).toBeGreaterThan(0);
});
