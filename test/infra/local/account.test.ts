import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  reachableData,
  reachablePrograms,
  removeShelter,
  serverAccount,
} from '../../../infra/local/account.ts';
import { folderAt, type Folder } from '../../../infra/local/folder.ts';

const is_root = process.getuid?.() === 0;
let folder: Folder;
beforeEach(() => {
  folder = folderAt(mkdtempSync(join(tmpdir(), 'clt-test-account-')));
  mkdirSync(folder.data);
});
afterEach(() => {
  removeShelter(folder);
  rmSync(folder.root, { recursive: true, force: true });
});

test('an ordinary user runs Postgres as itself, with its data in the folder', () => {
  const data = join(folder.data, 'postgres');
  expect(reachableData(data, folder, undefined)).toBe(data);
  expect(reachablePrograms('/usr', folder, undefined)).toBe('/usr');
  expect(statSync(data).mode & 0o777).toBe(0o700);
});

test('Postgres gets another account exactly when this user is root', () => {
  expect(serverAccount() !== undefined).toBe(is_root);
});

test.runIf(is_root)('root runs Postgres as another user, who owns the data', () => {
  chmodSync(folder.root, 0o711);
  const account = serverAccount();
  expect(account?.uid).toBeGreaterThan(0);
  const data = join(folder.data, 'postgres');
  expect(reachableData(data, folder, account)).toBe(data);
  expect(statSync(data).uid).toBe(account?.uid);
});

test.runIf(is_root)(
  'where that user cannot pass, data and programs lie in a place that it can reach, and are removed with the rest',
  () => {
    chmodSync(folder.root, 0o700);
    const account = serverAccount();
    const programs = join(folder.root, 'native');
    mkdirSync(join(programs, 'bin'), { recursive: true });
    const link = join(folder.data, 'postgres');
    const data = reachableData(link, folder, account);
    expect(data.startsWith(folder.root)).toBe(false);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(statSync(data)).toMatchObject({ uid: account?.uid });
    expect(reachableData(link, folder, account)).toBe(data);
    const copy = reachablePrograms(programs, folder, account);
    expect(existsSync(join(copy, 'bin'))).toBe(true);
    expect(dirname(copy)).toBe(dirname(data));
    removeShelter(folder);
    expect(existsSync(dirname(data))).toBe(false);
    expect(() => reachableData(link, folder, account)).toThrow('down -- --wipe');
  },
);
