import { createServer } from 'node:net';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { plainEnvironment } from '../../../infra/local/child.ts';
import { folderAt, openFolder, type Folder } from '../../../infra/local/folder.ts';
import { keep, verdictOf } from '../../../infra/local/keeper.ts';
import { AtWork, Server, type ServerSpec } from '../../../infra/local/server.ts';
import { startInOrder } from '../../../infra/local/start-in-order.ts';
import { takePort } from '../../support/free-ports.ts';

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
  for (const server of servers.splice(0)) await server.kill('SIGKILL');
  release();
  rmSync(folder.root, { recursive: true, force: true });
});

const never = new AbortController().signal;
const unwanted = (): void => expect.unreachable();

const LISTENS = `require('node:http').createServer((_, answer) => answer.end('ok')).listen(Number(process.env.PORT), '127.0.0.1');`;

/** A server that is a line of JavaScript. */
function serverOf(
  script: string,
  limits = { ready_ms: 20_000, stop_ms: 20_000 },
  more: Partial<ServerSpec> = {},
): Server {
  const [own] = more.ports ?? [port];
  const server = new Server(
    {
      name: 'small',
      version: '1',
      ports: [own],
      prepare: () =>
        Promise.resolve({
          file: process.execPath,
          args: ['-e', script],
          env: plainEnvironment({ PORT: String(own) }),
          cwd: folder.root,
        }),
      answers: async () => (await fetch(`http://127.0.0.1:${own}`)).ok,
      stop_signal: 'SIGTERM',
      ...more,
    },
    folder,
    limits,
  );
  servers.push(server);
  return server;
}

