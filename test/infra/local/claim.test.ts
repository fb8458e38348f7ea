import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claim } from '../../../infra/local/claim.ts';
import { identify, isAlive } from '../../../infra/local/process-identity.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'clt-test-claim-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a claim is held once, and free again after its release', () => {
  const file = join(folder, 'deep', 'running.json');
  const first = claim(file);
  expect(first.held).toBe(true);
  expect(claim(file)).toMatchObject({ held: false, holder: { pid: process.pid } });
  if (first.held) first.release();
  expect(existsSync(file)).toBe(false);
  expect(claim(file).held).toBe(true);
  expect(readdirSync(join(folder, 'deep'))).toEqual(['running.json']);
});

test('the claim of a process that has gone is void', async () => {
  const file = join(folder, 'running.json');
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  const identity = identify(other.pid ?? 0);
  writeFileSync(file, JSON.stringify(identity));
  expect(claim(file)).toEqual({ held: false, holder: identity });
  other.kill('SIGKILL');
  await once(other, 'exit');
  expect(claim(file).held).toBe(true);
});

test('a process that was given the pid of another is not taken for it', () => {
  const file = join(folder, 'running.json');
  const stale = { pid: process.pid, started: 'another boot:1' };
  writeFileSync(file, JSON.stringify(stale));
  expect(isAlive(stale)).toBe(false);
  expect(claim(file).held).toBe(true);
});

test.each(['', '{', 'null', '{"pid":"1","started":"x"}', '{"pid":-1,"started":"x"}'])(
  'a claim file that reads %j is void',
  (text) => {
    const file = join(folder, 'running.json');
    writeFileSync(file, text);
    expect(claim(file).held).toBe(true);
  },
);

test('of many processes that claim at once exactly one holds', async () => {
  const file = join(folder, 'running.json');
  writeFileSync(file, JSON.stringify({ pid: process.pid, started: 'another boot:1' }));
  const script = `
    const { claim } = await import(${JSON.stringify(join(import.meta.dirname, '../../../infra/local/claim.ts'))});
    console.log(claim(${JSON.stringify(file)}).held);
    await new Promise((end) => process.stdin.once('data', end));
    process.exit(0);`;
  const racers = Array.from({ length: 6 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  );
  const answers = await Promise.all(
    racers.map(async (racer) => String((await once(racer.stdout, 'data'))[0]).trim()),
  );
  for (const racer of racers) racer.stdin.end('end');
  await Promise.all(racers.map((racer) => once(racer, 'exit')));
  expect(answers.filter((answer) => answer === 'true')).toHaveLength(1);
});
