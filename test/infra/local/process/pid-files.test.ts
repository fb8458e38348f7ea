import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  endProcesses,
  identify,
  isAlive,
  livingProcesses,
  readPidFile,
  writePidFile,
} from '../../../../infra/local/process/pid-files.ts';
import { acquirePidFile } from '../../../../infra/local/process/pid-lock.ts';

/** This process' pid with the start time of another process, as after a reboot. */
const RECYCLED = JSON.stringify({ pid: process.pid, started: 'another boot:1' });

let folder = '';
let file = '';
const sleepers: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'clt-test-pids-'));
  file = join(folder, 'one.json');
});
afterEach(() => {
  for (const one of sleepers.splice(0)) one.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** A process that does nothing; a deaf one ignores SIGINT. */
async function sleeper(isDeaf = false): Promise<ChildProcess & { readonly pid: number }> {
  const script = `${isDeaf ? "trap '' INT;" : ''} echo up; exec sleep 60`;
  const one = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  sleepers.push(one);
  await once(one.stdout, 'data');
  const { pid } = one;
  if (pid === undefined) throw new Error('no pid');
  return Object.assign(one, { pid });
}

test('a pid file names its process until that process ends', async () => {
  const one = await sleeper();
  writePidFile(file, one.pid);
  expect(readPidFile(file)).toEqual(identify(one.pid));
  expect([...livingProcesses(folder).keys()]).toEqual(['one']);
  one.kill('SIGKILL');
  await once(one, 'exit');
  expect(readPidFile(file)).toBeUndefined();
  expect(livingProcesses(folder).size).toBe(0);
});

test.each(['', '{', 'null', '{"pid":"1","started":"x"}', '{"pid":-1,"started":"x"}', RECYCLED])(
  'a pid file with %j names no process',
  (text) => {
    writeFileSync(file, text);
    expect(readPidFile(file)).toBeUndefined();
  },
);

test('a missing file or folder names no process', () => {
  expect(readPidFile(file)).toBeUndefined();
  expect(livingProcesses(join(folder, 'missing')).size).toBe(0);
});

test('a pid file that an earlier version wrote is read', async () => {
  const one = await sleeper();
  writeFileSync(file, JSON.stringify({ ...identify(one.pid), name: 'one' }));
  expect(readPidFile(file)?.pid).toBe(one.pid);
});

test('a pid file has one holder; one of an ended process can be acquired', async () => {
  const other = await sleeper();
  writePidFile(file, other.pid);
  expect(await acquirePidFile(file)).toEqual(identify(other.pid));
  writeFileSync(file, RECYCLED);
  expect(await acquirePidFile(file)).toBeUndefined();
  expect(await acquirePidFile(file)).toEqual(identify(process.pid));
  rmSync(file);
  const deep = join(folder, 'deep', 'one.json');
  const outcomes = await Promise.all([1, 2, 3, 4].map(() => acquirePidFile(deep)));
  expect(outcomes.filter((holder) => holder === undefined)).toHaveLength(1);
  expect(existsSync(deep)).toBe(true);
  expect(readdirSync(join(folder, 'deep'))).toEqual(['one.json']);
});

test('processes are asked to end; one that ignores the signal is killed', async () => {
  const polite = await sleeper();
  const deaf = await sleeper(true);
  const identities = [polite, deaf].flatMap(({ pid }) => identify(pid) ?? []);
  const exits = Promise.all([once(polite, 'exit'), once(deaf, 'exit')]);
  await endProcesses(identities, 'SIGINT', 200);
  expect(await exits).toEqual([
    [null, 'SIGINT'],
    [null, 'SIGKILL'],
  ]);
});

test('a process that was given the pid of an ended one is left alone', async () => {
  const innocent = await sleeper();
  await endProcesses([{ pid: innocent.pid, started: 'another boot:1' }], 'SIGINT', 0);
  expect([innocent.exitCode, innocent.signalCode]).toEqual([null, null]);
  const identity = identify(innocent.pid);
  expect(identity !== undefined && isAlive(identity)).toBe(true);
});
