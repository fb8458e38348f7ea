import { mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { passwordBefore, passwordIn } from '../../../infra/cluster/passwords.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'clt-test-passwords-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

test('a password is made once, and only this user may read it', () => {
  const made = passwordIn(folder, 'redis');
  expect(made).toMatch(/^[0-9a-f]{48}$/);
  expect(passwordIn(folder, 'redis')).toBe(made);
  expect(readdirSync(folder)).toEqual(['redis']);
  expect(statSync(join(folder, 'redis')).mode & 0o77).toBe(0);
});

test('a moved password is the one before, and another one is made', () => {
  const first = passwordIn(folder, 'redis');
  expect(passwordBefore(folder, 'redis')).toBeUndefined();
  renameSync(join(folder, 'redis'), join(folder, 'redis.before'));
  expect(passwordIn(folder, 'redis')).not.toBe(first);
  expect(passwordBefore(folder, 'redis')).toBe(first);
});
