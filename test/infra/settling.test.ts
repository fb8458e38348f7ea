/** The arguments of `infra/postgres/settle.ts` and `infra/kafka/settle.ts`. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { kafkaPasswordFile, RIGHTS } from '../../infra/kafka/acls.ts';
import { usageProblem } from '../../infra/settling.ts';

const POSTGRES = ['postgres_superuser', 'postgres_writer', 'postgres_reader', 'postgres_analyst'];
const KAFKA = RIGHTS.map(({ principal }) => kafkaPasswordFile(principal));

function folderWith(files: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-settle-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const file of files) writeFileSync(join(folder, file), 'a password');
  return folder;
}

test('a folder with every password and a host are enough', () => {
  expect(usageProblem(folderWith(POSTGRES), ['127.0.0.1:5432'], POSTGRES)).toBeUndefined();
});

test.each([
  ['infra/postgres/settle.ts', POSTGRES],
  ['infra/kafka/settle.ts', KAFKA],
])('%s settles nothing without a host, or in a folder that lacks a password', (program, files) => {
  const run = (...given: readonly string[]) => {
    const file = join(import.meta.dirname, '../..', program);
    const { status, stderr } = spawnSync(process.execPath, [file, ...given], { encoding: 'utf8' });
    return { status, stderr };
  };
  const usage = 'usage: settle.ts FOLDER HOST:PORT...';
  expect(run()).toEqual({ status: 1, stderr: `${usage}\n` });
  expect(run(folderWith(files))).toEqual({ status: 1, stderr: `${usage}\n` });
  const [lacking = '', ...others] = files;
  const folder = folderWith(others);
  const stderr = `${usage}; ${folder} lacks ${lacking}\n`;
  expect(run(folder, '127.0.0.1:1')).toEqual({ status: 1, stderr });
});
