import { expect, test } from 'vitest';
import { publishedResults } from './measurements.ts';
import { goalsTable, grouped, ratioElsewhere, waitsTable, worse } from './overview.ts';
import type { BenchResult, Ratio } from './report.ts';

function resultOf(bench: string, ratios: readonly Ratio[]): BenchResult {
  return {
    at: '2026-11-24T08:00:00.000Z',
    commit: 'abc1234',
    command: `npm run bench -- ${bench}`,
    options: {},
    machine: { node: 'v26.10.0', cores: 2, memory_bytes: 2 ** 30 },
    bench,
    about: bench,
    measured: [],
    ratios,
  };
}

function under(attack: string, ratio: number): Ratio {
  return {
    what: `p99 of all rounds under ${attack} / without any attack`,
    ratio,
    goal: '<= 2',
  };
}

test('the waits have their figures in the published results, with the sizes of the runs', () => {
  const table = waitsTable(publishedResults());
  const { options } = publishedResults().find(({ bench }) => bench === 'beyond-memory') ?? {};
  expect(table).toContain(`load: ${options?.['transactions']?.toLocaleString('en')} transactions`);
  expect(table).not.toContain('NaN');
});

test('a wait without a published result is shown as not measured', () => {
  expect(waitsTable([])).toContain('| block to subscriber | not measured |');
});

test('the worst of ratios that differ by their subject is shown, with their number', () => {
  const other = { what: 'gateways that ended', ratio: 0, goal: '<= 0' };
  const result = resultOf('abuse', [under('pings', 1.1), under('exports', 1.9), other]);
  expect(grouped(result)).toEqual([
    {
      what: 'p99 of all rounds under exports / without any attack (the worst of 2)',
      ratio: 1.9,
      goal: '<= 2',
    },
    other,
  ]);
});

const RARE = 'p99 of a list, large / small, worst (transactions of a type)';

test('goals that were missed come first, each with its reason', () => {
  const table = goalsTable([
    resultOf('hub', [{ what: 'met', ratio: 1, goal: '<= 2' }]),
    resultOf('beyond-memory', [{ what: RARE, ratio: 4, goal: '<= 3' }]),
    resultOf('pass', [
      { what: 'unexplained', ratio: 4, goal: '<= 3' },
      { what: 'without a goal', ratio: 4 },
    ]),
  ]);
  const cells = table
    .trim()
    .split('\n')
    .slice(2)
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| /, '')));
  expect(cells.map(([what, , , met, why]) => [what, met, why])).toEqual([
    [
      RARE,
      '**missed**',
      'each row of a list may be on another page of the disk ([more](#a-chain-larger-than-memory))',
    ],
    ['unexplained', '**missed**', 'not known'],
    ['met', 'met', ''],
  ]);
});

test.each([
  [1.9, '1.50 | met |'],
  [1, '1.00 to 1.50 | met |'],
  [2.1, '1.50 to 2.10 | **missed** |'],
])('a ratio of 1.5 that is %s on another processor has a row with %s', (there, row) => {
  const ours = { what: 'ours / theirs', goal: '<= 2' };
  const other = resultOf('hub', [{ ...ours, ratio: there }]);
  expect(goalsTable([{ ...resultOf('hub', [{ ...ours, ratio: 1.5 }]), other }])).toContain(row);
});

test('a ratio that is missed on another processor alone is a range, and missed', () => {
  const ours = { what: 'ours / theirs', goal: '<= 2' };
  const result = {
    ...resultOf('hub', [{ ...ours, ratio: 1.9 }]),
    other: resultOf('hub', [{ ...ours, ratio: 2.1 }]),
  };
  expect(goalsTable([result])).toContain('1.90 to 2.10 | **missed** |');
  expect(worse(result, { ...ours, ratio: 1.9 }).ratio).toBe(2.1);
});

test('the worst list on another processor may be another one', () => {
  const other = resultOf('beyond-memory', [{ what: RARE, ratio: 3.6, goal: '<= 3' }]);
  const ours = { what: RARE.replace('a type', 'a block'), ratio: 2.9, goal: '<= 3' };
  const table = goalsTable([{ ...resultOf('beyond-memory', [ours]), other }]);
  expect(table).toContain('| 2.90 to 3.60 | **missed** |');
});

test('a ratio on another processor is the worst of the same group', () => {
  const result = {
    ...resultOf('abuse', [under('pings', 1.1), under('exports', 1.9)]),
    other: resultOf('abuse', [under('pings', 1.8), under('exports', 1.2)]),
  };
  expect(grouped(result).map((ratio) => ratioElsewhere(result, ratio))).toEqual([1.8]);
});
