import { createServer } from 'node:net';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { plainEnvironment } from '../../../../infra/local/process/run-program.ts';
import {
  Halted,
  Server,
  Working,
  type ServerSpec,
} from '../../../../infra/local/process/server.ts';
import { folderAt, openFolder, type Folder } from '../../../../infra/local/stack/folder.ts';
import { takePort } from '../../../support/free-ports.ts';

let folder: Folder;
let port = 0;
let release = (): void => undefined;
const servers: Server[] = [];
beforeEach(async () => {
  folder = folderAt(mkdtempSync(join(tmpdir(), 'clt-test-server-')));
  openFolder(folder);
  ({ port, release } = await takePort());
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.child?.kill();
  release();
  rmSync(folder.root, { recursive: true, force: true });
});

const LISTENS =
  "require('node:http').createServer((_, answer) => answer.end('ok')).listen(PORT, '127.0.0.1');";

/** A server that is a line of JavaScript. */
function serverOf(script: string, more: Partial<ServerSpec> = {}): Server {
  const server = new Server(
    {
      name: 'small',
      ports: [port],
      prepare: () =>
        Promise.resolve({
          file: process.execPath,
          args: ['-e', script.replace('PORT', String(port))],
          env: plainEnvironment(),
          cwd: folder.root,
        }),
      isReady: async () => (await fetch(`http://127.0.0.1:${port}`)).ok,
      ...more,
    },
    folder,
  );
  servers.push(server);
  return server;
}

test('a server can be killed, frozen, woken and started again on the same port', async () => {
  const server = serverOf(LISTENS);
  await server.start();
  const first = server.pid;
  await server.child?.kill('SIGSTOP');
  expect(server.pid).toBe(first);
  await server.child?.kill('SIGCONT');
  await server.child?.kill();
  expect(server.child?.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(server.pid).toBeUndefined();
  expect(readdirSync(folder.pids)).toEqual([]);
  await server.start();
  expect(server.pid).not.toBe(first);
  expect(readdirSync(folder.pids)).toEqual(['small.json']);
  await expect(server.start()).rejects.toThrow('already running');
  await server.stop();
  expect(server.pid).toBeUndefined();
  await server.stop();
});

test('settings of a person hold from the next start on, the newest of each', async () => {
  const given: object[] = [];
  const server = serverOf(LISTENS, {
    prepare: (_signal, settings) => {
      given.push({ ...settings });
      const args = ['-e', LISTENS.replace('PORT', String(port))];
      const env = plainEnvironment({ ...settings });
      return Promise.resolve({ file: process.execPath, args, env, cwd: folder.root });
    },
  });
  await server.start();
  server.set({ APP_RATE_PER_SECOND: '7', APP_LOG_LEVEL: 'warn' });
  server.set({ APP_LOG_LEVEL: '' });
  for (let start = 0; start < 2; start++) {
    await server.stop();
    await server.start();
  }
  const settings = { APP_RATE_PER_SECOND: '7', APP_LOG_LEVEL: '' };
  expect(given).toEqual([{}, settings, settings]);
});

test('a server whose port is in use is not started', async () => {
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  try {
    const server = serverOf(LISTENS);
    await expect(server.start()).rejects.toThrow(
      `small cannot start: another program uses its port ${port}`,
    );
    expect(server.child).toBeUndefined();
  } finally {
    other.close();
  }
});

test('the time limit of a server does not run while it is working', async () => {
  const reports: string[] = [];
  let [remaining, now] = [10, 0];
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const isReady = (): Promise<boolean> => {
    remaining -= 1;
    now += 150;
    return remaining > 0 ? Promise.reject(new Working(`${remaining} left`)) : Promise.resolve(true);
  };
  const server = serverOf('setInterval(() => {}, 1000)', { ready_ms: 200, isReady });
  await server.start(undefined, (text) => void reports.push(text));
  expect(reports).toHaveLength(9);
});

test('a halted server is started, with the reason, until it is started anew and is ready', async () => {
  let isHalted = true;
  const isReady = (): Promise<boolean> =>
    isHalted ? Promise.reject(new Halted('a record is poison')) : Promise.resolve(true);
  const server = serverOf('setInterval(() => {}, 1000)', { isReady });
  await server.start();
  expect(server.halted).toBe('a record is poison');
  await server.stop();
  isHalted = false;
  await server.start();
  expect(server.halted).toBeUndefined();
});

test('the same work for 30 minutes no longer extends the time limit', async () => {
  let now = 0;
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const isReady = (): Promise<boolean> => {
    now += 600_000;
    return Promise.reject(new Working('loading'));
  };
  const server = serverOf('setInterval(() => {}, 1000)', { isReady });
  await expect(server.start()).rejects.toThrow('was not ready within 600 s (loading)');
  expect(now).toBe(5 * 600_000);
});

test('a server that ends for a reason that passes is started again', async () => {
  const script = `const { existsSync, writeFileSync } = require('node:fs');
    if (!existsSync('seen')) { writeFileSync('seen', ''); console.log('in use'); process.exit(1); }
    ${LISTENS}`;
  await serverOf(script, { passing_exit: /in use/ }).start();
});

test('a server that is stopped twice gets one signal', async () => {
  const server = serverOf(`let signals = 0;
    process.on('SIGINT', () => { signals += 1; setTimeout(() => process.exit(signals), 300); });
    ${LISTENS}`);
  await server.start();
  const first = server.stop();
  await pause(100);
  await Promise.all([first, server.stop()]);
  expect(server.child?.exited?.code).toBe(1);
});

test('a server that is neither ready nor working in time is stopped, with its reason', async () => {
  const server = serverOf('setInterval(() => {}, 1000)', {
    ready_ms: 200,
    isReady: () => Promise.reject(new Error('no schema')),
  });
  await expect(server.start()).rejects.toThrow('small was not ready within 0.2 s (no schema)');
  expect(server.pid).toBeUndefined();
});

test('a server that ends before it is ready is reported with the end of its log', async () => {
  const server = serverOf(`console.log('one\\n'); console.error('no disk'); process.exit(3)`);
  await expect(server.start()).rejects.toThrow(
    /small exited with code 3 before it was ready; the end of .*small\.log:\n {2}\| one\n {2}\| no disk$/,
  );
});

test('a missing program is reported and leaves no pid file', async () => {
  const prepare = (): ReturnType<ServerSpec['prepare']> =>
    Promise.resolve({ file: join(folder.root, 'nothing'), args: [], env: {}, cwd: folder.root });
  await expect(serverOf('', { prepare }).start()).rejects.toThrow('small could not be started');
  expect(readdirSync(folder.pids)).toEqual([]);
});

test('a server that ignores the stop signal is killed', async () => {
  const server = serverOf(`process.on('SIGINT', () => {}); ${LISTENS}`, { stop_ms: 100 });
  await server.start();
  await server.stop();
  expect(server.child?.exited).toEqual({ code: null, signal: 'SIGKILL' });
});

test('an aborted start leaves no process', async () => {
  const stop = new AbortController();
  const server = serverOf('setInterval(() => {}, 1000)');
  const outcome = expect(server.start(stop.signal)).rejects.toThrow('abort');
  await expect.poll(() => server.pid).toBeDefined();
  stop.abort();
  await outcome;
  expect(server.pid).toBeUndefined();
});
