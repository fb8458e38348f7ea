import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { spawnChild } from '../../../../infra/local/process/child.ts';
import { plainEnvironment } from '../../../../infra/local/process/run-program.ts';
import { folderAt, openFolder } from '../../../../infra/local/stack/folder.ts';

/** Every write to it fails with ENOSPC. */
const FULL = '/dev/full';

/** The pids of the processes with this argument. */
function processesOf(argument: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    const file = `/proc/${pid}/cmdline`;
    return /^\d+$/.test(pid) && readText(file).split('\0').includes(argument);
  });
}

/** Empty when the process has just ended. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

test.skipIf(!existsSync(FULL))(
  'a process whose pid file cannot be written for want of room does not stay (skipped where there is no /dev/full)',
  async () => {
    const folder = folderAt(mkdtempSync(join(tmpdir(), 'clt-test-child-')));
    onTestFinished(() => rmSync(folder.root, { recursive: true, force: true }));
    openFolder(folder);
    symlinkSync(FULL, join(folder.pids, 'small.json'));
    const args = ['-e', 'setInterval(() => 0, 1_000)', folder.root];
    const command = { file: process.execPath, args, env: plainEnvironment(), cwd: folder.root };
    await expect(spawnChild('small', command, folder)).rejects.toThrow('ENOSPC');
    await expect.poll(() => processesOf(folder.root)).toEqual([]);
  },
);
