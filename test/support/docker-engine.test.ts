import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { engineAnswers, engineSocket, socketPath } from './docker-engine.ts';

let folder = '';
const cleanups: (() => unknown)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'clt-test-engine-'));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  rmSync(folder, { recursive: true, force: true });
});

async function engine(listener: RequestListener): Promise<string> {
  const socket = join(folder, 'docker.sock');
  const server = createServer(listener).listen(socket);
  await once(server, 'listening');
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return socket;
}

test('a missing socket and a plain file are no engine', async () => {
  expect(await engineAnswers(join(folder, 'docker.sock'))).toBe(false);
  writeFileSync(join(folder, 'file'), '');
  expect(await engineAnswers(join(folder, 'file'))).toBe(false);
});

test('an engine that answers its ping is found', async () => {
  const socket = await engine((request, answer) =>
    answer.writeHead(request.url === '/_ping' ? 200 : 404).end('OK'),
  );
  expect(await engineAnswers(socket)).toBe(true);
  expect(await engineSocket({ DOCKER_HOST: `unix://${socket}` })).toBe(socket);
});

test('an engine that answers its ping with an error is not found', async () => {
  expect(await engineAnswers(await engine((_, answer) => answer.writeHead(500).end()))).toBe(false);
});

test('a silent socket counts as no engine', async () => {
  const socket = await engine(() => undefined);
  expect(await engineAnswers(socket, 50)).toBe(false);
});

test('the socket is the one of a Docker client; a remote engine counts as none', () => {
  expect(socketPath({})).toBe('/var/run/docker.sock');
  expect(socketPath({ DOCKER_HOST: 'unix:///run/user/1000/docker.sock' })).toBe(
    '/run/user/1000/docker.sock',
  );
  expect(socketPath({ DOCKER_HOST: 'tcp://127.0.0.1:2375' })).toBeUndefined();
});
