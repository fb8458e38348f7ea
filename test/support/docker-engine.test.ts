import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { engineAnswers, engineSocket, serversPlace, socketPath } from './docker-engine.ts';

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

test('servers run in containers where an engine answers, unless TEST_SERVERS says otherwise', async () => {
  const socket = await engine((_, answer) => answer.writeHead(200).end('OK'));
  const here = { DOCKER_HOST: `unix://${socket}` };
  const none = { DOCKER_HOST: `unix://${join(folder, 'none')}` };
  expect(await serversPlace(here)).toBe('containers');
  expect(await serversPlace({ DOCKER_HOST: here.DOCKER_HOST, TEST_SERVERS: 'local' })).toBe(
    'local',
  );
  expect(await serversPlace(none)).toBe('local');
  await expect(
    serversPlace({ DOCKER_HOST: none.DOCKER_HOST, TEST_SERVERS: 'containers' }),
  ).rejects.toThrow('start one');
  await expect(serversPlace({ TEST_SERVERS: 'docker' })).rejects.toThrow('containers or local');
});
