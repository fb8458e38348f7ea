import { readFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LIMITS_PAGE, limitsPageWith } from './limits-page.ts';
import {
  allPublished,
  keep,
  PAGE,
  pageWith,
  PICTURE,
  publishedResults,
  unpublishable,
} from './measurements.ts';
import { ratiosPicture } from './ratios-picture.ts';
import { median, missedGoals, type BenchResult } from './report.ts';

const page = readFileSync(PAGE, 'utf8');
const result: BenchResult = {
  at: '2026-11-24T08:00:00.000Z',
  commit: 'abc1234',
  command: 'npm run bench -- lists',
  options: { records: 600, rounds: 3 },
  machine: { node: 'v26.10.0', cores: 2, cpu: 'A | B', memory_bytes: 24 * 2 ** 30 },
  bench: 'pass',
  about: '600 records to a file',
  measured: [
    { what: 'ops tail', unit: 'records/s', rounds: [55_429, 63_635, 60_000] },
    { what: 'memory at the most', unit: 'MiB', rounds: [532.4] },
  ],
  detail: [{ way: 'a | b', 'MB/s': 34.51 }],
  ratios: [
    { what: 'records a second / 50,000', ratio: 1.2, goal: '>= 1' },
    { what: 'memory, last / first', ratio: 1.01 },
  ],
};

test('docs/measurements.md shows the published results; `npm run bench:publish` writes it', () => {
  expect(pageWith(page, publishedResults())).toBe(page);
});

test('docs/limits.md shows what each limit does; `npm run bench:publish` writes it', () => {
  const limits = readFileSync(LIMITS_PAGE, 'utf8');
  expect(limitsPageWith(limits)).toBe(limits);
});

test('docs/pictures/ratios.svg shows their ratios; `npm run bench:publish` writes it', () => {
  expect(ratiosPicture(publishedResults())).toBe(readFileSync(PICTURE, 'utf8'));
});

test('the picture has a bar for each ratio with a goal, on the side of met or missed', () => {
  const picture = ratiosPicture([
    {
      ...result,
      ratios: [
        { what: 'a', ratio: 1.2, goal: '>= 1' },
        { what: 'b', ratio: 3, goal: '<= 2, at most' },
        { what: 'c & d', ratio: 3 },
        { what: 'never', ratio: 0, goal: '<= 0' },
      ],
    },
  ]);
  const colours = picture.match(/(?<=<rect x=.*fill=").*(?=")/g);
  expect(colours).toEqual(['#1a7f37', '#b35900']);
  expect(picture).toContain('>3.00  (&lt;= 2)<');
  expect(picture).not.toContain('never');
});

test('no result is published of changed files or without a commit', () => {
  expect(publishedResults().map(unpublishable)).not.toContainEqual(expect.anything());
  expect(unpublishable(result)).toBeUndefined();
  expect(unpublishable({ ...result, commit: 'abc1234-dirty' })).toBeDefined();
  expect(unpublishable({ ...result, commit: null })).toBeDefined();
});

test('a result has its machine, commit, command, settings, medians, spreads and goals', () => {
  const shown = pageWith(page, [result]);
  for (const line of [
    '### pass',
    '`npm run bench -- lists` on 2026-11-24 at commit abc1234: 2 cores (A | B), 24 GiB, Node v26.10.0. Settings: records 600, rounds 3.',
    '| ops tail | 60,000 records/s | 55,429 to 63,635 | 3 |',
    '| memory at the most | 532 MiB |  | 1 |',
    '| a \\| b | 34.5 |',
    '| records a second / 50,000 | 1.20 | >= 1 |',
    '| memory, last / first | 1.01 |  |',
  ])
    expect(shown.split('\n')).toContain(line);
});

test('other results replace those of the page, and nothing else', () => {
  expect(pageWith(pageWith(page, [result, result]), publishedResults())).toBe(page);
});

test('a result is kept beside the newest of another kind of processor', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'clt-test-results-'));
  for (const [cpu = '', commit = ''] of ['A1', 'B2', 'B3', 'A4', 'B5'])
    keep({ ...result, commit, machine: { ...result.machine, cpu } }, folder.path);
  const [kept] = allPublished(folder.path);
  expect([kept?.commit, kept?.other?.commit]).toEqual(['5', '4']);
  expect(pageWith(page, kept === undefined ? [] : [kept])).toContain(
    '| records a second / 50,000 | 1.20 | 1.20 | >= 1 |',
  );
});

test.each([
  [[3], 3],
  [[1, 2], 1.5],
  [[3, 1, 2], 2],
  [[4, 1, 2, 3], 2.5],
])('the median of %j is %s', (values, middle) => {
  expect(median(values)).toBe(middle);
});

test.each([
  [0.7, '>= 0.8', true],
  [0.8, '>= 0.8, then 0.9', false],
  [2.01, '<= 2', true],
  [0, '<= 0', false],
  [Number.NaN, '<= 2', true],
  [9, undefined, false],
])('%s with the goal %s: missed is %s', (ratio, goal, isMissed) => {
  const ratios = [{ what: 'ours / theirs', ratio, ...(goal !== undefined && { goal }) }];
  expect(missedGoals({ ratios })).toHaveLength(Number(isMissed));
});
