import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { redisAnswers } from '../../../../infra/local/servers/redis.ts';

test.each([
  ['answers as Redis does is ready', '+PONG\r\n', true],
  ['answers otherwise is not ready', '-LOADING\r\n', false],
  ['closes the connection without an answer is not ready', '', false],
])('a server that %s', async (_what, answer, isReady) => {
  const server = createServer((socket) => socket.end(answer)).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  expect(await redisAnswers(port)).toBe(isReady);
});
