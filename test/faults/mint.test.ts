import { expect, test } from 'vitest';
import { NODE_FAULTS } from '../../infra/devnet/http/faults.ts';
import { mint } from './mint.ts';

const DEPOSITS = 24;
const KILLS = 4;
const SEED = 20_261_122;

test('two treasuries, each killed and frozen with and without the lease, with nodes that reorganise and lie and a person who takes a nonce, with forged records, a foreign Mint, a theft and another authority, mint each deposit once and exactly, and the audit finds each forged record', async () => {
  const report = await mint.run(
    { deposits: DEPOSITS, kills: KILLS, halts: 0 },
    { seed: SEED, progress: () => undefined },
  );
  expect(report.violations).toEqual([]);
  expect(report.audited.waiting).toBe(0);
  expect(report.struck).toEqual({
    'holder killed': 1,
    'holder frozen': 1,
    'standby killed': 1,
    'standby frozen': 1,
  });
  expect(report.from_snapshots).toBeGreaterThan(0);
  expect(Object.keys(report.failed).toSorted()).toEqual(Object.keys(NODE_FAULTS).toSorted());
  expect(report.reorganisations).toBeGreaterThan(0);
  const { checked } = report.audited;
  expect(
    Math.min(checked.I1, checked.I2, checked.I3, checked.I4, checked.I6),
  ).toBeGreaterThanOrEqual(DEPOSITS);
  process.stdout.write(`${report.lines.join('\n')}\n`);
});
