import { expect, test } from 'vitest';
import { depositFaultRun } from './deposits.ts';

const BLOWS = 5;
/** Few enough to be what everything waits for. */
const REQUESTS = 80;
const SEED = 20_261_121;

test(
  'every solidified payment is one deposit under failures, kills and freezes, and no log line holds a secret',
  { timeout: 400_000 },
  async () => {
    const report = await depositFaultRun(
      { transfers: 120, addresses: 20, kills: BLOWS, requests: REQUESTS },
      { seed: SEED, progress: () => undefined },
    );
    expect(report.violations).toEqual([]);
    expect(Object.values(report.struck).reduce((sum, count) => sum + count, 0)).toBe(BLOWS);
    expect(Math.max(...Object.values(report.struck))).toBe(1);
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
    ])
      expect(report.log_files.some((file) => file.startsWith(service))).toBe(true);
  },
);