test('a server can be killed, frozen, woken and started again on the same port', async () => {
  const server = serverOf(LISTENS);
  await server.start();
  const first = server.pid;
  expect(await server.kill('SIGSTOP')).toBeUndefined();
  expect(server.pid).toBe(first);
  expect(await server.kill('SIGCONT')).toBeUndefined();
  expect(await server.kill('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
  expect(server.pid).toBeUndefined();
  expect(readdirSync(folder.pids)).toEqual([]);
  await server.start();
  expect(server.pid).not.toBe(first);
  expect(readdirSync(folder.pids)).toEqual(['small.json']);
  await expect(server.start()).rejects.toThrow('runs already');
  await server.stop();
  expect(server.pid).toBeUndefined();
  await server.stop();
});

test('the answer of another process on its port is not taken for the server’s own', async () => {
  const foreign = createServer((socket) =>
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'),
  ).listen(port, '127.0.0.1');
  await once(foreign, 'listening');
  try {
    const server = serverOf('setInterval(() => {}, 1000)', { ready_ms: 400, stop_ms: 5_000 });
    await expect(server.start()).rejects.toThrow(
      new RegExp(`not ready within 0.4 s \\(held by others: ${port} by process ${process.pid}\\)`),
    );
    expect(server.pid).toBeUndefined();
  } finally {
    foreign.close();
  }
});

test('a server at work is waited for, and has its time to become ready afterwards', async () => {
  const said: string[] = [];
  const begun = performance.now();
  let sayings = 0;
  const answers = (): Promise<boolean> => {
    if (performance.now() - begun < 4_000) return Promise.reject(new AtWork('loading'));
    sayings += 1;
    return sayings === 1 ? Promise.reject(new Error('nearly')) : Promise.resolve(true);
  };
  const server = serverOf(LISTENS, { ready_ms: 3_000, stop_ms: 20_000 }, { answers });
  await server.start(undefined, (what) => void said.push(what));
  expect([said, sayings]).toEqual([['loading'], 2]);
});

test('a server that ends before it is ready is reported with the end of its log', async () => {
  const server = serverOf(`console.log('one'); console.error('no disk'); process.exit(3)`);
  await expect(server.start()).rejects.toThrow(
    /small exited with code 3 before it was ready; the end of .*small\.log:\n {2}\| one\n {2}\| no disk/,
  );
});

test('a program that is not there is reported, and leaves no record', async () => {
  const prepare = (): ReturnType<ServerSpec['prepare']> =>
    Promise.resolve({ file: join(folder.root, 'nothing'), args: [], env: {}, cwd: folder.root });
  await expect(serverOf('', undefined, { prepare }).start()).rejects.toThrow(
    'small could not be started',
  );
  expect(readdirSync(folder.pids)).toEqual([]);
});

test('a server that ignores the polite signal is ended by force', async () => {
  const server = serverOf(`process.on('SIGTERM', () => {}); ${LISTENS}`, {
    ready_ms: 20_000,
    stop_ms: 200,
  });
  await server.start();
  await server.stop();
  expect(server.child?.exited).toEqual({ code: null, signal: 'SIGKILL' });
});

test('an aborted start leaves no process', async () => {
  const stop = new AbortController();
  const server = serverOf('setInterval(() => {}, 1000)');
  const starting = server.start(stop.signal);
  const outcome = expect(starting).rejects.toThrow('abort');
  await expect.poll(() => server.pid).toBeDefined();
  stop.abort();
  await outcome;
  expect(server.pid).toBeUndefined();
});

test('a start that fails for a passing reason is tried again', async () => {
  let tries = 0;
  const server = serverOf('', undefined, {
    prepare: () => {
      tries += 1;
      const script = tries < 3 ? 'process.exit(1)' : LISTENS;
      return Promise.resolve({
        file: process.execPath,
        args: ['-e', script],
        env: plainEnvironment({ PORT: String(port) }),
        cwd: folder.root,
      });
    },
    isPassing: (child) => child.exited?.code === 1,
  });
  await server.start();
  expect(tries).toBe(3);
});

describe('several servers are started in order', () => {
  let second = { port: 0, release: (): void => undefined };
  beforeEach(async () => {
    second = await takePort();
  });
  afterEach(() => second.release());

  test('and while one is at work those after it are started', async () => {
    const shown: string[] = [];
    let isDone = false;
    const answers = (): Promise<boolean> =>
      isDone ? Promise.resolve(true) : Promise.reject(new AtWork('loading'));
    const slow = serverOf(LISTENS, undefined, { name: 'slow', answers });
    const quick = serverOf(LISTENS, undefined, { name: 'quick', ports: [second.port] });
    await startInOrder(
      [slow, quick],
      never,
      { line: unwanted, now: (text) => void shown.push(text) },
      ({ name }) => {
        shown.push(`ready: ${name}`);
        isDone = true;
      },
    );
    expect(shown).toEqual([
      'starting slow',
      'slow is at work: loading',
      'starting quick',
      'ready: quick',
      'ready: slow',
    ]);
  });

  test('and one that falls at its work is started again', async () => {
    const pids = new Set<number | undefined>();
    const answers = (): Promise<boolean> => {
      pids.add(slow.pid);
      return pids.size > 1 ? Promise.resolve(true) : Promise.reject(new AtWork('loading'));
    };
    const slow = serverOf(LISTENS, undefined, { name: 'slow', answers });
    const lines: string[] = [];
    const atWork = Promise.withResolvers<void>();
    const now = (text: string): void => void (text.includes('at work') && atWork.resolve());
    const started = startInOrder(
      [slow],
      never,
      { line: (text) => void lines.push(text), now },
      () => undefined,
    );
    await atWork.promise;
    await slow.kill('SIGKILL');
    await started;
    expect([pids.size, lines]).toEqual([2, ['  slow was ended by SIGKILL: starting it again']]);
  });

  test('and when one fails that was at work nothing else is still starting', async () => {
    let asked = 0;
    const answers = (): Promise<boolean> => {
      asked += 1;
      return asked === 1
        ? Promise.reject(new AtWork('loading'))
        : Promise.reject(new Error('broken'));
    };
    const failing = serverOf(
      LISTENS,
      { ready_ms: 5_000, stop_ms: 20_000 },
      { name: 'failing', answers },
    );
    const other = serverOf(LISTENS, undefined, {
      name: 'other',
      ports: [second.port],
      answers: () => Promise.resolve(false),
    });
    const starting = startInOrder(
      [failing, other],
      never,
      { line: unwanted, now: () => undefined },
      unwanted,
    );
    await expect(starting).rejects.toThrow('failing was not ready within 5 s (broken)');
    expect([failing.pid, other.pid]).toEqual([undefined, undefined]);
  });
});

test('a process that falls is started again, until it is asked to end', async () => {
  const server = serverOf(LISTENS);
  const stop = new AbortController();
  const said: string[] = [];
  let restarts = 0;
  await server.start();
  const kept = keep(
    server,
    true,
    stop.signal,
    (line) => void said.push(line),
    () => void (restarts += 1),
  );
  for (const wanted of [1, 2]) {
    await server.kill('SIGKILL');
    await expect.poll(() => restarts).toBe(wanted);
  }
  expect(
    said.filter((line) => line.includes('was ended by SIGKILL: starting it again')),
  ).toHaveLength(2);
  stop.abort();
  await server.stop();
  await kept;
  expect(restarts).toBe(2);
});

test('a service that was not ready in time after a fall, and ended in order when told to, is started once more', async () => {
  const pids = new Set<number | undefined>();
  const answers = (): Promise<boolean> => Promise.resolve(pids.add(server.pid).size !== 2);
  const server = serverOf(
    `process.on('SIGTERM', () => process.exit(0)); ${LISTENS}`,
    { ready_ms: 5_000, stop_ms: 20_000 },
    { answers },
  );
  const stop = new AbortController();
  const said: string[] = [];
  const restarted = Promise.withResolvers<void>();
  await server.start();
  const kept = keep(server, true, stop.signal, (line) => void said.push(line), restarted.resolve);
  await server.kill('SIGKILL');
  await restarted.promise;
  expect(said.filter((line) => line.includes('was not ready within 5 s'))).toHaveLength(1);
  expect(pids.size).toBe(3);
  stop.abort();
  await server.stop();
  await kept;
});

test.each([
  ['process.exit(1)', 'refused its configuration'],
  ['process.exit(0)', 'ended by itself'],
])('a service that does %s is not started again', async (end, why) => {
  const server = serverOf(`${LISTENS} process.on('SIGUSR2', () => ${end})`);
  const said: string[] = [];
  await server.start();
  const kept = keep(
    server,
    true,
    new AbortController().signal,
    (line) => void said.push(line),
    () => undefined,
  );
  await server.kill('SIGUSR2');
  await kept;
  expect(said).toEqual([expect.stringContaining(why)]);
  expect(server.pid).toBeUndefined();
});

test.each([
  [{ code: 0, signal: null }, 'ended'],
  [{ code: 1, signal: null }, 'misconfigured'],
  [{ code: 2, signal: null }, 'restart'],
  [{ code: null, signal: 'SIGKILL' as const }, 'restart'],
])('an end by %j means: %s', (exit, verdict) => {
  expect(verdictOf(exit)).toBe(verdict);
});
