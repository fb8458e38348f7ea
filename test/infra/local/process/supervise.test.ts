import { expect, test } from 'vitest';
import type { Child, Exit } from '../../../../infra/local/process/child.ts';
import { StackFault } from '../../../../infra/local/process/run-program.ts';
import { EarlyExit } from '../../../../infra/local/process/server.ts';
import {
  supervise,
  type Supervisable,
  type Supervised,
} from '../../../../infra/local/process/supervise.ts';

const CRASH: Exit = { code: 2, signal: null };
const KILL: Exit = { code: null, signal: 'SIGKILL' };

/** One start of a scripted server: what happens before it is ready, and how it ends. */
interface Start {
  readonly working?: string;
  /** It ends before it is ready. */
  readonly early?: Exit;
  /** It is not ready in time. */
  readonly late?: true;
  /** It cannot be started: an error of the system with this code. */
  readonly error?: string;
  /** It ends after it was ready; without, it runs on. */
  readonly exit?: Exit;
}

/** A server that follows a script; after its last line it runs on. */
class ScriptedServer implements Supervisable {
  readonly name = 'small';
  child: Child | undefined;
  starts = 0;
  readonly #script: readonly Start[];
  readonly mayRestart: Supervisable['mayRestart'];

  constructor(script: readonly Start[], mayRestart: Supervisable['mayRestart']) {
    this.#script = script;
    this.mayRestart = mayRestart;
  }

  start(_: AbortSignal, onWorking: (text: string) => void): Promise<void> {
    const { working, early, late, error, exit } = this.#script[this.starts] ?? {};
    this.starts += 1;
    const exited = early ?? (late === true ? { code: 0, signal: null } : exit);
    this.child = {
      name: this.name,
      pid: this.starts,
      log_file: '/logs/small.log',
      exited,
      exit: exited === undefined ? new Promise(() => undefined) : Promise.resolve(exited),
      kill: () => Promise.resolve(),
      stop: () => Promise.resolve(),
    };
    if (error !== undefined)
      return Promise.reject(Object.assign(new Error(`${error}: at a file`), { code: error }));
    if (working !== undefined) onWorking(working);
    if (early !== undefined) return Promise.reject(new EarlyExit('small ended\n  | its log'));
    if (late === true) return Promise.reject(new StackFault('small was not ready'));
    return Promise.resolve();
  }
}

interface Run extends Supervised {
  readonly server: ScriptedServer;
  readonly lines: readonly string[];
  /** Resolves at this number of starts that became ready. */
  readonly readyTimes: (count: number) => Promise<void>;
  readonly stop: AbortController;
}

function run(
  script: readonly Start[],
  isService = true,
  mayRestart: Supervisable['mayRestart'] = () => Promise.resolve(),
): Run {
  const server = new ScriptedServer(script, mayRestart);
  const stop = new AbortController();
  const lines: string[] = [];
  let ready = 0;
  const supervised = supervise(
    server,
    isService,
    stop.signal,
    {
      line: (text) => void lines.push(text),
      ready: () => void (ready += 1),
      working: (text) => void lines.push(text),
    },
    [1, 2],
  );
  const readyTimes = async (count: number): Promise<void> =>
    await expect.poll(() => ready, { interval: 1 }).toBe(count);
  return { ...supervised, server, lines, readyTimes, stop };
}

test('a server that crashes is restarted with a back-off that grows', async () => {
  const { readyTimes, lines, server } = run([{ exit: KILL }, { exit: CRASH }, { exit: CRASH }]);
  await readyTimes(4);
  expect(server.starts).toBe(4);
  expect(lines).toEqual([
    'small was ended by SIGKILL: restarting it in 0.001 s',
    'small exited with code 2: restarting it in 0.002 s',
    'small exited with code 2: restarting it in 0.002 s',
  ]);
});

test('a server stays down after a crash until it may start again, and says why', async () => {
  const held = Promise.withResolvers<void>();
  const { readyTimes, lines, server } = run([{ exit: KILL }], false, (_, say) => {
    say('another one may be promoted');
    return held.promise;
  });
  await readyTimes(1);
  await expect
    .poll(() => lines)
    .toEqual(['small was ended by SIGKILL and stays down while another one may be promoted']);
  expect(server.starts).toBe(1);
  held.resolve();
  await readyTimes(2);
});

