import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { logTail, readableLine } from '../../../infra/local/log-tail.ts';

test.each([
  [
    '{"level":"fatal","time":"2026-01-01T00:00:00Z","msg":"no node"}',
    '2026-01-01T00:00:00Z fatal no node',
  ],
  ['{"level":60,"msg":"no node"}', '60 no node'],
  ['{"event":"ready"}', '{"event":"ready"}'],
  ['{"half', '{"half'],
  ['plain words', 'plain words'],
])('the log line %s is shown as %s', (line, shown) => {
  expect(readableLine(line)).toBe(shown);
});

test('the tail of a log is its last lines without the blank ones', () => {
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-log-'));
  try {
    const file = join(folder, 'kafka.log');
    expect(logTail(file)).toEqual([]);
    writeFileSync(file, 'one\n\ntwo\n   \nthree\n');
    expect(logTail(file, 2)).toEqual(['two', 'three']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
