import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import { commandLineOf, holdersOf, holdsPort, isFree } from '../../../infra/local/port-holder.ts';
import { takePort } from '../../support/free-ports.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function listenOn(port: number, host: string): Promise<Server> {
  const server = createServer();
  server.listen(port, host);
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return server;
}

async function freePort(): Promise<number> {
  const taken = await takePort();
  cleanups.push(taken.release);
  return taken.port;
}

test('a port is held by the process that listens on it, and by no other', async () => {
  const port = await freePort();
  expect(holdersOf(port)).toEqual([]);
  expect(await isFree(port)).toBe(true);
  await listenOn(port, '127.0.0.1');
  expect(await isFree(port)).toBe(false);
  expect(holdersOf(port)).toContain(process.pid);
  expect(holdsPort(process.pid, port)).toBe(true);
  expect(holdsPort(process.ppid, port)).toBe(false);
});

test('a listener on all addresses holds the port too', async () => {
  const port = await freePort();
  await listenOn(port, '0.0.0.0');
  expect(await isFree(port)).toBe(false);
  expect(holdsPort(process.pid, port)).toBe(true);
});

test('another process that listens is found, with its command line', async () => {
  const port = await freePort();
  const script = `require('node:net').createServer().listen(${port}, '127.0.0.1', () => console.log('listening'))`;
  const other = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  cleanups.push(() => other.kill('SIGKILL'));
  await once(other.stdout, 'data');
  expect(holdersOf(port)).toEqual([other.pid]);
  expect(holdsPort(process.pid, port)).toBe(false);
  expect(commandLineOf(other.pid ?? 0)).toContain('-e require');
});

test('a client of a port does not hold it', async () => {
  const port = await freePort();
  const server = await listenOn(port, '127.0.0.1');
  const script = `const s = require('node:net').connect(${port}, '127.0.0.1', () => console.log('connected'))`;
  const client = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  cleanups.push(() => client.kill('SIGKILL'));
  await once(client.stdout, 'data');
  expect(server.listening).toBe(true);
  expect(holdsPort(client.pid ?? 0, port)).toBe(false);
});
