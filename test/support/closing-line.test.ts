import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { closingLine } from './closing-line.ts';

const checkout = join(import.meta.dirname, '../..');

/** Runs vitest with our reporter on these test files, and gives its last line. */
async function lastLineOf(
  files: Readonly<Record<string, string>>,
): Promise<{ readonly line: string | undefined; readonly failed: boolean }> {
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-closing-'));
  try {
    symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const vitest = join(checkout, 'node_modules/vitest/vitest.mjs');
    const args = [
      vitest,
      'run',
      '--root',
      folder,
      '--no-isolate',
      '--maxWorkers=1',
      '--reporter',
      'default',
      '--reporter',
      join(import.meta.dirname, 'closing-line.ts'),
    ];
    return await new Promise((resolve) => {
      execFile(process.execPath, args, { cwd: folder }, (error, stdout) => {
        resolve({ line: stdout.trimEnd().split('\n').at(-1), failed: error !== null });
      });
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const first = "import { beforeAll, describe, expect, test } from 'vitest';\n";

test('the last line of a run counts failed tests, files that do not load, set-ups that break and errors outside tests', async () => {
  const files = {
    'failed.test.ts': `${first}test('a', () => expect(1).toBe(2)); test('b', () => {}); test.skip('g', () => {});`,
    'broken.test.ts': `import './not-there.ts';\n${first}test('c', () => {});`,
    'set-up.test.ts': `${first}describe('d', () => { beforeAll(() => { throw new Error('no stack'); }); test('e', () => {}); });`,
    'outside.test.ts': `${first}test('f', () => { setTimeout(() => { throw new Error('late'); }, 0); return new Promise((end) => setTimeout(end, 50)); });`,
  };
  const { line, failed } = await lastLineOf(files);
  expect(failed).toBe(true);
  // vitest skips the test behind a broken set-up, or fails it
  expect(line).toMatch(/^2 passed, 4 failed, [12] skipped$/);
});

test('the line names skipped tests only when there are some', () => {
  expect(closingLine({ passed: 3, failed: 1, skipped: 0 })).toBe('3 passed, 1 failed');
  expect(closingLine({ passed: 3, failed: 1, skipped: 2 })).toBe('3 passed, 1 failed, 2 skipped');
});
