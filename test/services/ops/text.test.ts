import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { coloured, minute, money, printPaged, table } from '../../../services/ops/text.ts';

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
  const { isTTY, rows: before } = process.stdout;
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  Object.assign(process.stdout, { isTTY: true, rows });
  vi.stubEnv('PAGER', `cat > ${folder}/paged`);
  onTestFinished(() => {
    Object.assign(process.stdout, { isTTY, rows: before });
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
