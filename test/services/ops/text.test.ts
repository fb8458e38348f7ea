import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { coloured, minute, money, printPaged, table, wrapped } from '../../../services/ops/text.ts';

/** Standard output is a terminal of this size until the test ends. */
function onTerminal(size: { readonly columns?: number; readonly rows?: number }): void {
  const { isTTY, columns, rows } = process.stdout;
  Object.assign(process.stdout, { isTTY: true, ...size });
  onTestFinished(() => void Object.assign(process.stdout, { isTTY, columns, rows }));
}

test.each([
  ['0', '0.00'],
  ['1', '0.000001'],
  ['-1500000', '-1.50'],
  ['1500000000', '1,500.00'],
  ['1234567890123456', '1,234,567,890.123456'],
  ['-100000000000', '-100,000.00'],
])('%s base units are %s', (units, text) => {
  expect(money(units)).toBe(text);
  expect(money(BigInt(units))).toBe(text);
});

test('a table is aligned under its headers, numbers on the right', () => {
  const rows = [
    ['a', '1,500.00', 'ready'],
    ['longer', '2.50', ''],
  ];
  expect(table(['NAME', 'USDT', 'STATE'], rows)).toBe(
    'NAME        USDT  STATE\na       1,500.00  ready\nlonger      2.50',
  );
});

const AMOUNTS = Array.from({ length: 5 }, (_, at) =>
  money(9_007_208_249_143_211n * BigInt(at + 1)),
);
const RUNS = [
  ['2026-11-21 07:28', 'over_backed_drift', ...AMOUNTS],
  ['2026-11-21 07:27', 'balanced', '1.00', '2.00', '3.00', '4.00', ''],
];
const FIGURES = ['CUSTODY', 'LIABILITY', 'UNCOVERED', 'SURPLUS', 'SUPPLY'];

test('columns beyond the width of a terminal follow on lines of their own, and nothing is lost', () => {
  onTerminal({ columns: 100 });
  const lines = stripVTControlCharacters(table(['RUN AT', 'STATUS', ...FIGURES], RUNS)).split('\n');
  expect(lines.every(({ length }) => length <= 100)).toBe(true);
  expect(lines.join(' ').split(/\s+/)).toEqual(
    [['RUN', 'AT', 'STATUS', ...FIGURES], ...RUNS].flat().join(' ').trim().split(/\s+/),
  );
  // the last cell of the second run is empty, its line is there for the figure before it
  expect(lines).toHaveLength(6);
  expect(lines[3]).toMatch(
    /^ {4}27,021,624,747\.429633 {2}36,028,832,996\.572844 {2}45,036,041,245\.716055$/,
  );
});

test('a line of a row without anything in it is left out', () => {
  onTerminal({ columns: 12 });
  expect(
    table(
      ['A', 'B'],
      [
        ['one', 'x'.repeat(50)],
        ['two', ''],
      ],
    ).split('\n'),
  ).toHaveLength(5);
});

test('a row that no terminal shows is one line', () => {
  expect(table(['RUN AT', 'STATUS', ...FIGURES], RUNS).split('\n')).toHaveLength(3);
});

test('parts are wrapped between them alone', () => {
  expect(wrapped(['one', 'two', 'three and more', 'x'], ', ', 8)).toEqual([
    'one, two',
    'three and more',
    'x',
  ]);
});

test('a line longer than the terminal is cut', () => {
  expect(table(['A', 'B'], [['one', 'x'.repeat(50)]], 12).split('\n')[1]).toBe('one  xxxxxx…');
});

test('nothing is coloured where standard output is no terminal', () => {
  expect(coloured('red', 'away')).toBe('away');
});

test.each([
  [3, 'a pager', 'one\ntwo\nthree\n', ''],
  [4, 'the terminal', undefined, 'one\ntwo\nthree\n'],
])('three lines on a terminal of %s rows go to %s', (rows, _where, paged, written) => {
  const folder = mkdtempSync(join(tmpdir(), 'clt-ops-text-'));
  onTerminal({ rows });
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  vi.stubEnv('PAGER', `cat > ${folder}/paged`);
  onTestFinished(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });
  printPaged('one\ntwo\nthree');
  const file = join(folder, 'paged');
  expect(existsSync(file) ? readFileSync(file, 'utf8') : undefined).toBe(paged);
  expect(write.mock.calls.join('')).toBe(written);
});

test('a time is shown to the minute', () => {
  expect(minute('2026-11-21T07:28:00.500Z')).toBe('2026-11-21 07:28');
});
