import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { closingLine } from './closing-line.ts';

const checkout = join(import.meta.dirname, '../..');

interface Run {
  readonly output: string;
  readonly failed: boolean;
}

/** Runs vitest on these test files, as far as its reporter and the set-up of a file go. */
async function runOf(files: Readonly<Record<string, string>>): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-closing-'));
  const settings = {
    isolate: false,
    maxWorkers: 1,
    experimental: { viteModuleRunner: false },
    setupFiles: [join(import.meta.dirname, 'each-file.ts')],
    reporters: ['default', join(import.meta.dirname, 'closing-line.ts')],
  };
  try {
    symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const config = `export default ${JSON.stringify({ test: settings })};`;
    for (const [name, text] of Object.entries({ 'vitest.config.ts': config, ...files }))
      writeFileSync(join(folder, name), text);
    const vitest = join(checkout, 'node_modules/vitest/vitest.mjs');
    const args = [vitest, 'run', '--root', folder];
    const env = { ...process.env, NO_COLOR: '1' };
    return await new Promise((resolve) => {
      execFile(process.execPath, args, { cwd: folder, env }, (error, stdout, stderr) => {
        resolve({ output: `${stderr}\n${stdout}`.trimEnd(), failed: error !== null });
      });
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function linesOf({ output }: Run): readonly string[] {
  return output.split('\n');
}

const first = "import { afterAll, beforeAll, describe, expect, test } from 'vitest';\n";

test('the last line of a run counts failed tests, files that do not load, set-ups that break and errors outside tests', async () => {
  const files = {
    'failed.test.ts': `${first}test('a', () => expect(1).toBe(2)); test('b', () => {}); test.skip('g', () => {});`,
    'broken.test.ts': `import './not-there.ts';\n${first}test('c', () => {});`,
    'set-up.test.ts': `${first}describe('d', () => { beforeAll(() => { throw new Error('no stack'); }); test('e', () => {}); });`,
    'outside.test.ts': `${first}test('f', () => { setTimeout(() => { throw new Error('late'); }, 0); return new Promise((end) => setTimeout(end, 50)); });`,
  };
  const run = await runOf(files);
  expect(run.failed).toBe(true);
  // vitest skips the test behind a broken set-up, or fails it
  expect(linesOf(run).at(-1)).toMatch(/^2 passed, 4 failed, [12] skipped$/);
});

test('the line names skipped tests only when there are some', () => {
  expect(closingLine({ passed: 3, failed: 1, skipped: 0 })).toBe('3 passed, 1 failed');
  expect(closingLine({ passed: 3, failed: 1, skipped: 2 })).toBe('3 passed, 1 failed, 2 skipped');
});

/** A test file with a system that was stopped, and whose folder is this. */
function fileWithSystem(root: string, runs: string): string {
  mkdirSync(join(root, 'logs'), { recursive: true });
  mkdirSync(join(root, 'data'));
  writeFileSync(join(root, 'logs/kafka.log'), 'its last words');
  return `${first}import { removeSystem } from '${join(import.meta.dirname, 'kept-logs.ts')}';
import { folderAt } from '${join(checkout, 'infra/local/stack/folder.ts')}';
afterAll(() => removeSystem(folderAt('${root}')));
${runs}`;
}

test('a file that fails leaves the logs of its stopped systems, and the run says where; one that passes leaves nothing', async () => {
  const systems = mkdtempSync(join(tmpdir(), 'clt-test-systems-'));
  onTestFinished(() => rmSync(systems, { recursive: true, force: true }));
  const [failed, passed] = [join(systems, 'failed'), join(systems, 'passed')];
  const run = await runOf({
    'failed.test.ts': fileWithSystem(failed, `test('a', () => expect(1).toBe(2));`),
    'passed.test.ts': fileWithSystem(passed, `test('b', () => {});`),
  });
  expect(linesOf(run).slice(-2)).toEqual([
    `logs of failed.test.ts: ${failed}/logs`,
    '1 passed, 1 failed',
  ]);
  expect(readdirSync(systems)).toEqual(['failed']);
  expect(readdirSync(failed, { recursive: true })).toEqual([
    'logs',
    'running.json',
    'logs/kafka.log',
  ]);
});

test('a wait in vain is printed with what was waited for, for how long and what was seen last', async () => {
  const { output } = await runOf({
    'waits.test.ts': `${first}import { until } from '${join(import.meta.dirname, 'until.ts')}';
const now = performance.now;
afterAll(() => { performance.now = now; });
test('until', async () => {
  let read = 0;
  performance.now = () => (read++ === 0 ? 0 : 900_001);
  await until(() => 'held', 'the deposit to be credited', (status) => status === 'credited');
});
test('expect.poll', () => expect.poll(() => 'held', { timeout: 1 }).toBe('credited'));`,
  });
  expect(output).toContain('waited 900 s in vain for the deposit to be credited; seen last: held');
  expect(output).toMatch(/within 900 s: expected 'held' to be 'credited'/);
});
