import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { Closing, refuseOldNode } from '../../../../services/runtime/process/main.ts';

const FIXTURE = new URL('./main.fixture.ts', import.meta.url).pathname;
const { NODE_COMPILE_CACHE } = process.env;
const GOOD = { APP_HTTP_PORT: '0', APP_NODE_URL: 'x', APP_DRAIN_MS: '600000' };

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
});

function messageOf(line: string): string {
  const entry: { readonly msg?: unknown } = JSON.parse(line);
  return String(entry.msg);
}

interface Run {
  readonly child: ChildProcess;
  /** its log so far */
  readonly said: () => string;
  readonly serving: Promise<void>;
  readonly ended: Promise<{
    readonly code: number | null;
    readonly messages: readonly string[];
    readonly text: string;
    readonly complaint: string;
  }>;
}

function start(what: string, env: Readonly<Record<string, string>> = GOOD): Run {
  const child = spawn(process.execPath, [FIXTURE, what], {
    env: { NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let [text, complaint] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
  const serving = new Promise<void>((resolve) => {
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      complaint += part;
      if (complaint.includes('serving')) resolve();
    });
  });
  const ended = once(child, 'close').then(() => ({
    code: child.exitCode,
    messages: text
      .split('\n')
      .filter((line) => line !== '')
      .map(messageOf),
    text,
    complaint,
  }));
  return { child, said: () => text, serving, ended };
}

test('a bad configuration exits with 1 and prints every problem on its own line', async () => {
  const { code, text, complaint } = await start('drains', { APP_DRAIN_MS: 'soon' }).ended;
  expect({ code, text }).toEqual({ code: 1, text: '' });
  expect(complaint).toBe(
    'fixture cannot start:\n' +
      '  APP_HTTP_PORT is not set: expected a port from 1 to 65535 (0: any free one)\n' +
      '  APP_DRAIN_MS is "soon": expected a whole number from 100 to 600000\n' +
      '  APP_NODE_URL is not set: expected text\n',
  );
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s drains a service: resources close in reverse order, and it exits with 0',
  async (signal) => {
    const { child, serving, ended } = start('drains');
    await serving;
    child.kill(signal);
    const { code, messages, text } = await ended;
    expect({ code, messages }).toEqual({
      code: 0,
      messages: ['draining', 'closed second', 'closed first', 'stopped'],
    });
    expect(text).toContain('"told":true');
  },
);

test('resources stay open until the work in flight has ended', async () => {
  const { child, serving, ended } = start('works');
  await serving;
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({
    code: 0,
    messages: ['draining', 'work finished', 'closed connection', 'stopped'],
  });
});

test('a resource that does not stop in time is named, and the service exits with 2', async () => {
  for (const [what, named] of [
    ['hangs in closing', 'HTTP'],
    ['hangs in work', 'work in flight'],
  ] as const) {
    const { child, serving, ended } = start(what, { ...GOOD, APP_DRAIN_MS: '1000' });
    await serving;
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({
      code: 2,
      messages: ['draining', `did not stop in time: ${named}`],
    });
  }
});

test('a second signal ends the service at once', async () => {
  const { child, said, serving, ended } = start('hangs in closing', {
    ...GOOD,
  });
  await serving;
  child.kill('SIGTERM');
  await expect.poll(said).toContain('draining');
  child.kill('SIGINT');
  expect(await ended).toMatchObject({
    code: 2,
    messages: ['draining', 'second signal: exiting at once'],
  });
});

test('a fault while opening closes the open resources and exits with 2', async () => {
  const { code, messages, text } = await start('fails to open').ended;
  expect({ code, messages }).toEqual({
    code: 2,
    messages: ['the port is taken', 'closed opened before', 'stopped'],
  });
  expect(text).toContain('"code":"http_port"');
});

test('a setting that contradicts the log closes the open resources and exits with 1', async () => {
  const { code, messages } = await start('contradicts the log').ended;
  expect({ code, messages }).toEqual({
    code: 1,
    messages: ['another key is pinned', 'closed opened before', 'stopped'],
  });
});

test('a resource that cannot be closed does not keep others open, and the service exits with 2', async () => {
  const { child, serving, ended } = start('fails to close');
  await serving;
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({
    code: 2,
    messages: ['draining', 'does not was not closed', 'closed closes', 'stopped'],
  });
});

test('an unhandled rejection and an uncaught exception are logged and exit at once with 2', async () => {
  expect(await start('rejects unhandled').ended).toMatchObject({
    code: 2,
    messages: ['unhandled rejection'],
  });
  const uncaught = await start('throws uncaught').ended;
  expect(uncaught).toMatchObject({ code: 2, messages: ['uncaught exception'] });
  expect(uncaught.text).toContain('a bug');
});

test('an older Node is refused with a remedy', () => {
  expect(refuseOldNode('20.19.0')).toContain('Node 26 or newer is needed, this is 20.19.0');
  expect(refuseOldNode('25.9.9')).toBeDefined();
  expect(refuseOldNode('26.0.0')).toBeUndefined();
  expect(refuseOldNode('100.0.0')).toBeUndefined();
});

test('closing logs each resource before it closes it', async () => {
  const closing = new Closing();
  const told: string[] = [];
  closing.add('a', () => told.push('a closed'));
  closing.add('b', () => Promise.resolve(told.push('b closed')));
  await closing.close((name) => told.push(name), expect.unreachable);
  expect(told).toEqual(['b', 'b closed', 'a', 'a closed']);
});
