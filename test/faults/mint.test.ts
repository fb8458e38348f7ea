import { expect, test } from 'vitest';
import { mintFaultRun } from './mint.ts';

const DEPOSITS = 24;
const KILLS = 2;
const SEED = 20_261_122;

test(
  'two treasuries, killed and frozen with lying nodes, forged records, a foreign Mint, a theft and another authority, mint each deposit once and exactly, and the audit finds each forged record',
  { timeout: 300_000 },
  async () => {
    const report = await mintFaultRun(
      { deposits: DEPOSITS, kills: KILLS, halts: 0 },
      { seed: SEED, progress: () => undefined },
    );
    expect(report.violations).toEqual([]);
    expect(report.audited.waiting).toBe(0);
    expect(Object.values(report.struck).reduce((sum, count) => sum + count, 0)).toBe(KILLS);
    const { checked } = report.audited;
    expect(
      Math.min(checked.I1, checked.I2, checked.I3, checked.I4, checked.I6),
    ).toBeGreaterThanOrEqual(DEPOSITS);
    process.stdout.write(`${report.lines.join('\n')}\n`);
  },
);
