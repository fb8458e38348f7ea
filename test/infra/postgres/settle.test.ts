/** The arguments of `infra/postgres/settle.ts`. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { usageProblem } from '../../../infra/postgres/settle.ts';

const FILES = ['postgres_superuser', 'postgres_writer', 'postgres_reader', 'postgres_analyst'];
const PROGRAM = join(import.meta.dirname, '../../../infra/postgres/settle.ts');

function folderWith(files: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-settle-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const file of files) writeFileSync(join(folder, file), 'a password');
  return folder;
}

test('a folder with every password and a host are enough', () => {
  expect(usageProblem(folderWith(FILES), ['127.0.0.1:5432'])).toBeUndefined();
});

test.each(FILES)('a folder without %s is refused by its name', (lacking) => {
  const folder = folderWith(FILES.filter((file) => file !== lacking));
  expect(usageProblem(folder, ['127.0.0.1:5432'])).toBe(
    `usage: settle.ts FOLDER HOST:PORT...; ${folder} lacks ${lacking}`,
  );
});

test('without a host nothing is settled, and the exit code is 1', () => {
  const folder = folderWith(FILES);
  for (const given of [[], [folder]]) {
    const { status, stderr } = spawnSync(process.execPath, [PROGRAM, ...given], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: 'usage: settle.ts FOLDER HOST:PORT...\n',
    });
  }
});
