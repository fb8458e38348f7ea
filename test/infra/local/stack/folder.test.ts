import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { errorText, StackFault } from '../../../../infra/local/process/run-program.ts';
import {
  folderAt,
  openFolder,
  removeFolder,
  type Folder,
} from '../../../../infra/local/stack/folder.ts';
import { mountSmallDisk } from '../../../support/small-disk.ts';

const DISK = 2 ** 20;
const NO_DISK = 'this user may not mount a file system';

function ownFolder(): Folder {
  const folder = folderAt(mkdtempSync(join(tmpdir(), 'clt-test-folder-')));
  onTestFinished(() => rmSync(folder.root, { recursive: true }));
  openFolder(folder);
  return folder;
}

/** Whether this user could make the folder a disk of its own, which holds a file. */
function isDisk(path: string): boolean {
  mkdirSync(path, { recursive: true });
  if (!mountSmallDisk(path, DISK)) return false;
  onTestFinished(() => void spawnSync('umount', [path]));
  mkdirSync(join(path, 'deep'));
  writeFileSync(join(path, 'deep', 'file'), 'text');
  return true;
}

test('a folder that is removed takes all below it along, but not the targets of links in it', () => {
  const { data, logs } = ownFolder();
  writeFileSync(join(logs, 'kept'), '');
  mkdirSync(join(data, 'kafka', 'topic'), { recursive: true });
  symlinkSync(logs, join(data, 'kafka', 'link'));
  symlinkSync('/nowhere', join(data, 'broken'));
  removeFolder(data);
  removeFolder(data);
  expect([existsSync(data), readdirSync(logs)]).toEqual([false, ['kept']]);
});

test('a folder that is a link is emptied where it leads', () => {
  const { data, root } = ownFolder();
  const link = join(root, 'link');
  writeFileSync(join(data, 'file'), '');
  symlinkSync(data, link);
  removeFolder(link);
  expect(readdirSync(link)).toEqual([]);
});

test('folders that are disks, one in the other, are emptied and stay (skipped where this user may mount none)', (context) => {
  const { data } = ownFolder();
  const inside = join(data, 'kafka');
  if (!isDisk(data) || !isDisk(inside)) context.skip(NO_DISK);
  writeFileSync(join(data, 'file'), '');
  removeFolder(data);
  expect(readdirSync(data, { recursive: true })).toEqual(['kafka']);
});

test('logs on a disk of their own are kept at the next start (skipped where this user may mount none)', (context) => {
  const folder = ownFolder();
  if (!isDisk(folder.logs)) context.skip(NO_DISK);
  openFolder(folder);
  expect(readdirSync(folder.logs)).toEqual([]);
  expect(readFileSync(join(`${folder.logs}.before`, 'deep', 'file'), 'utf8')).toBe('text');
});

test.each([
  ['a fault', new StackFault('what to do'), /^what to do$/],
  ['missing rights', systemError('EACCES'), /^EACCES: mkdir \/data: .*APP_LOCAL_DIR$/],
  ['a disk that may only be read', systemError('EROFS'), /^EROFS: mkdir \/data: .*APP_LOCAL_DIR$/],
  ['a full disk', systemError('ENOSPC'), /^ENOSPC: mkdir \/data: make room/],
  ['a bug', new Error('bug'), /at .*folder\.test\.ts/],
])('%s is told in words, with a stack only where it is a bug', (_, error, text) => {
  expect(errorText(error)).toMatch(text);
});

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: mkdir /data`), { code });
}
