import { expect, test } from 'vitest';
import { failover } from './failover.ts';

test('every deposit around a fail-over is credited, and never may two servers of Postgres be written to', async () => {
  const report = await failover.run({ times: 2 }, { seed: 1, progress: () => undefined });
  expect(report.violations).toEqual([]);
});
