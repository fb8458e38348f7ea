import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { folderAt, type Folder } from '../../../infra/local/folder.ts';
import { leftoversIn, stopLeftovers } from '../../../infra/local/leftovers.ts';
import { identify } from '../../../infra/local/process-identity.ts';

let folder: Folder;
const processes: ChildProcess[] = [];
beforeEach(() => {
  folder = folderAt(mkdtempSync(join(tmpdir(), 'clt-test-leftovers-')));
  mkdirSync(folder.pids);
});
afterEach(() => {
  for (const one of processes.splice(0)) one.kill('SIGKILL');
  rmSync(folder.root, { recursive: true, force: true });
});

/** A process that says when it is up; with `deaf` it ignores SIGTERM. */
async function sleeper(deaf = false): Promise<ChildProcess & { readonly pid: number }> {
  const script = `${deaf ? "process.on('SIGTERM', () => {});" : ''} setInterval(() => {}, 1000); console.log('up')`;
  const one = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  processes.push(one);
  await once(one.stdout, 'data');
  const { pid } = one;
  if (pid === undefined) throw new Error('no pid');
  return Object.assign(one, { pid });
}

function record(name: string, identity: object): void {
  writeFileSync(join(folder.pids, `${name}.json`), JSON.stringify(identity));
}

test('a recorded process that still runs is ended, also one that ignores the polite signal', async () => {
  const polite = await sleeper();
  const deaf = await sleeper(true);
  record('kafka', { ...identify(polite.pid) });
  record('explorer-gateway', { ...identify(deaf.pid) });
  const exits = Promise.all([once(polite, 'exit'), once(deaf, 'exit')]);
  expect((await stopLeftovers(folder, 300)).toSorted()).toEqual(['explorer-gateway', 'kafka']);
  expect(await exits).toEqual([
    [null, 'SIGTERM'],
    [null, 'SIGKILL'],
  ]);
  expect(readdirSync(folder.pids)).toEqual([]);
});

test('a process that was given the pid of a recorded one is left alone', async () => {
  const innocent = await sleeper();
  record('kafka', { pid: innocent.pid, started: 'another boot:1' });
  expect(leftoversIn(folder)).toEqual([]);
  expect(await stopLeftovers(folder, 300)).toEqual([]);
  expect(identify(innocent.pid)).toBeDefined();
  expect(innocent.exitCode).toBeNull();
  expect(innocent.signalCode).toBeNull();
});

test('a record of a process that has gone, and one that was only half written, are nothing', async () => {
  const gone = await sleeper();
  const identity = identify(gone.pid);
  gone.kill('SIGKILL');
  await once(gone, 'exit');
  record('kafka', { ...identity });
  writeFileSync(join(folder.pids, 'redis.json'), '{"pi');
  expect(await stopLeftovers(folder, 300)).toEqual([]);
});

test('a folder that was never used has no leftovers', async () => {
  expect(await stopLeftovers(folderAt(join(folder.root, 'unused')), 300)).toEqual([]);
});
