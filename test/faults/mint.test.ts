import { expect, test } from 'vitest';
import { mintFaultRun } from './mint.ts';

const DEPOSITS = 24;
const KILLS = 2;
const SEED = 20_261_122;

test(
  'two treasuries, killed and frozen with a lying node, forged records and a person who takes nonces, mint each deposit once and exactly',
  { timeout: 300_000 },
  async () => {
    const report = await mintFaultRun(
      { deposits: DEPOSITS, kills: KILLS },
      { seed: SEED, progress: () => undefined },
    );
    expect(report.violations).toEqual([]);
    // one more deposit is forged, and never minted
    const deposits = DEPOSITS + 1;
    expect(report.audited).toMatchObject({ deposits, mints: DEPOSITS, waiting: 0 });
    expect(Object.values(report.struck).reduce((sum, count) => sum + count, 0)).toBe(KILLS);
    const { checked } = report.audited.findings;
    expect(
      Math.min(checked.I1, checked.I2, checked.I3, checked.I4, checked.I6),
    ).toBeGreaterThanOrEqual(DEPOSITS);
    process.stdout.write(`${report.lines.join('\n')}\n`);
  },
);