test('a server that stays down ends when nobody supervises it any more', async () => {
  const { lines, server, stop, ended } = run([{ exit: KILL }], false, (signal, say) => {
    say('another one may be promoted');
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  });
  await expect.poll(() => lines).toHaveLength(1);
  stop.abort();
  await ended;
  expect([server.starts, lines.length]).toEqual([1, 1]);
});

test.each([
  [
    0,
    'small ended by itself: not restarted; see /logs/small.log; npx ops start small starts it again',
  ],
  [
    1,
    'small refused its configuration: not restarted; see /logs/small.log; npx ops start small starts it again',
  ],
])('a service that ends with code %i is not restarted', async (code, line) => {
  const { ready, ended, lines, server } = run([{ exit: { code, signal: null } }]);
  await ready;
  await ended;
  expect([server.starts, lines]).toEqual([1, [line]]);
});

test.each([0, 1])('a server of another project is restarted after code %i too', async (code) => {
  const { readyTimes } = run([{ exit: { code, signal: null } }], false);
  await readyTimes(2);
});

test('a service that crashes before it is ready is restarted up to 5 times', async () => {
  const crash = { early: CRASH };
  const { ready, server } = run([crash, crash, crash]);
  await ready;
  expect(server.starts).toBe(4);
  const hopeless = run(Array.from({ length: 9 }, () => crash));
  await expect(hopeless.ready).rejects.toThrow('small ended\n  | its log');
  expect(hopeless.server.starts).toBe(6);
});

test('the end of the log is told at each crash before a service is ready', async () => {
  const { ready, lines } = run([{ early: CRASH }, { early: KILL }]);
  await ready;
  expect(lines).toEqual([
    'small ended\n  | its log\n  small: restarting it in 0.001 s',
    'small ended\n  | its log\n  small: restarting it in 0.002 s',
  ]);
});

test('a service that crashes at its work is restarted as often as it crashes', async () => {
  const { ready, answering, server } = run(
    Array.from({ length: 9 }, () => ({ working: 'loading', early: KILL })),
  );
  await answering;
  await ready;
  expect(server.starts).toBe(10);
});

test.each<readonly [string, Start, boolean]>([
  ['a service that refuses its configuration', { early: { code: 1, signal: null } }, true],
  ['a service that is not ready in time', { late: true }, true],
  ['a server that ends', { early: CRASH }, false],
])('%s fails the boot', async (_, start, isService) => {
  const { ready, answering, ended, server } = run([start], isService);
  await expect(ready).rejects.toThrow(StackFault);
  await expect(answering).rejects.toThrow(StackFault);
  await ended;
  expect(server.starts).toBe(1);
});

test('a service that is late after a restart is restarted again', async () => {
  const { readyTimes, server } = run([{ exit: CRASH }, { late: true }]);
  await readyTimes(2);
  expect(server.starts).toBe(3);
});

test('a working service answers before it is ready', async () => {
  const { answering, lines } = run([{ working: 'loading' }]);
  await answering;
  expect(lines).toEqual(['loading']);
});

test.each(['ENOSPC', 'EDQUOT'])(
  'a server that finds no room on the disk (%s) is started again until there is some',
  async (error) => {
    const full = Array.from({ length: 9 }, () => ({ error }));
    const { ready, lines, server } = run([...full, {}], false);
    await ready;
    expect(server.starts).toBe(10);
    expect(lines).toContain(`small was not started: ${error}: at a file: restarting it in 0.002 s`);
    const later = run([{ exit: KILL }, ...full, {}]);
    await later.readyTimes(2);
    expect(later.server.starts).toBe(11);
  },
);

test('an abort ends the supervision', async () => {
  const { readyTimes, ended, stop, server } = run([{ exit: CRASH }]);
  await readyTimes(1);
  stop.abort();
  await ended;
  expect(server.starts).toBe(1);
});
